"""An inner loop whose length is the result of a call in the outer loop."""

from typing import Final

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template

THRESHOLD: Final = 20


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Begin with total = 0. Do steps 2 and 3 for each i from 1 to {p['N']}, in order.",
            "Call tool_a(i = i). Let v be its result.",
            (
                "For each j from 1 to v, in order, call tool_b(i = i, j = j). Let w be its "
                f"result. If w is greater than {THRESHOLD}, add w to total; otherwise add 2 "
                "times w to total."
            ),
        ],
        answer="the total after the last call",
    )


def execute(run: Execution, p: Parameters) -> int:
    total = 0
    for i in range(1, p["N"] + 1):
        v = run.call_given("tool_a", i=i)
        run.iterations["outer"] += 1
        for j in range(1, v + 1):
            run.iterations["inner"] += 1
            w = run.call("tool_b", i=i, j=j)
            total += w if w > THRESHOLD else 2 * w
    return total


TEMPLATE = Template(
    "nested_loops",
    "nested loops",
    "premature batching; loss of intermediates",
    ("tool_a", "tool_b"),
    {"N": (2, 3, 4, 5, 6)},
    text,
    execute,
    choices=(
        f"The threshold is {THRESHOLD}: above it w is added, otherwise 2w.",
        (
            "The length of the inner loop depends on a result, so the arguments of tool_b do not "
            "follow from the prompt alone."
        ),
    ),
)
