"""Formulas as values: the nodes, the table of operators, and ways to walk them."""
