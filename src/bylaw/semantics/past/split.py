"""The condition of a memory, split by what is known when an event is taken in."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.frozen import frozen
from bylaw.vocabulary.local import Reader, Test


@frozen
class Key:
    """A condition that a later query looks up: the event's value matches the query's."""

    of_event: Reader
    of_query: Reader
    member: bool
    """Must the event's value, a list or a text, contain the query's? Else they are equal."""
    null_counts: bool
    """Can null match? In patterns it can, in comparisons it cannot."""
    mention: bool = False
    """Must the event's value mention the query's? The key then finds candidates to be tested."""


@frozen
class SplitCondition:
    """A condition, split by what is known when an event is taken in, and what a query adds."""

    closed: Sequence[Test]
    """The parts that do not depend on the query: tested when an event is taken in."""
    keys: Sequence[Key]
    asked: Test
    """The part that depends on the query, keys included."""
    whole: Test | None
    """The whole condition, if it can be tested later; None if it queries other memories."""
    by_key: bool
    """Do the keys cover everything that depends on the query?"""
    weight: int
    """The steps that testing it takes."""
