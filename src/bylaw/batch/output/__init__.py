"""The results of a run: rows in a file, and a summary."""
