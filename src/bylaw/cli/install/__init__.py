"""`bylaw install …`: gates written into the settings of other programs."""
