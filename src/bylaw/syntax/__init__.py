"""The three forms of a formula: text, JSON and Python."""
