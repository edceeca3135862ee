"""Temporal operators as folds over a row of values: from the end, or from the start.

A row holds a value for each position of a trace, and one more behind the last.
"""

from __future__ import annotations

from typing import TypeAlias

from bylaw.semantics.verdict import FALSE, JOIN, MEET, NOT, TRUE, VACUOUS, Value, plain

Row: TypeAlias = list[Value]
_Table: TypeAlias = dict[tuple[Value, Value], Value]


def suffixes(table: _Table, empty: Value, row: Row) -> Row:
    """At each position the values from there to the end, combined; behind the end, `empty`."""
    combined = [empty] * len(row)
    for i in reversed(range(len(row) - 1)):
        combined[i] = table[row[i], combined[i + 1]]
    return combined


def prefixes(table: _Table, empty: Value, row: Row) -> Row:
    """At each position the values from the start to there, combined; behind the end, `empty`."""
    combined = [empty] * len(row)
    for i in range(len(row) - 1):
        combined[i] = table[row[i], combined[i - 1]] if i else row[i]
    return combined


def until(a: Row, b: Row) -> Row:
    """B holds at some j from i on, and a at every k from i to before j."""
    result = [FALSE] * len(a)
    for i in reversed(range(len(a) - 1)):
        result[i] = JOIN[plain(b[i]), MEET[plain(a[i]), result[i + 1]]]
    return result


def since(a: Row, b: Row) -> Row:
    """B holds at some j up to i, and a at every k from behind j to i."""
    result = [FALSE] * len(a)
    for i in range(len(a) - 1):
        earlier = MEET[plain(a[i]), result[i - 1]] if i else FALSE
        result[i] = JOIN[plain(b[i]), earlier]
    return result


def weak_until(a: Row, b: Row) -> Row:
    """A U b, or a holds at every position from i on; vacuous in that second case."""
    return [
        VACUOUS if rest is TRUE else JOIN[u, rest]
        for u, rest in zip(until(a, b), every(a), strict=True)
    ]


def release(a: Row, b: Row) -> Row:
    """B holds until a does, that position included, or always; vacuous if a never does."""
    both = [MEET[plain(x), plain(y)] for x, y in zip(a, b, strict=True)]
    reached, always = until(b, both), every(b)
    never = every([NOT[x] for x in a])
    return [
        VACUOUS if rest is TRUE and no_a is TRUE else JOIN[u, rest]
        for u, rest, no_a in zip(reached, always, never, strict=True)
    ]


def every(row: Row) -> Row:
    """At each position: do all values from there to the end hold?"""
    return suffixes(MEET, TRUE, [plain(value) for value in row])
