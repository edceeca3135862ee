"""The domains of quantifiers over the whole trace.

A path that yields a list contributes its elements. Null and missing values contribute nothing,
any other value itself. Equal values count once.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from bylaw.errors import shown
from bylaw.frozen import frozen
from bylaw.logic.formula import FromArgs, FromMetrics, FromResults
from bylaw.read_only import read_only
from bylaw.trace.event import MISSING, Call
from bylaw.values import Json, copied, identity, problem
from bylaw.vocabulary.possible import UNSEEN, PartlyKnown, PossibleValue, Seen
from bylaw.vocabulary.view import View
from bylaw.work import spend


@frozen
class Elements:
    """The values of a domain."""

    values: tuple[PossibleValue, ...]
    complete: bool
    """Are these all the values? Hidden events may add others."""
    uncertain: tuple[PossibleValue, ...] = ()
    """Values that may be in the domain, or not."""

    @property
    def known(self) -> tuple[Json, ...]:
        """The values that are certain and known as a whole, without duplicates."""
        return distinct(value for value in self.values if not isinstance(value, PartlyKnown))


WholeTrace: TypeAlias = FromArgs | FromResults | FromMetrics
"""The domains that are the same at every event."""


def elements(domain: WholeTrace, view: View) -> Elements:
    """The values that a quantifier over the whole trace ranges over."""
    match domain:
        case FromArgs(tool, path):
            found = (call.args for call in _calls(view, tool))
            return Elements(distinct(contributed(path, found)), not view.hidden)
        case FromResults(tool, path):
            returned = (call.value for call in _calls(view, tool) if call.result is not MISSING)
            return Elements(distinct(contributed(path, returned)), not view.hidden)
        case FromMetrics(path):
            return Elements(distinct(contributed(path, [view.trace.metrics])), True)


def extracted(name: str, operands: Sequence[Seen], view: View) -> Elements:
    """The values that a registered extractor yields; none if an operand is undefined."""
    if view.hidden or UNSEEN in operands:
        return Elements((), False)  # the function may read any event
    if MISSING in operands:
        return Elements((), True)
    extract = view.vocabulary.extractors[name]
    trace = view.trace.read_only
    values = list(extract(trace, trace.metrics, *map(read_only, operands)))
    for value in values:
        if reason := problem(value):
            raise ValueError(f"yielded {shown(value)}, which is not a JSON value: {reason}")
    return Elements(distinct(map(copied, values)), True)


def _calls(view: View, tool: Any) -> Iterator[Call]:
    for position in view.occurrences(tool).certain:
        event = view.events[position]
        assert isinstance(event, Call), "only calls occur as tools"
        yield event


def contributed(path: str, values: Iterable[Json]) -> Iterator[Json]:
    """The values that a path finds in each of these."""
    expression = compile_path(path)
    for value in values:
        spend(_parts(value))
        try:
            found = expression.search(value)
        except _PATH_FAILURES:
            continue  # a JMESPath function got a value of the wrong type: nothing is found
        for item in found if isinstance(found, list) else [found] if found is not None else []:
            if problem(item) is None:  # a path can compute values that are not JSON, such as NaN
                yield item


def _parts(value: Json) -> int:
    """The number of parts of a value, at all depths."""
    count, pending = 0, [value]
    while pending:
        each = pending.pop()
        if isinstance(each, list | tuple | Mapping):
            count += len(each)
            pending += each.values() if isinstance(each, Mapping) else each
    return count


def distinct(values: Iterable[Json]) -> tuple[Json, ...]:
    """The values without duplicates."""
    found: dict[str, Json] = {}
    for value in values:
        found.setdefault(identity(value), value)
    return tuple(found.values())


class PathError(ValueError):
    """A text that is not a JMESPath expression."""


_PATH_FAILURES: Final = (
    ArithmeticError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The errors that JMESPath raises on paths and on values; its own are ValueErrors."""


_PLAIN_PATH: Final = re.compile(r"(?=.{1,100}\Z)[A-Za-z_]\w*(\[\])?(\.[A-Za-z_]\w*(\[\])?)*", re.A)


def check_path(path: str) -> None:
    """Raises PathError if the text is not a JMESPath expression."""
    if not _PLAIN_PATH.fullmatch(path):  # a plain one is known to be right without the library
        compile_path(path)


@lru_cache(maxsize=4096)
def compile_path(path: str) -> Any:
    """The compiled path, or a PathError."""
    import jmespath  # slow to import, and most rules have no path

    try:
        with warnings.catch_warnings():
            # The library only warns about literals that are not JSON; here they are errors.
            warnings.simplefilter("error")
            return jmespath.compile(path)
    except (*_PATH_FAILURES, Warning) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PathError(reason[:120]) from None
