"""The records of a corpus, in chunks: from paths and addresses to lines."""
