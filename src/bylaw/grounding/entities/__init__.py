"""Finding the entities that a text names: paths, names of code, numbers, dates, ids."""
