"""The fields of results, each with its check: damaged results are refused before they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from bylaw.agents.loop import Ending
from bylaw.bench.results import RunRecord, read_results
from bylaw.bench.templates import TEMPLATES
from bylaw.bench.templates.template import DIFFICULTIES
from bylaw.enforcement.severity import SETTINGS
from bylaw.errors import Diagnostic, TraceError
from bylaw.procedure.procedure import LAYERS
from bylaw.saved import Damaged, choice, fields, flag, listed, number, table, text, whole
from bylaw.values import LARGEST

FieldCheck: TypeAlias = Callable[[Any], object]
"""Raises Damaged if a value is not one of the field's values."""


def require_fields(run: RunRecord, checks: Mapping[str, FieldCheck], source: str | Path) -> None:
    """Raises a TraceError that names the first field that is missing or has an invalid value."""
    for name, check in checks.items():
        try:
            check(run.get(name, ...))  # None is a valid value of some fields
        except Damaged:
            message = f"the run '{run['key']}' has no valid '{name}'"
            raise TraceError(Diagnostic("E421", message, source=str(source))) from None


def read_runs(*paths: str | Path) -> Iterator[dict[str, Any]]:
    """The runs of the benchmark in some files, checked field by field."""
    for path in paths:
        for run in read_results(path):
            require_fields(run, _RUN, path)
            yield run


# ── checks ────────────────────────────────────────────────────────────────────────────────


def one_of(*values: object) -> FieldCheck:
    """One of some values."""
    return lambda value: choice(value, values)


def maybe(check: FieldCheck) -> FieldCheck:
    """Null, or a value that passes the check."""
    return lambda value: value is None or check(value)


def each(check: FieldCheck) -> FieldCheck:
    """A list whose items pass the check."""
    return lambda value: [check(item) for item in listed(value)]


def share(value: Any) -> None:
    """A number from 0 to 1."""
    if not 0 <= number(value) <= 1:
        raise Damaged("expected a number from 0 to 1")


def integer(value: Any) -> int:
    """A whole number of either sign."""
    return whole(value, -LARGEST)


def anything(value: Any) -> None:
    """Any value, but there must be one."""
    if value is ...:
        raise Damaged("expected a value")


def conditions(value: Any) -> None:
    """The conditions of a run: about the model, and the versions it was made with."""
    stated = table(value)
    table(stated.get("about"))
    text(table(stated.get("versions")).get("bylaw"))


def _layers(value: Any) -> None:
    for layer, counts in table(value).items():
        choice(layer, tuple(LAYERS))
        passed, total = listed(counts, 2)
        whole(passed, 0, whole(total, 1))


def _refused(value: Any) -> None:
    turn, tool, arguments, reason, message, rules = fields(
        value, "turn", "tool", "arguments", "reason", "message", "constraints"
    )
    whole(turn), text(tool), table(arguments), text(reason), text(message), each(text)(rules)


def _event(value: Any) -> None:
    stated = table(value)
    for name in ("tool", "action", "resolution"):
        text(stated.get(name))
    whole(stated.get("turn")), choice(stated.get("layer"), tuple(LAYERS))
    anything(stated.get("arguments", ...))


_RUN: Final[Mapping[str, FieldCheck]] = {
    "key": text,
    "model": text,
    "setting": one_of(*SETTINGS),
    "template": one_of(*TEMPLATES),
    "structure": one_of(*{each.structure for each in TEMPLATES.values()}),
    "difficulty": one_of(*DIFFICULTIES),
    "seed": integer,
    "trial": whole,
    "conditions": conditions,
    "score": maybe(share),
    "label": one_of("FULL", "PARTIAL", "NONE", None),
    "layers": _layers,
    "violated": each(text),
    "excused": table,
    "answer": anything,
    "correct": flag,
    "ending": one_of(*get_args(Ending)),
    "turns": whole,
    "calls": whole,
    "gold_calls": whole,
    "trace": table,
    "refused": each(_refused),
    "events": each(_event),
}
"""The fields of a run that analyses and pages read."""
