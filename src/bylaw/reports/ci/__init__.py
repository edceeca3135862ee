"""Reports for other programs: one stream of verified traces, a writer for each format."""
