"""A loop that ends once a total is reached, with an expansion in every round."""

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            "Begin with total = 0 and i = 1.",
            "Call tool_a(i = i). Let v be its result. Add v to total.",
            "Call tool_expand(node = v). It returns the children of the node.",
            (
                "For each child, in order, call tool_value(node = child), and add its result to "
                "total. Do this for all children, whatever the total is by then."
            ),
            f"If total is less than {p['target']}, increase i by 1 and go back to step 2.",
            f"Once total is {p['target']} or more, stop calling tools and answer.",
        ],
        answer="the total",
    )


def execute(run: Execution, p: Parameters) -> int:
    total, i = 0, 1
    while total < p["target"]:
        run.iterations["loop"] += 1
        v = run.call_given("tool_a", i=i)
        total += v
        for child in run.numbers("tool_expand", given=False, node=v):
            total += run.call("tool_value", node=child)
        i += 1
    return total


TEMPLATE = Template(
    "loop+expansion",
    "composite",
    "interaction of termination and expansion",
    ("tool_a", "tool_expand", "tool_value"),
    {"target": (10, 25, 50, 100, 200)},
    text,
    execute,
    choices=(
        "Each round expands the node whose number is the result of tool_a.",
        (
            "The total is compared after all children of a round; nodes may be visited again in a "
            "later round."
        ),
    ),
)
