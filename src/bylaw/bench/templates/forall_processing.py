"""The same call for every element of a list."""

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a_list(seed = {p['seed']}). It returns a list of numbers.",
            f"For each number n of the list, in order, call tool_b(i = n, j = {p['j']}).",
            (
                "Call tool_d(numbers = [...]) once, with the results of step 2 in the order of "
                "the list."
            ),
        ],
        answer="the result of tool_d",
    )


def execute(run: Execution, p: Parameters) -> int:
    results = []
    for n in run.numbers("tool_a_list", given=True, seed=p["seed"]):
        run.iterations["elements"] += 1
        results.append(run.call("tool_b", i=n, j=p["j"]))
    return run.call("tool_d", numbers=results)


TEMPLATE = Template(
    "forall_processing",
    "fan-out",
    "skipped or duplicated elements",
    ("tool_a_list", "tool_b", "tool_d"),
    {"num_items": (3, 4, 5, 6, 7)},
    text,
    execute,
    choices=("tool_d gets the results in the order of the list; its result is the answer.",),
)
