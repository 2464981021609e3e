"""Exact Bayes for a prior and a channel: marginal, Bayes rule, posterior, predictive, mmse."""
