"""Traces that show what a formula means."""
