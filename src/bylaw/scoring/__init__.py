"""A procedure on one trace: the score, and why."""
