"""Theorems of the paper as code."""
