"""A resident gate: one process that serves many runs, and whose state outlives it."""
