"""The parts of the pytest plugin that are imported only when a test uses it."""
