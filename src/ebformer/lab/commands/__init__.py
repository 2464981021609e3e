"""The commands of the laboratory: one file each, loaded when its command runs."""
