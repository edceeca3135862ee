"""Records decoded only as far as rules read them: the fields, and the events made on demand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import Counted, Reading, Tool
from bylaw.logic.walk import everything
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.failure import Failure
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING, Call, Event
from bylaw.values import Json, JsonError, read_json
from bylaw.vocabulary.patterns import forms_of, names_of
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.tracker import Probe

ABSENT: Final = Raw(b"")
"""The value of a field that a record does not have, or that no rule reads."""
MAX_ANSWERS: Final = 1 << 14
"""The largest number of answers that are kept for a probe."""

_EVENT: Final = frozenset({"arguments", "results", "steps"})
_READINGS: Final[dict[str, frozenset[str]]] = {
    "args": frozenset({"arguments"}),
    "error": frozenset({"results"}),
    "result": frozenset({"results"}),
    "step": frozenset({"steps"}),
    "text": frozenset({"results"}),
    "tool": frozenset(),
}
_NODES: Final[dict[type[Node], str]] = {
    f.ArgumentIs: "arguments",
    f.Arguments: "arguments",
    f.FromArgs: "arguments",
    f.ResultIs: "results",
    f.OutcomeIs: "results",
    f.FromResults: "results",
    f.Earlier: "steps",
    f.Later: "steps",
    f.FromMetrics: "metrics",
}

ProbeAnswers: TypeAlias = dict[Probe, dict[Hashable, bool]]


# ── fields ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class FieldsRead:
    """The parts of a record that some rule reads."""

    names: frozenset[str] = frozenset()
    """Of `arguments`, `results` (with errors), `steps`, `messages` and `metrics`."""
    argument_tools: frozenset[str] | None = None
    """The tools whose arguments are read; None for all of them."""

    def __contains__(self, name: str) -> bool:
        return name in self.names

    @property
    def message_positions(self) -> bool:
        """Does it matter where messages stand? They can be events, and they open steps."""
        return "steps" in self or "messages" in self

    @classmethod
    def by(cls, procedures: Iterable[Procedure]) -> FieldsRead:
        """The fields that the rules of the procedures read."""
        names: set[str] = set()
        formulas: list[f.Formula] = []
        for procedure in procedures:
            formulas += [constraint.formula for constraint in procedure.constraints]
            formulas += [procedure.failed.formula] if procedure.failed is not None else []
            names |= {"steps"} if procedure.order == "step" else set()
            if any(procedure.events_of(each) == "all" for each in procedure.constraints):
                names.add("messages")
        parts = [part for formula in formulas for part in everything(formula)]
        return cls(frozenset(names | _fields(parts)), _argument_tools(parts))


@lru_cache(maxsize=4096)
def _fields_of(probe: Probe) -> frozenset[str]:
    """The parts of a call that a probe reads, apart from the tool."""
    asked = (*probe.patterns, *probe.conditions)
    read = _fields(part for node in asked for part in everything(node))
    read |= {"arguments"} if probe.exactly else set()
    return frozenset(read | {"results"} if probe.result is not None else read)


def _fields(parts: Iterable[Node]) -> set[str]:
    read: set[str] = set()
    for part in parts:
        match part:
            case f.TracePredicate():
                read = read.union(*map(_fields_of, _probes(part)))
            case _ if type(part) in _NODES:
                read.add(_NODES[type(part)])
            case _:
                read |= _fields_of_term(part)
    return read


def _fields_of_term(part: Node) -> frozenset[str]:
    """The fields that a term reads, apart from its parts; of a new kind of term, all of them."""
    if isinstance(part, Reading):
        return _READINGS.get(part.field, _EVENT)
    return _EVENT if part.reads and not isinstance(part, Counted) else frozenset()


def _argument_tools(parts: Iterable[Node]) -> frozenset[str] | None:
    """The tools whose arguments are read, if all of them are named."""
    names: set[str] = set()
    for part in parts:
        asked: list[Tool | None] = []
        match part:
            case f.EventAtom(tool, patterns) if any(isinstance(p, f.ArgumentIs) for p in patterns):
                asked = [tool]
            case f.FromArgs(tool):
                asked = [tool]
            case f.TracePredicate():
                asked = [each.tool for each in _probes(part) if "arguments" in _fields_of(each)]
            case _ if "arguments" in _fields_of_term(part):
                return None
        for tool in asked:
            if tool is None or tool.free or forms_of(tool):
                return None
            names |= set(names_of(tool))
    return frozenset(names)


def _probes(predicate: f.TracePredicate) -> tuple[Probe, ...]:
    return PREDICATES[predicate.name].tracker("position", predicate.operands).probes


# ── events ────────────────────────────────────────────────────────────────────────────────


class OddRecord(Exception):
    """A record is not what it seemed: it must be read completely, and may be unusable."""

    def __init__(self, *, record: int | None = None, event: int | None = None) -> None:
        super().__init__()
        self.record = record
        """Its number in the batch, if that is known."""
        self.event = event
        """The number of one of its events, otherwise."""


@dataclass
class RawEvents:
    """The calls and answers of some records; arguments and results are decoded when asked for."""

    names: Sequence[str]
    """The tool name of each code."""
    tools: Sequence[int]
    """The code of each call's tool."""
    steps: NDArray[np.int64]
    arguments: Sequence[Raw] = ()
    """Empty if no rule reads them, like the next two."""
    results: Sequence[Raw] = ()
    errors: Sequence[str | None] = ()
    answers: Sequence[tuple[str, int]] = ()
    """Answers with their steps. As events, they are numbered after the calls."""
    failed: Failure | None = None
    """The sign of failure, if the procedure defines one."""
    known: ProbeAnswers = field(default_factory=dict)
    """Answers about calls of earlier batches, by tool and arguments."""
    _asked: ProbeAnswers = field(default_factory=dict)
    """Answers about events of this batch, by number."""
    _decoded: dict[int, Event] = field(default_factory=dict)

    def event(self, number: int) -> Event:
        """One event, with the fields that the rules read."""
        event = self._decoded.get(number)
        if event is None:
            event = self._decoded[number] = self._event(number)
        return event

    def _event(self, number: int) -> Event:
        if number >= len(self.tools):
            answer, step = self.answers[number - len(self.tools)]
            return Call(FINAL_ANSWER, {"answer": answer}, step=step)
        arguments = self._value(self.arguments, number)
        if arguments is MISSING or arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            raise OddRecord(event=number)
        error = self.errors[number] if self.errors else None
        result = self._value(self.results, number)
        step = int(self.steps[number])
        call = Call(self.names[self.tools[number]], arguments, result, step, error)
        return call if self.failed is None else self.failed.marked(call)

    def _value(self, column: Sequence[Raw], number: int) -> Json:
        raw = bytes(column[number]) if column else b""
        if not raw:
            return MISSING
        try:
            return read_json(raw.decode())
        except (JsonError, UnicodeDecodeError):
            raise OddRecord(event=number) from None

    def metrics(self, trace: int) -> Json:
        """Fails: if a rule reads metrics, records are read completely."""
        raise AssertionError(f"trace {trace} was read without its metrics")

    def test(self, probe: Probe, numbers: Sequence[int], vocabulary: Vocabulary) -> list[bool]:
        """Does each event match the probe? Equal calls are tested once."""
        read, calls = _fields_of(probe), len(self.tools)
        keys: Sequence[Hashable] = numbers
        if read - {"arguments"} or (self.answers and any(number >= calls for number in numbers)):
            # Results are long and seldom equal, so only the same event is met again.
            known = self._asked.setdefault(probe, {})
        else:
            known = self.known.setdefault(probe, {})
            if len(known) > MAX_ANSWERS:
                known.clear()
            keys = self._keys(numbers, with_arguments=bool(read))
        found: list[bool] = []
        for number, key in zip(numbers, keys, strict=True):
            answer = known.get(key)
            if answer is None:
                answer = known[key] = probe.matches(self.event(number), vocabulary)
            found.append(answer)
        return found

    def _keys(self, numbers: Sequence[int], *, with_arguments: bool) -> Sequence[Hashable]:
        """The tool of each call, and if asked for, its arguments as they were written."""
        tools = [self.tools[number] for number in numbers]
        if not with_arguments:
            return tools
        arguments = (bytes(self.arguments[number]) for number in numbers)
        return list(zip(tools, arguments, strict=True))
