"""What formulas mean. Nothing here reads or writes files."""
