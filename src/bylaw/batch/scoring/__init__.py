"""The scores of a chunk: evaluated in columns, or trace by trace."""
