"""A tool gives the number of rounds; each round branches on its own result."""

from typing import Final

from bylaw.bench.gold import BranchCall, Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template

THRESHOLD: Final = 20


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_iterations(seed = {p['seed']}). Let N be its result. Begin with total = 0.",
            "Do steps 3 and 4 for each i from 1 to N, in order.",
            f"Call tool_b(i = i, j = {p['j']}). Let w be its result.",
            (
                f"If w is greater than {THRESHOLD}, call tool_c(x = w); otherwise call "
                "tool_d(numbers = [w, i]). Add the result to total."
            ),
        ],
        answer="the total after the last round",
    )


def execute(run: Execution, p: Parameters) -> int:
    total = 0
    for i in range(1, _rounds(run, p) + 1):
        run.iterations["rounds"] += 1
        w = run.call("tool_b", i=i, j=p["j"])
        above, below = BranchCall("tool_c", {"x": w}), BranchCall("tool_d", {"numbers": [w, i]})
        total += run.choose(w > THRESHOLD, above, below)
    return total


def _rounds(run: Execution, p: Parameters) -> int:
    return run.call_given("tool_iterations", seed=p["seed"])


TEMPLATE = Template(
    "tool_condition_branching",
    "multi-branch",
    "working-memory degradation",
    ("tool_iterations", "tool_b", "tool_c", "tool_d"),
    {"d": (1, 2, 3, 4, 5)},
    text,
    execute,
    choices=(
        f"The threshold is {THRESHOLD}: above it w goes to tool_c, otherwise [w, i] to tool_d.",
        (
            "The number of rounds is a result, so the arguments of tool_b do not follow from the "
            "prompt alone."
        ),
        "The answer is the sum of the results of tool_c and tool_d.",
    ),
)
