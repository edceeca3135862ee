"""Formulas that are decided at a single event, whatever the others are."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from bylaw.logic import formula as f
from bylaw.trace.event import Call, Event
from bylaw.vocabulary.local import EventContext, LocalCompiler, Test


@lru_cache(maxsize=4096)
def local_test(formula: f.Formula) -> Callable[[Event], bool]:
    """A function that decides a formula without variables at an event, ignoring all others."""
    test, size = _compiled(formula)

    def holds(event: Event) -> bool:
        return test(EventContext(event, 0, event.step or 0, False, size)) is True

    return holds


def waits_for_result(formula: f.Formula, proposed: Call) -> bool:
    """Does the value of such a formula at a call depend on the result, which is unknown?"""
    test, size = _compiled(formula)
    return test(EventContext(proposed, 0, proposed.step or 0, True, size)) is None


@lru_cache(maxsize=4096)
def _compiled(formula: f.Formula) -> tuple[Test, int]:
    compiler = LocalCompiler({})
    test = compiler.formula(formula, {})
    return test, compiler.size
