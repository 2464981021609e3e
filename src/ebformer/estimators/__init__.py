"""Methods that turn a tally into a rule: one file each, one catalogue, one contract."""
