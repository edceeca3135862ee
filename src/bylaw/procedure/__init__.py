"""Weighted rules: what a procedure is, and how its files are read."""
