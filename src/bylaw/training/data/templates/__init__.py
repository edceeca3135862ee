"""The seventeen simplified templates: fifteen for training, two held out."""

from typing import Final

from bylaw.training.data.templates import chains, fan_outs, held_out, joins, transforms
from bylaw.training.data.templates.pattern import TaskPattern

_ORDER: Final = (
    "three_call_branch_bridge",
    "chain_then_branch",
    "rebranch_after_c",
    "join_then_branch",
    "dual_branch_merge",
    "loop2_then_branch",
    "branch_verify_finalize",
    "six_call_double_rebranch",
    "fan_out_fan_in",
    "forall_processing",
    "exists_selection",
    "nested_loops_fixed_2x2",
    "filter_then_process",
    "fanout_then_transform",
    "branch_then_reprocess",
)
"""The order of the paper."""


def _by_name(patterns: tuple[TaskPattern, ...]) -> dict[str, tuple[TaskPattern, ...]]:
    """The variants of each template."""
    names = dict.fromkeys(pattern.name for pattern in patterns)
    return {name: tuple(each for each in patterns if each.name == name) for name in names}


_KNOWN: Final = _by_name(
    (*chains.PATTERNS, *joins.PATTERNS, *fan_outs.PATTERNS, *transforms.PATTERNS)
)

TRAINING: Final = {name: _KNOWN[name] for name in _ORDER}
"""The training templates and their variants: nineteen slots."""
HELD_OUT: Final = _by_name(held_out.PATTERNS)
"""The templates of the unseen-pattern split."""
