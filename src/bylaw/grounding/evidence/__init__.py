"""The evidence in a trace: tool results, the files they show, and what those files define."""
