"""`bylaw hook …`: gates at the hooks of coding agents and gateways."""
