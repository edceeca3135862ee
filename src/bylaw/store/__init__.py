"""State that lasts: append-only streams, in a file or in a database that machines share."""
