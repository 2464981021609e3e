"""Transformers that read a tally: architecture, forward pass and weights, in numpy alone."""
