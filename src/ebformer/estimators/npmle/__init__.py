"""The nonparametric maximum likelihood estimator of the prior: exact, certified, in every channel."""
