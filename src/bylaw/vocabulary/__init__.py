"""What formulas can speak of: predicates, patterns, domains, and functions that users register."""
