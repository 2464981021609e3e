"""Empirical Bayes for counts: pre-trained transformers and certified classical estimators."""
