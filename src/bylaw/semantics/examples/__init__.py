"""Traces that show what a formula says."""
