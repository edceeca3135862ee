"""Refusals in transcripts, held against the gate's log.

A transcript shows a refusal by its mark, which a tool can imitate. The log knows which decisions
the gate made. A refusal that is not in it was written by somebody else, so its call counts as one
that ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from bylaw.audit.reader import LogReader
from bylaw.cli.log.log_options import readable
from bylaw.errors import Diagnostic, TraceError
from bylaw.opening import open_regular
from bylaw.trace.files import Entry
from bylaw.trace.refusal import Refusal
from bylaw.trace.refusal_mark import checked_against, decision_id
from bylaw.trace.trace import Trace

_FIELDS: Final = {"run", "turn", "index", "action", "message"}
"""The fields of a refusal's entry. An allowed call has no message."""


def confirmed(entries: Iterable[Entry], log: str) -> Iterator[Entry]:
    """The traces, with those refusals that the log confirms."""
    known = _refusals(log)
    for entry in entries:
        yield entry if entry.trace is None else _confirmed(entry, entry.trace, known)


def _refusals(log: str) -> dict[str, tuple[str, str]]:
    """The action and the message of each refusal in a log, by the id of the decision."""
    found: dict[str, tuple[str, str]] = {}
    with readable(log), open_regular(log) as file:
        reader = LogReader(file, log)
        for entry in reader.entries():
            said = entry.content
            if entry.kind == "decision" and said.keys() >= _FIELDS:  # others confirm nothing
                id = decision_id(str(said["run"]), said["turn"], said["index"])
                found[id] = str(said["action"]), str(said["message"])
    if reader.problem is not None:
        help = "`bylaw log check` says what is wrong with a log."
        raise TraceError(Diagnostic("E411", f"the log is not intact: {reader.problem}", help, log))
    return found


def _confirmed(entry: Entry, trace: Trace, known: dict[str, tuple[str, str]]) -> Entry:
    def confirms(refusal: Refusal) -> bool:
        return known.get(refusal.decision or "") == (refusal.action, refusal.message)

    events, refusals = checked_against(trace.events, trace.refusals, confirms)
    checked = trace.with_events(events, refusals=refusals)
    notes = tuple(note for note in entry.notes if note.code != "W523")
    forged = len(trace.refusals) - len(refusals)
    if forged:
        number = "1 refusal is" if forged == 1 else f"{forged} refusals are"
        message = f"{number} not in the gate's log: the tool is taken to have run"
        help = "Give the log of the gate that the run was behind."
        notes = (*notes, Diagnostic("W526", message, help, where="refusals"))
    return replace(entry, trace=checked, notes=notes)
