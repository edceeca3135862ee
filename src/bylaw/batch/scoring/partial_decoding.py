"""Records decoded only as far as rules read them: the fields, and the events made on demand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from bylaw.columnar.start_times import StartTimes
from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import Apply, At, Counted, Last, Literal, Reading, Sofar, Term, Tool
from bylaw.logic.walk import everything, is_timed
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.failure import Failure
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING, Call, Event, Message, Missing
from bylaw.values import Json, JsonError, read_json
from bylaw.vocabulary.patterns import forms_of, names_of
from bylaw.vocabulary.possible import Seen
from bylaw.vocabulary.predicate import Probe
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.registry import Vocabulary

ABSENT: Final = Raw(b"")
"""The value of a field that a record does not have, or that no rule reads."""
_TEXT: Final = msgspec.json.Decoder(str)
MAX_ANSWERS: Final = 1 << 14
"""The largest number of answers that are kept for a probe."""

_NOTHING: Final = frozenset[str]()
_READINGS: Final[dict[str, frozenset[str]]] = {
    "agent": frozenset({"agents"}),
    "args": frozenset({"arguments"}),
    "duration": frozenset({"starts", "ends"}),
    "end": frozenset({"ends"}),
    "error": frozenset({"results"}),
    "result": frozenset({"results"}),
    "start": frozenset({"starts"}),
    "step": frozenset({"steps"}),
    "text": frozenset({"results"}),
    "tool": _NOTHING,
    "usage": frozenset({"usage"}),
}
_EVENT: Final = frozenset(name for names in _READINGS.values() for name in names)
_NODES: Final[dict[type[Node], frozenset[str]]] = {
    f.ArgumentIs: frozenset({"arguments"}),
    f.Arguments: frozenset({"arguments"}),
    f.FromArgs: frozenset({"arguments"}),
    f.ResultIs: frozenset({"results"}),
    f.OutcomeIs: frozenset({"results"}),
    f.FromResults: frozenset({"results"}),
    f.Earlier: frozenset({"steps"}),
    f.Later: frozenset({"steps"}),
    f.OnceWithin: frozenset({"starts"}),
    f.EventuallyWithin: frozenset({"starts"}),
    f.EarlierWithin: frozenset({"starts", "steps"}),
    f.LaterWithin: frozenset({"starts", "steps"}),
    f.FromMetrics: frozenset({"metrics"}),
}

ProbeAnswers: TypeAlias = dict[Probe, dict[Hashable, bool]]


# ── fields ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class FieldsRead:
    """The parts of a record that some rule reads."""

    names: frozenset[str] = frozenset()
    """Of `arguments`, `results` (with errors), `steps`, `starts`, `ends`, `agents`, `usage`,
    `messages` and `metrics`.
    """
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
        if any(map(is_timed, formulas)):
            names.add("starts")  # at least to say that some are missing
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
    for part, of_term in _read_by_terms(parts):
        match part:
            case f.TracePredicate():
                read = read.union(*map(_fields_of, _probes(part)))
            case _:
                read |= _NODES.get(type(part), of_term)
    return read


def _read_by_terms(parts: Iterable[Node]) -> Iterator[tuple[Node, frozenset[str]]]:
    """Each part, and the fields that it reads if it is a term; of a new kind of term, all.

    The parts come outermost first. An event of which one field is read is not read as a whole.
    """
    narrowed: Node | None = None
    for part in parts:
        read = _NOTHING
        match part:
            case Reading(field):
                read = _READINGS.get(field, _EVENT)
            case At(Last() | Sofar() as event, Literal() as key) if isinstance(key.value, str):
                read, narrowed = _READINGS.get(key.value, _NOTHING), event
            case Apply("length", (Sofar() as events,)):
                narrowed = events
            case Last() | Sofar():
                read = _NOTHING if part is narrowed else _EVENT
                read |= _looked_at(part)
                narrowed = None
            case _ if part.reads and not isinstance(part, Counted):
                read = _EVENT
        yield part, read


def _looked_at(part: Last | Sofar) -> frozenset[str]:
    """The fields by which `last` and `sofar` find events, apart from their condition."""
    if isinstance(part, Last):
        return frozenset({"steps"})
    return _NOTHING if part.seconds is None else frozenset({"starts"})


def _argument_tools(parts: Iterable[Node]) -> frozenset[str] | None:
    """The tools whose arguments are read, if all of them are named."""
    names: set[str] = set()
    for part, of_term in _read_by_terms(parts):
        asked: list[Tool | None] = []
        match part:
            case f.EventAtom(tool, patterns) if any(isinstance(p, f.ArgumentIs) for p in patterns):
                asked = [tool]
            case f.FromArgs(tool):
                asked = [tool]
            case f.TracePredicate():
                asked = [each.tool for each in _probes(part) if "arguments" in _fields_of(each)]
            case _ if "arguments" in of_term:
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


class GivenAnswer(NamedTuple):
    """The final answer of a record."""

    text: str
    step: int
    time: float | None


@dataclass
class RawEvents:
    """The calls and answers of some records; arguments and results are decoded when asked for."""

    names: Sequence[str]
    """The tool name of each code."""
    tools: Sequence[int]
    """The code of each call's tool."""
    steps: NDArray[np.int64]
    arguments: Sequence[Raw] = ()
    """Empty if no rule reads them, like the next ones."""
    results: Sequence[Raw] = ()
    errors: Sequence[str | None] = ()
    began: Sequence[float | None] = ()
    ended: Sequence[float | None] = ()
    agents: Sequence[str | None] = ()
    usage: Sequence[Raw] = ()
    messages: Sequence[Any] = ()
    """As events, they are numbered after the calls."""
    answers: Sequence[GivenAnswer] = ()
    """As events, they are numbered after the messages."""
    failed: Failure | None = None
    """The sign of failure, if the procedure defines one."""
    known: ProbeAnswers = field(default_factory=dict)
    """Answers about calls of earlier batches, by tool and arguments."""
    _asked: ProbeAnswers = field(default_factory=dict)
    """Answers about events of this batch, by number."""
    computed: dict[Term, dict[int, Seen]] = field(default_factory=dict)
    """Values of terms that have been computed, for events by number."""
    _decoded: dict[int, Event] = field(default_factory=dict)

    def event(self, number: int) -> Event:
        """One event, with the fields that the rules read."""
        event = self._decoded.get(number)
        if event is None:
            event = self._decoded[number] = self._event(number)
        return event

    def _event(self, number: int) -> Event:
        if number >= len(self.tools):
            return self._message_or_answer(number - len(self.tools))
        call = Call(
            self.names[self.tools[number]],
            self._object(self.arguments, number) or {},
            self._value(self.results[number] if self.results else ABSENT, number),
            int(self.steps[number]),
            self.errors[number] if self.errors else None,
            start=self.began[number] if self.began else None,
            end=self.ended[number] if self.ended else None,
            agent=self.agents[number] if self.agents else None,
            usage=self._object(self.usage, number),
        )
        return call if self.failed is None else self.failed.marked(call)

    def _message_or_answer(self, index: int) -> Event:
        if index >= len(self.messages):
            answer, step, start = self.answers[index - len(self.messages)]
            return Call(FINAL_ANSWER, {"answer": answer}, step=step, start=start)
        said = self.messages[index]
        return Message(
            said.role,
            said.text,
            getattr(said, "step", 0),
            getattr(said, "start", None),
            getattr(said, "agent", None),
            self._decoded_object(getattr(said, "usage", ABSENT), index + len(self.tools)),
        )

    def texts(self, numbers: Sequence[int]) -> list[str | Missing]:
        """The text of each of these events. No event is made of a message for that."""
        calls = len(self.tools)
        said, end = self.messages, calls + len(self.messages)
        return [
            said[number - calls].text if calls <= number < end else self.event(number).text
            for number in numbers
        ]

    @cached_property
    def starts(self) -> StartTimes:
        """The starts of all events; a rule about time reads them."""
        said = (getattr(message, "start", None) for message in self.messages)
        return StartTimes([*self.began, *said, *(answer.time for answer in self.answers)])

    def _object(self, column: Sequence[Raw], number: int) -> dict[str, Json] | None:
        return self._decoded_object(column[number] if column else ABSENT, number)

    def _decoded_object(self, raw: Raw, number: int) -> dict[str, Json] | None:
        value = self._value(raw, number)
        if value is MISSING or value is None:
            return None
        if not isinstance(value, dict):
            raise OddRecord(event=number)
        return value

    def _value(self, raw: Raw, number: int) -> Json:
        text = bytes(raw)
        if not text:
            return MISSING
        try:
            if text.startswith(b'"'):  # a text, as most results are, has no keys to repeat
                with suppress(msgspec.DecodeError):  # of half a surrogate pair, for example
                    return _TEXT.decode(text)
            return read_json(text.decode())
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
