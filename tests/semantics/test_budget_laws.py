"""A budget of work changes nothing but what is decided: what is interrupted leaves no trace."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases
from strategies import data_formulas, data_traces, past_rules, quantified, traces

from bylaw.logic.formula import Formula
from bylaw.semantics.monitors import Monitors
from bylaw.trace.event import MISSING, Call
from bylaw.trace.trace import Trace
from bylaw.values import canonical
from bylaw.vocabulary.functions import FUNCTIONS
from bylaw.work import UNLIMITED, OverBudget, allot, spend

_RULES = st.one_of(past_rules(), past_rules(), data_formulas(2), quantified())
_BUDGETS = st.sampled_from([1, 2, 5, 10, 20, 50, 100])


def _state(monitors: Monitors) -> str:
    for engine in monitors.engines:
        engine.mark()  # what has happened is taken in, if it was not yet
    return canonical(monitors.save())


@cases(300)
@given(_RULES, data_traces() | traces(), _BUDGETS, st.randoms(use_true_random=False))
def test_what_is_interrupted_leaves_no_trace(
    rule: Formula, trace: Trace, budget: int, random: Any
) -> None:
    """The same events, with and without the interruptions of a budget that others have."""
    unlimited = Monitors([rule], excuses=True, events="all")
    limited = Monitors([rule], excuses=True, events="all", max_work=budget)
    waiting: list[tuple[int, Call]] = []
    for event in trace.seen("all", answer=False):
        bare = replace(event, result=MISSING, error=None) if isinstance(event, Call) else event
        before = _state(limited)
        attempt = limited.attempt(bare)
        if limited.exhausted:
            attempt.take_back()
            assert _state(limited) == before
            return  # from here on, the two see different events
        other = unlimited.attempt(bare)
        assert attempt.doomed == other.doomed
        assert limited.verdicts == unlimited.verdicts
        if isinstance(event, Call) and event.result is not MISSING:
            waiting.append((limited.length - 1, event))
        if waiting and random.random() < 0.6:
            position, call = waiting.pop(random.randrange(len(waiting)))
            before = _state(limited)
            limited.record(position, call.result, error=call.error)
            if position in limited.outstanding:
                assert _state(limited) == before
                return
            unlimited.record(position, call.result, error=call.error)


def test_steps_are_counted_across_calls() -> None:
    allot(10)
    try:
        spend(4)
        spend(6)
        with pytest.raises(OverBudget, match="more than the budget of 10 steps"):
            spend(1)
    finally:
        allot(UNLIMITED)
    spend(10**9)


_MARKS = "\u0300\u0315\u031b\u0323\u0344\u0345\u0f71\u0f72\u0f74"
"""Combining marks of several classes; some of them decompose into others."""


@given(st.text("ae " + _MARKS, max_size=80), st.integers(0, 50))
def test_texts_are_normalised_as_unicode_says(text: str, repeated: int) -> None:
    given = text + _MARKS[0] * repeated + _MARKS[1] * repeated + text
    expected = " ".join(unicodedata.normalize("NFKC", given).casefold().split())
    assert FUNCTIONS["normalise"](given) == expected


def test_a_long_run_of_marks_is_normalised() -> None:
    """Python alone would take time that grows with the square of its length."""
    marks = "\u0315\u0300" * 100_000
    assert FUNCTIONS["normalise"](marks) == "\u0300" * 100_000 + "\u0315" * 100_000
