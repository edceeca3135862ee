"""Traces: calls, messages and the answer of a run, and the files and formats that record them."""
