"""The commands on audit logs."""
