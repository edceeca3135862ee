"""The twelve production templates, by name, in the order of the paper."""

from typing import Final

from bylaw.bench.templates import (
    branch_selection,
    dynamic_expansion,
    exists_selection,
    fan_out_fan_in,
    fan_out_loop,
    forall_exists_combined,
    forall_processing,
    loop_expansion,
    loop_termination,
    nested_loops,
    nested_loops_branching,
    tool_condition_branching,
)
from bylaw.bench.templates.template import Template

TEMPLATES: Final[dict[str, Template]] = {
    module.TEMPLATE.name: module.TEMPLATE
    for module in (
        loop_termination,
        branch_selection,
        fan_out_fan_in,
        forall_processing,
        exists_selection,
        nested_loops,
        tool_condition_branching,
        dynamic_expansion,
        forall_exists_combined,
        nested_loops_branching,
        fan_out_loop,
        loop_expansion,
    )
}
