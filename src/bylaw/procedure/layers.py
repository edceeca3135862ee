"""The six layers of the paper: which failure each isolates."""

from typing import Final

LAYERS: Final = {
    "L1": "tool branching",
    "L2": "prompt-derived arguments",
    "L3": "sequence ordering",
    "L4": "pair and instance ordering",
    "L5": "call counts",
    "L6": "exact arguments",
}
"""A layer is a label: a procedure may use these, others, or none."""
