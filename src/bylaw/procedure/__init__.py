"""Procedures: weighted rules, the files that hold them, lint, and differences."""
