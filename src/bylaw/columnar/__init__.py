"""The semantics over many traces at once: one NumPy array for each part of a formula."""
