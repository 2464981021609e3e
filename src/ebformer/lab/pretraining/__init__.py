"""Pre-training: the only part of ebformer that imports torch."""
