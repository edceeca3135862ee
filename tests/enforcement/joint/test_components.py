"""Rules that share tools form a component, whose number is that of its first rule.

Saved runs refer to components by number, so the numbers must not depend on the process.
"""

from __future__ import annotations

import pytest

from bylaw.enforcement.joint.components import components

CASES = [
    ([], []),
    (["a", "b"], [0, 1]),
    (["a", "b", "a"], [0, 1, 0]),
    (["a", "b", "ba"], [0, 0, 0]),
    (["a", "b", "c", "cb", "d"], [0, 1, 1, 1, 4]),
    (["d", "c", "b", "a", "ab", "cd", "bc"], [0, 0, 0, 0, 0, 0, 0]),
    (["", "a", ""], [0, 1, 2]),
]


@pytest.mark.parametrize(("tools", "numbers"), CASES)
@pytest.mark.parametrize("order", [list, lambda tools: list(reversed(tools))])
def test_a_component_is_called_by_its_first_rule(
    tools: list[str], numbers: list[int], order: type[list[str]]
) -> None:
    assert components([order(named) for named in tools]) == numbers
