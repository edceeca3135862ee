"""A list, with a loop for each element."""

from bylaw.bench.gold import Execution
from bylaw.bench.templates.template import Parameters, PromptText, Template


def text(p: Parameters) -> PromptText:
    return PromptText(
        [
            f"Call tool_a_list(seed = {p['seed']}). It returns a list of numbers.",
            "Do steps 3 and 4 for each number n of the list, in order.",
            (
                f"For each k from 1 to {p['r']}, in order, call tool_b(i = n, j = k). Let s be the "
                "sum of these results."
            ),
            (
                "If s is even, call tool_c(x = s), and its result is the value of n. If s is odd, "
                "s itself is the value of n."
            ),
            "Call tool_d(numbers = [...]) once, with the values in the order of the list.",
        ],
        answer="the result of tool_d",
        rules=["Sums are yours to work out."],
    )


def execute(run: Execution, p: Parameters) -> int:
    values = []
    for n in run.numbers("tool_a_list", given=True, seed=p["seed"]):
        run.iterations["elements"] += 1
        s = 0
        for k in range(1, p["r"] + 1):
            run.iterations["inner"] += 1
            s += run.call("tool_b", i=n, j=k)
        if s % 2 == 0:
            run.branch("tool_c", None)
            values.append(run.call("tool_c", x=s))
        else:
            values.append(s)
    return run.call("tool_d", numbers=values)


TEMPLATE = Template(
    "fan_out+loop",
    "composite",
    "loops of single elements dropped",
    ("tool_a_list", "tool_b", "tool_c", "tool_d"),
    {"num_items": (3, 4, 5, 6, 7), "r": (2, 2, 3, 3, 4)},
    text,
    execute,
    choices=(
        "k counts from 1; an even sum goes to tool_c, an odd one stays unchanged.",
        "tool_d gets one value per element; its result is the answer.",
    ),
)
