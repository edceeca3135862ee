"""The vocabulary of formulas: predicates, patterns, domains, and registered functions."""
