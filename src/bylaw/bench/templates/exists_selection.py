"""A second call for the elements that qualify."""

from typing import Final

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template

MODULUS: Final = 5


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            (
                f"Call tool_a_list(seed = {p['seed']}). It returns a list of numbers. "
                "Begin with total = 0."
            ),
            "Do steps 3 and 4 for each number n of the list, in order.",
            f"Call tool_b(i = n, j = {p['j']}). Let w be its result.",
            (
                f"If w is divisible by {MODULUS}, call tool_c(x = w) and add its result to total; "
                "otherwise add w to total and call nothing."
            ),
        ],
        answer="the total after the last number",
    )


def execute(run: Execution, p: Parameters) -> int:
    total = 0
    for n in run.numbers("tool_a_list", given=True, seed=p["seed"]):
        run.iterations["elements"] += 1
        w = run.call("tool_b", i=n, j=p["j"])
        if w % MODULUS == 0:
            run.branch("tool_c", None)
            total += run.call("tool_c", x=w)
        else:
            total += w
    return total


TEMPLATE = Template(
    "exists_selection",
    "fan-out",
    "missed qualifier; spurious processing",
    ("tool_a_list", "tool_b", "tool_c"),
    {"num_items": (3, 4, 5, 6, 7)},
    text,
    execute,
    choices=(
        f"A result of tool_b qualifies if it is divisible by {MODULUS}.",
        "tool_c follows immediately, before the next number is processed.",
        "The answer is the total; a result that does not qualify is added unchanged.",
    ),
)
