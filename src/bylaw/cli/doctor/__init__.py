"""`bylaw doctor …`: proof that a gate stands in the way."""
