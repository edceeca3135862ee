"""The rules and traces that the benchmarks share.

The simulated agent works on ten items at a time and follows the rules: `a_i`, then `b_i`, then
`c_i`, interleaved at random, with unrelated calls between them; it never calls `d_i`. So no rule
is violated, and a rule is decided early only if it can be satisfied for good (`Called(a_1)`); the
online benchmark prints how many stay open.
"""

from __future__ import annotations

import random
from typing import Final

from bylaw import Call

ITEMS: Final = 10


def calls(count: int, seed: int = 1) -> list[Call]:
    """The calls of one session, with results, each in a step of its own."""
    rng = random.Random(seed)
    stages = [0] * ITEMS
    found: list[Call] = []
    for step in range(count):
        if rng.random() < 0.2:
            tool = f"other_{rng.randrange(5)}"
        else:
            item = rng.randrange(ITEMS)
            tool = f"{'abc'[stages[item]]}_{item}"
            stages[item] = (stages[item] + 1) % 3
        arguments = {"k": rng.randrange(ITEMS), "note": "something"}
        found.append(Call(tool, arguments, result={"status": "done"}, step=step))
    return found


def _spread(shapes: list[str], each: int) -> list[str]:
    """Every shape for some of the items, so that every item has about as many rules."""
    return [
        shape.replace("@", str((number * each + i) % ITEMS))
        for number, shape in enumerate(shapes)
        for i in range(each)
    ]


PLAIN: Final = _spread(
    [
        "Called(a_@)",
        "CalledN(d_@, <= 2)",
        "CalledN(b_@, >= 3)",
        "Before(a_@, b_@)",
        "After(c_@, a_@)",
        "AllBefore([a_@, b_@], c_@)",
        "InOrder(a_@, b_@, c_@, d_@)",
        "InstanceBefore(a_@, 2, b_@, 2)",
        "CalledWith(a_@, k = @)",
        "BranchCalled(a_@, d_@)",
    ],
    3,
)
"""Thirty rules that are one predicate each, of ten kinds."""

FLAT: Final = _spread(
    [
        "G(a_@ -> F b_@)",
        "G(b_@ -> F c_@)",
        "G(b_@ -> O a_@)",
        "G(c_@ -> (!a_@ S b_@))",
        "G(a_@ -> X !c_@)",
        "!b_@ W a_@",
    ],
    5,
)
"""Thirty rules with one temporal operator, most of them under `G`."""

NESTED: Final = _spread(
    [
        "G(a_@ -> F(b_@ & F c_@))",
        "G(a_@ -> (!c_@ U b_@))",
        "G(a_@ -> X(!a_@ U b_@))",
        "G(a_@ -> (F b_@ U c_@))",
        "G(c_@ -> O(b_@ & O a_@))",
        "G(d_@ -> F a_@) & G(b_@ -> !d_@ U c_@)",
    ],
    5,
)
"""Thirty rules with temporal operators inside each other."""

FAMILIES: Final = {"plain predicates": PLAIN, "flat temporal": FLAT, "nested temporal": NESTED}
