"""Exact Bayes for a prior and a channel: marginal, Bayes rule, posterior, mmse, and the next observation."""

from ebformer.bayes.marginal import bayes_rule, log_marginal, marginal_cdf, mmse, posterior
from ebformer.bayes.prediction import log_predictive, predictive

__all__ = ["bayes_rule", "log_marginal", "log_predictive", "marginal_cdf", "mmse", "posterior", "predictive"]
