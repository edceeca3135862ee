"""The reach of a formula: one event, the past, or the future."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.terms import Answer, Labels, Last, Sofar
from bylaw.logic.walk import everything

BACK: Final = (f.Earlier, f.Once, f.Historically, f.Since, f.Yesterday, Last, Sofar)
"""Nodes that look at earlier events."""
_WHOLE: Final = (f.FromArgs, f.FromResults, f.FromMetrics, f.Extracted)
_AHEAD: Final = (
    f.Next,
    f.WeakNext,
    f.Eventually,
    f.Always,
    f.Until,
    f.WeakUntil,
    f.Release,
    f.Later,
    f.TracePredicate,
    f.OpenPredicate,
    Answer,
    *_WHOLE,
)
"""Nodes that depend on later events, or on the trace as a whole."""


@lru_cache(maxsize=65536)
def is_past(formula: f.Formula) -> bool:
    """Is the formula decided at each event, whatever comes after it?"""
    return not any(isinstance(part, _AHEAD) for part in everything(formula))


@lru_cache(maxsize=65536)
def is_past_but_for_functions(formula: f.Formula) -> bool:
    """The same, ignoring the registered functions that the formula calls."""
    ahead = tuple(kind for kind in _AHEAD if kind is not f.OpenPredicate)
    return not any(isinstance(part, ahead) for part in everything(formula))


@lru_cache(maxsize=65536)
def stays_here(formula: f.Formula) -> bool:
    """Is the formula decided by the event and the values of its free variables?"""
    refused = (*_AHEAD, *BACK, Labels)
    return not any(isinstance(part, refused) for part in everything(formula))


def is_local(formula: f.Formula) -> bool:
    """Is the formula decided by the event alone?"""
    return not formula.free and stays_here(formula)


def reads_event(domain: f.Domain) -> bool:
    """Does the domain differ from event to event?"""
    return isinstance(domain, f.Listed | f.Found | f.Extracted) and not domain.constant
