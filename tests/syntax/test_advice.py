"""The advice for mistakes in formulas."""

from __future__ import annotations

import pytest

from bylaw import SpecError, Trace, holds, parse
from bylaw.vocabulary.functions import FUNCTIONS


@pytest.mark.parametrize(
    ("rule", "help"),
    [
        ('G(starts_with(args.path, "src/"))', "Compare it with something: starts_with(…) = true."),
        ('ends_with(answer, ".")', "Compare it with something: ends_with(…) = true."),
        ("G(length(args.path))", "Compare it with something: length(…) = 1."),
        ("G(count(a))", "Compare it with something: count(…) = 1."),
    ],
)
def test_advice(rule: str, help: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(rule)
    assert caught.value.diagnostics[0].help == help


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_functions_that_ask_are_answered_by_true_or_false(name: str) -> None:
    function = FUNCTIONS[name]
    answered = parse(f'type({function.example}) = "boolean"')
    assert holds(answered, Trace()) is function.asks
