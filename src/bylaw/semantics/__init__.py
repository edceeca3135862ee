"""The meaning of formulas. Nothing here reads or writes files."""
