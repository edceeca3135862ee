"""Rules that can each still be satisfied, but not together."""
