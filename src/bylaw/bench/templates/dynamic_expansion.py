"""A graph that is discovered level by level while it is traversed."""

from typing import Final

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template

HIGH: Final = 25


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            (
                f"The first level consists of the node {p['seed']}, which counts as seen. "
                "Begin with total = 0."
            ),
            (
                f"Go through the levels, at most {p['max_depth']} of them. For each node of the "
                "level, in order, do steps 3 and 4."
            ),
            "Call tool_expand(node = node). It returns the children of the node.",
            (
                "For each child, in order: if it was seen before, skip it. Otherwise it now counts "
                f"as seen: call tool_value(node = child). If the value is {HIGH} or more, add the "
                "value to total, and the child belongs to the next level."
            ),
            "Stop when a level has no nodes, or when the last level is done.",
        ],
        answer="the total",
    )


def execute(run: Execution, p: Parameters) -> int:
    total, level, seen = 0, [p["seed"]], {p["seed"]}
    for depth in range(p["max_depth"]):
        if level:
            run.iterations["levels"] += 1
        following: list[int] = []
        for node in level:
            # The first node stands in the prompt; all others are results.
            children = run.numbers("tool_expand", given=depth == 0, node=node)
            for child in children:
                if child in seen:
                    continue
                seen.add(child)
                value = run.call("tool_value", node=child)
                if value >= HIGH:
                    total += value
                    following.append(child)
        level = following
    return total


TEMPLATE = Template(
    "dynamic_expansion",
    "composite",
    "drift of the depth counter; revisits",
    ("tool_expand", "tool_value"),
    {"max_depth": (2, 3, 4, 5, 6)},
    text,
    execute,
    choices=(
        "The walk starts at the node whose number is the seed.",
        "max_depth is the number of expanded levels.",
        "No node is visited twice: a child that was seen before is skipped.",
        f"Only children with a value of {HIGH} or more are added and expanded.",
    ),
    shrinks="max_depth",
)
