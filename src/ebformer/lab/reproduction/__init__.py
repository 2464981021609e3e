"""The paper beside ours: every table, figure and claim, recomputed from the code in this repository."""
