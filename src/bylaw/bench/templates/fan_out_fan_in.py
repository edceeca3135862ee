"""A list, a branch per element, and one call that combines the results."""

from bylaw.bench.gold import BranchCall, Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a_list(seed = {p['seed']}). It returns a list of numbers.",
            (
                "For each number n of the list, in order: if n is even, call tool_b(i = n, j = 0); "
                "if n is odd, call tool_c(x = n)."
            ),
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
        even, odd = BranchCall("tool_b", {"i": n, "j": 0}), BranchCall("tool_c", {"x": n})
        results.append(run.choose(n % 2 == 0, even, odd))
    return run.call("tool_d", numbers=results)


TEMPLATE = Template(
    "fan_out_fan_in",
    "fan-out",
    "structural shortcutting; wrong aggregation",
    ("tool_a_list", "tool_b", "tool_c", "tool_d"),
    {"num_items": (3, 4, 5, 6, 7)},
    text,
    execute,
    choices=(
        "Even numbers go to tool_b(n, 0), odd ones to tool_c(n).",
        "tool_d gets the results in the order of the list; its result is the answer.",
    ),
)
