"""Nested loops with a branch on every inner result."""

from typing import Final

from bylaw.bench.gold import BranchCall, Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template

THRESHOLD: Final = 20


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Begin with total = 0. Do steps 2 and 3 for each i from 1 to {p['N']}, in order.",
            "Call tool_a(i = i). Let v be its result.",
            "Do steps 4 and 5 for each j from 1 to v, in order.",
            "Call tool_b(i = i, j = j). Let w be its result.",
            (
                f"If w is greater than {THRESHOLD}, call tool_c(x = w); otherwise call "
                "tool_d(numbers = [w, j]). Add the result to total."
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
            above, below = BranchCall("tool_c", {"x": w}), BranchCall("tool_d", {"numbers": [w, j]})
            total += run.choose(w > THRESHOLD, above, below)
    return total


TEMPLATE = Template(
    "nested_loops+branching",
    "composite",
    "interaction of branches and iterations",
    ("tool_a", "tool_b", "tool_c", "tool_d"),
    {"N": (2, 3, 4, 5, 6)},
    text,
    execute,
    choices=(
        f"The threshold is {THRESHOLD}: above it w goes to tool_c, otherwise [w, j] to tool_d.",
        (
            "The length of the inner loop depends on a result, so the arguments of tool_b do not "
            "follow from the prompt alone."
        ),
        "The answer is the sum of the results of tool_c and tool_d.",
    ),
)
