"""A call for every element, a second one for those that qualify, and an aggregation."""

from typing import Final

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template

MODULUS: Final = 5


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a_list(seed = {p['seed']}). It returns a list of numbers.",
            f"For each number n of the list, in order, call tool_b(i = n, j = {p['j']}).",
            (
                "Then go through the results of step 2, in order: for each result w that is "
                f"divisible by {MODULUS}, call tool_c(x = w), and put its result in the place of w."
            ),
            (
                "Call tool_d(numbers = [...]) once, with the results of step 2 as changed by step "
                "3, in their order."
            ),
        ],
        answer="the result of tool_d",
    )


def execute(run: Execution, p: Parameters) -> int:
    results = []
    for n in run.numbers("tool_a_list", given=True, seed=p["seed"]):
        run.iterations["elements"] += 1
        results.append(run.call("tool_b", i=n, j=p["j"]))
    for place, w in enumerate(results):
        if w % MODULUS == 0:
            run.branch("tool_c", None)
            results[place] = run.call("tool_c", x=w)
    return run.call("tool_d", numbers=results)


TEMPLATE = Template(
    "forall_exists_combined",
    "composite",
    "interaction of filter and aggregation",
    ("tool_a_list", "tool_b", "tool_c", "tool_d"),
    {"num_items": (3, 4, 5, 6, 7)},
    text,
    execute,
    choices=(
        f"A result of tool_b qualifies if it is divisible by {MODULUS}.",
        "All calls of tool_b come before the first of tool_c.",
        "tool_d gets one number per element: the result of tool_c where there is one.",
    ),
)
