"""Reserved names."""

from typing import Final

FINAL_ANSWER: Final = "final_answer"
"""The tool name under which a trace's answer appears as its last event."""
