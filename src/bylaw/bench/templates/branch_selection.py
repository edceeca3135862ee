"""A decision in every round: one of two tools gets the value."""

from typing import Final

from bylaw.bench.gold import BranchCall, Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template

THRESHOLD: Final = 4


def text(p: Parameters) -> PromptText:
    first, last = p["seed"], p["seed"] + p["num_decisions"] - 1
    return PromptText(
        [
            f"Begin with total = 0. Do steps 2 and 3 for each i from {first} to {last}, in order.",
            "Call tool_a(i = i). Let v be its result.",
            (
                f"If v is greater than {THRESHOLD}, call tool_c(x = v); otherwise call "
                f"tool_b(i = v, j = {p['j']}). Add the result to total."
            ),
        ],
        answer="the total after the last round",
    )


def execute(run: Execution, p: Parameters) -> int:
    total = 0
    for k in range(p["num_decisions"]):
        v = run.call_given("tool_a", i=p["seed"] + k)
        run.iterations["rounds"] += 1
        above, below = BranchCall("tool_c", {"x": v}), BranchCall("tool_b", {"i": v, "j": p["j"]})
        total += run.choose(v > THRESHOLD, above, below)
    return total


TEMPLATE = Template(
    "branch_selection",
    "sequential",
    "mis-routing on a branch at every call",
    ("tool_a", "tool_b", "tool_c"),
    {"num_decisions": (2, 3, 5, 7, 9)},
    text,
    execute,
    choices=(
        f"The threshold θ is {THRESHOLD}.",
        "Round k calls tool_a(seed + k); tool_b gets (v, j), tool_c gets v.",
        "The answer is the sum of the results of tool_b and tool_c.",
    ),
)
