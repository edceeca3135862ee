"""The tools of a procedure, and the JSON Schemas of their arguments."""
