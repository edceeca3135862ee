"""A gate's audit log: the entries of one file, in which runs may alternate.

    {"entry":1, "run":"5f0c…", "kind":"start", "procedure":"desk", "labels":{}, "metrics":{}, …}
    {"entry":2, "run":"5f0c…", "kind":"message", "role":"user", "text":"Refund order 7.", …}
    {"entry":3, "run":"5f0c…", "kind":"decision", "turn":1, "index":0, "tool":"refund", …}
    {"entry":4, "run":"5f0c…", "kind":"result", "turn":1, "index":0, "result":"done", …}
    {"entry":5, "run":"5f0c…", "kind":"finish", "answer":"Done.", "metrics":{}, …}

Each run is a trace, the one that the guard's own report has. The chain of hashes is checked on the
way, and a log that was altered is not read. Seals and anchors are left to `bylaw log check`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bylaw.audit.entry import FIRST, OWN_FIELDS, body_of, hash_of
from bylaw.errors import Diagnostic, TraceError, shown
from bylaw.frozen import replace
from bylaw.saved import Damaged, number, optional_text, table, text, whole
from bylaw.trace.event import MISSING, Call, Message
from bylaw.trace.formats.format import Format, NotedTrace
from bylaw.trace.gate_record import GateRecord
from bylaw.trace.refusal import Refusal
from bylaw.trace.refusal_mark import decision_id
from bylaw.trace.trace import Trace

_HELP: Final = "`bylaw log check` says what is wrong with a log."


class _LoggedRun:
    """One run, while its entries are read."""

    def __init__(self, run: str) -> None:
        self.run: Final = run
        self.record: GateRecord | None = None
        self.calls: dict[tuple[int, int], Call] = {}

    def take(self, entry: Mapping[str, Any]) -> None:
        """Takes in one entry."""
        kind = entry["kind"]
        if kind in ("start", "resume") and self.record is None:
            self.record = GateRecord(entry["metrics"], entry["labels"])
        record = self.record
        if record is None:
            raise Damaged("its beginning is missing")
        match kind:
            case "resume":
                record.rewind(entry["from"])
            case "message":
                told = _time(entry, "start"), optional_text(entry.get("agent")), entry.get("usage")
                step = whole(entry["step"])
                record.hear(Message(entry["role"], text(entry["text"]), step, *told))
            case "decision":
                self.decide(record, entry)
            case "result" | "unread":
                key = entry["turn"], entry["index"]
                call = self.calls[key]
                made = {"error": entry.get("error"), "usage": entry.get("usage")}
                made["end"] = _time(entry, "end")
                record.settle(key, replace(call, result=entry.get("result", MISSING), **made))
            case "withdraw":
                record.withdraw()
            case "broken off":
                record.forget((turn, index) for turn, index in entry["calls"])
            case "finish":
                record.finish(entry["answer"], entry["metrics"], entry["answered"])

    def decide(self, record: GateRecord, entry: Mapping[str, Any]) -> None:
        key = entry["turn"], entry["index"]
        id, agent = optional_text(entry.get("id")), optional_text(entry.get("agent"))
        refused = entry["action"] != "allow"
        step = whole(entry["turn"] if refused else entry["step"])
        tool, arguments = text(entry["tool"]), table(entry["arguments"])
        start = _time(entry, "start")
        call = Call(tool, arguments, step=step, id=id, agent=agent, start=start)
        if refused:
            decision = decision_id(self.run, *key)
            record.refuse(Refusal(call, entry["action"], text(entry["message"]), decision))
        else:
            self.calls[key] = call
            record.allow(key, call, step)

    def trace(self, name: str | None) -> Trace:
        """The run as a trace."""
        made = self.record.trace() if self.record is not None else None
        if made is None:
            raise Damaged("it has no entries")
        return Trace(
            made.events,
            answer=made.answer,
            metrics=made.metrics,
            labels=made.labels,
            name=name,
            refusals=made.refusals,
            answered=made.answered,
        )


def _time(entry: Mapping[str, Any], name: str) -> float | None:
    return None if entry.get(name) is None else number(entry[name])


def _is_entry(value: object) -> bool:
    return isinstance(value, Mapping) and {"entry", "prev", "size", "hash", "kind"} <= value.keys()


def _detects(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_entry, value))


def check_chain(entries: Sequence[Mapping[str, Any]]) -> None:
    """Raises a TraceError if some entry was altered."""
    head = FIRST
    for at, entry in enumerate(entries):
        content = {name: value for name, value in entry.items() if name not in OWN_FIELDS}
        body = body_of(content, at, head, len(str(entry.get("seal", ""))))
        stated, head = (entry["entry"], entry["prev"], entry["hash"]), hash_of(body)
        if stated != (at, entries[at - 1]["hash"] if at else FIRST, head):
            raise _unusable(f"entry {at} was altered", _HELP)


def runs_in(entries: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The entries of each run, in the order in which the runs began."""
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        if isinstance(entry.get("run"), str):
            runs.setdefault(entry["run"], []).append(entry)
    return runs


def _several(entries: Sequence[Mapping[str, Any]]) -> list[object]:
    """The runs of a whole log, each as a list of entries that is known to be intact."""
    check_chain(entries)
    return [_IntactRun(each) for each in runs_in(entries).values()]


class _IntactRun(list[Mapping[str, Any]]):
    """The entries of one run, out of a log whose chain was checked."""


def _read(value: Any, name: str | None) -> NotedTrace:
    if not isinstance(value, _IntactRun):
        check_chain(value)
    runs = runs_in(value)
    if len(runs) != 1:
        raise _unusable(f"the log has {len(runs)} runs, and one is needed", "Name one of them.")
    ((run, entries),) = runs.items()
    logged = _LoggedRun(run)
    for entry in entries:
        try:
            logged.take(entry)
        except Damaged as error:
            help = "Give the log in which the run began, as the gate wrote it."
            raise _unusable(f"the run {shown(run)} cannot be read: {error}", help) from None
        except (LookupError, TypeError, ValueError, AttributeError):
            raise _unusable(f"entry {shown(entry['entry'])} is malformed", _HELP) from None
    try:
        return NotedTrace(logged.trace(name))
    except Damaged as error:
        raise _unusable(f"the run {shown(run)} cannot be read: {error}", _HELP) from None


def _unusable(message: str, help: str) -> TraceError:
    return TraceError(Diagnostic("E321", message, help))


GATE_LOG: Final = Format(
    "gate log",
    "lines of a gate's audit log",
    _detects,
    _read,
    several=_several,
    opens_session=_is_entry,
)
