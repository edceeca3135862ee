"""Transfer groups: how closely the training templates cover those of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from bylaw.bench.templates import TEMPLATES

TransferGroup: TypeAlias = Literal["direct-simplification", "motif-overlap", "no-coverage"]

COVERAGE: Final[Mapping[str, tuple[str | None, tuple[str, ...]]]] = {
    "fan_out_fan_in": ("fan_out_fan_in", ("fan_out+loop", "forall_exists_combined")),
    "forall_processing": ("forall_processing", ("forall_exists_combined",)),
    "exists_selection": ("exists_selection", ("forall_exists_combined",)),
    "nested_loops_fixed_2x2": ("nested_loops", ("nested_loops+branching", "fan_out+loop")),
    "filter_then_process": (None, ("forall_exists_combined",)),
    "fanout_then_transform": (None, ("fan_out+loop", "tool_condition_branching")),
    "branch_then_reprocess": (None, ("tool_condition_branching", "nested_loops+branching")),
    "three_call_branch_bridge": (None, ("branch_selection", "tool_condition_branching")),
    "chain_then_branch": (None, ("branch_selection", "tool_condition_branching")),
    "rebranch_after_c": (None, ("tool_condition_branching",)),
    "join_then_branch": (None, ("forall_exists_combined",)),
    "dual_branch_merge": (None, ("nested_loops+branching", "tool_condition_branching")),
    "loop2_then_branch": (None, ("loop_termination", "nested_loops", "loop+expansion")),
    "branch_verify_finalize": (None, ("nested_loops+branching", "tool_condition_branching")),
    "six_call_double_rebranch": (None, ("nested_loops+branching", "tool_condition_branching")),
}
"""For each training template: the template it simplifies, and those it shares motifs with."""


def _group(template: str) -> TransferGroup:
    if any(template == direct for direct, _ in COVERAGE.values()):
        return "direct-simplification"
    if any(template in motifs for _, motifs in COVERAGE.values()):
        return "motif-overlap"
    return "no-coverage"


GROUPS: Final[Mapping[str, TransferGroup]] = {template: _group(template) for template in TEMPLATES}
"""The transfer group of each template of the benchmark."""
