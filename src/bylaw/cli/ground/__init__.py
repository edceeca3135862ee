"""`bylaw ground`: checks answers against what the tools returned."""
