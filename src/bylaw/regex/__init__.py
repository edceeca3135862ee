"""Regular expressions in rules: Python's, as far as they run in time linear in the text."""
