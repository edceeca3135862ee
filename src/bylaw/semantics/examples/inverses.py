"""Operands for which a function has a wanted value: one row for each function that has some.

A row takes the wanted value and the operands as they are now, and gives the index of an operand
with a new value for it. The reference decides whether the function then has the wanted value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeAlias

from bylaw.regex.regex import compiled
from bylaw.regex.sample import sample_of
from bylaw.semantics.examples.fitting_values import FRESH
from bylaw.values import is_list, is_number, is_object, is_text
from bylaw.vocabulary.functions import apply

Choices: TypeAlias = Iterator[tuple[int, Any]]
"""Indices of operands with new values for them."""
Inverse: TypeAlias = Callable[[Any, Sequence[Any]], Choices]


ANY_MATCH: Final = "\0"
"""Wanted of `find`: any match."""


def _itself(wanted: Any, operands: Sequence[Any]) -> Choices:
    yield 0, wanted


def _written(wanted: Any, operands: Sequence[Any]) -> Choices:
    """A text that is written out: of an object, one of its values is enough."""
    yield 0, {**operands[0], FRESH[0]: wanted} if is_object(operands[0]) else wanted


def _length(wanted: Any, operands: Sequence[Any]) -> Choices:
    if not is_number(wanted) or not 0 <= wanted <= 12:
        return
    size, current = int(wanted), operands[0]
    if is_text(current):
        yield 0, (current + "x" * size)[:size]
        return
    items = list(current) if is_list(current) else []
    names = (FRESH[i % len(FRESH)] for i in range(len(items), size))
    yield 0, [*items[:size], *names]


def _keys(wanted: Any, operands: Sequence[Any]) -> Choices:
    if is_list(wanted) and all(map(is_text, wanted)):
        current = operands[0] if is_object(operands[0]) else {}
        yield 0, {key: current.get(key, FRESH[0]) for key in wanted}


def _values(wanted: Any, operands: Sequence[Any]) -> Choices:
    if is_list(wanted):
        current = sorted(operands[0]) if is_object(operands[0]) else []
        names = [*current, *(name for name in FRESH if name not in current)]
        yield 0, dict(zip(names, wanted, strict=False))


def _total(wanted: Any, operands: Sequence[Any]) -> Choices:
    if not is_number(wanted):
        return
    items = list(operands[0]) if is_list(operands[0]) else []
    others = [each for each in items[:-1] if is_number(each)]
    if len(others) == max(0, len(items) - 1):
        yield 0, [*others, wanted - sum(others)]


def _extreme(wanted: Any, operands: Sequence[Any]) -> Choices:
    items = list(operands[0]) if is_list(operands[0]) else []
    yield 0, [wanted] * max(1, len(items))


def _find(wanted: Any, operands: Sequence[Any]) -> Choices:
    pattern, current = operands[1], operands[0]
    expression = compiled(pattern) if is_text(pattern) else None
    sample = sample_of(pattern) if expression is not None else None
    if expression is None or sample is None or not is_list(wanted):
        return
    texts = []
    for value in filter(is_text, wanted):
        if value == ANY_MATCH:
            texts.append(sample)
            continue
        if expression.find(value) == [value]:
            texts.append(value)
            continue
        found = expression.find(sample)
        shown = sample.replace(found[0], value) if found and found[0] else sample
        texts.append(shown if expression.find(shown) else sample)
    yield 0, " ".join(texts)
    if is_text(current):
        yield 0, " ".join([current, *texts])


def _pairs(wanted: Any, operands: Sequence[Any]) -> Choices:
    if is_list(wanted):
        for side in (0, 1):
            items = list(operands[side]) if is_list(operands[side]) else []
            new = [
                pair[side] if is_list(pair) and len(pair) > side else FRESH[side] for pair in wanted
            ]
            yield side, [*new, *items[len(new) :]]


def _split(wanted: Any, operands: Sequence[Any]) -> Choices:
    if is_list(wanted) and all(map(is_text, wanted)) and is_text(operands[1]):
        yield 0, operands[1].join(wanted)


def _affix(at_start: bool) -> Inverse:
    def texts(wanted: Any, operands: Sequence[Any]) -> Choices:
        part = operands[1]
        if is_text(part):
            longer = f"{part}x" if at_start else f"x{part}"
            yield 0, longer if wanted else f"{FRESH[0]}{FRESH[1]}"

    return texts


def _type(wanted: Any, operands: Sequence[Any]) -> Choices:
    samples = {"string": FRESH[0], "number": 1, "boolean": True, "array": [], "object": {}}
    if is_text(wanted) and wanted in samples:
        yield 0, samples[wanted]


def _arithmetic(left: Callable[[Any, Any], Any], right: Callable[[Any, Any], Any]) -> Inverse:
    """The operands of a sum, difference, product or quotient: each from the other."""

    def solved(wanted: Any, operands: Sequence[Any]) -> Choices:
        one, other = operands
        if not is_number(wanted):
            return
        for index, known, solve in ((0, other, left), (1, one, right)):
            value = known if is_number(known) else 1
            try:
                found = solve(wanted, value)
            except ZeroDivisionError:
                continue
            if math.isfinite(found):
                yield index, int(found) if found == int(found) else found

    return solved


def _calendar(name: str) -> Inverse:
    """Times with a given hour, weekday or date: the nearest whole number of hours away."""

    def times(wanted: Any, operands: Sequence[Any]) -> Choices:
        now, zone = operands
        if not is_number(now) or not is_text(zone):
            return
        hours: Iterator[float] = (now + 3600 * sign * n for n in range(24 * 8) for sign in (1, -1))
        if name == "date" and is_text(wanted):
            try:
                hours = iter([datetime.fromisoformat(f"{wanted}T12:00:00+00:00").timestamp()])
            except ValueError:
                return
        yield from ((0, time) for time in hours if apply(name, [time, zone]) == wanted)

    return lambda wanted, operands: islice(times(wanted, operands), 1)


INVERSES: Final[dict[str, Inverse]] = {
    **dict.fromkeys(
        ("decode", "leaves", "lower", "upper", "trim", "normalise", "to_number", "unique", "sort"),
        _itself,
    ),
    **dict.fromkeys(("replace", "abs", "ceil", "floor", "round"), _itself),
    "reverse": lambda wanted, _: iter([(0, wanted[::-1])] if is_list(wanted) else []),
    "to_string": _written,
    "length": _length,
    "keys": _keys,
    "values": _values,
    "sum": _total,
    "avg": _extreme,
    "min": _extreme,
    "max": _extreme,
    "find": _find,
    "zip": _pairs,
    "split": _split,
    "join": lambda wanted, _: iter([(1, [wanted])] if is_text(wanted) else []),
    "starts_with": _affix(True),
    "ends_with": _affix(False),
    "type": _type,
    **{name: _calendar(name) for name in ("hour", "weekday", "date")},
    "+": _arithmetic(lambda w, y: w - y, lambda w, x: w - x),
    "-": _arithmetic(lambda w, y: w + y, lambda w, x: x - w),
    "*": _arithmetic(lambda w, y: w / y, lambda w, x: w / x),
    "/": _arithmetic(lambda w, y: w * y, lambda w, x: x / w),
}
"""By function."""
