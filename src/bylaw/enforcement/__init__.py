"""A procedure at work while an agent acts: which calls may run, and what was decided."""
