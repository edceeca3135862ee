"""Finding what an answer names: extraction, and the classes of entities."""
