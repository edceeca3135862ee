"""A loop that ends once a total is reached."""

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            "Begin with total = 0 and i = 1.",
            "Call tool_a(i = i). Let v be its result.",
            "If v is even, add v to total. If v is odd, add 2 times v to total.",
            f"If total is less than {p['target']}, increase i by 1 and go back to step 2.",
            f"Once total is {p['target']} or more, stop calling tools and answer.",
        ],
        answer="the total",
    )


def execute(run: Execution, p: Parameters) -> int:
    total, i = 0, 1
    while total < p["target"]:
        v = run.call_given("tool_a", i=i)
        total += v if v % 2 == 0 else 2 * v
        i += 1
        run.iterations["loop"] += 1
    return total


TEMPLATE = Template(
    "loop_termination",
    "sequential",
    "over-iteration; wrong accumulation rule",
    ("tool_a",),
    {"target": (10, 25, 50, 100, 200)},
    text,
    execute,
    choices=("i counts from 1, and the total is compared after each addition.",),
)
