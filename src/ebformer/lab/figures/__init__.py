"""Figures and tables of the laboratory."""
