"""The league table: every method with a prior, and what else is installed, on everyday priors of three channels."""
