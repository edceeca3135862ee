"""A procedure on one trace: its score, the reasons for it, and repairs."""
