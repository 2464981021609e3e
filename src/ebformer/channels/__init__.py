"""How observations arise from rates: one file per channel."""
