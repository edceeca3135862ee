"""Texts as readers see them: normal forms, the literals in them, and what they mention."""
