"""Checks a log: is it intact, torn by an interruption, or altered?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from bylaw.audit.anchor import Anchor
from bylaw.audit.entry import LogEntry
from bylaw.audit.reader import LogReader
from bylaw.audit.seal import CheckingKey, SealMethod
from bylaw.frozen import frozen
from bylaw.opening import open_regular

LogState: TypeAlias = Literal["intact", "torn", "altered"]
"""Intact: nothing but entries, each following the one before it. Torn: then the beginning of
another, which was not acknowledged if a crash left it. Altered: not as it was written."""


@frozen
class OtherProcedure:
    """A run that was decided by another procedure than the log is checked against."""

    entry: int
    """The entry with which it starts, or is resumed."""
    run: str
    name: str
    """The name of its procedure."""
    hash: str
    """The hash of that procedure."""


@frozen
class LogCheck:
    """The result of checking a log."""

    entries: int
    """The number of intact entries, from the first."""
    head: str
    """The hash of the last of them."""
    first: str
    """The hash of the first of them."""
    good: int
    """The number of intact bytes."""
    torn: int
    """The number of bytes of a torn tail after them."""
    problem: str | None
    """The first problem found, other than a torn tail."""
    sealed_by: SealMethod | None
    key: str | None
    """The id of the key that entries are sealed with."""
    seals_checked: bool
    closed: bool
    """Is the last entry that of an orderly end?"""
    interruptions: int
    """The number of times that the log was opened again without having been closed."""
    set_aside: tuple[str, ...]
    """The files that torn tails were set aside in."""
    runs: int
    """The number of times that a run was started or resumed."""
    other_procedures: int
    """The number of these under another procedure than the given one; 0 if none was given."""
    other_procedure: OtherProcedure | None
    """The first of them."""

    @property
    def state(self) -> LogState:
        """The state of the log."""
        return "altered" if self.problem else "torn" if self.torn or not self.entries else "intact"

    @property
    def anchor(self) -> Anchor:
        """The anchor for the intact entries, taken now."""
        return Anchor.taken_now(self.first, self.entries, self.head)


def check(
    path: str | Path,
    *,
    key: CheckingKey | None = None,
    anchors: Sequence[Anchor] = (),
    procedure: str | None = None,
) -> LogCheck:
    """Reads a log from its beginning, and checks it.

    With a key, every seal is checked, too. Each anchor must be of an entry in the log. With the
    hash of a procedure, runs under another one are counted. An OSError is raised if the file cannot
    be read, and a LogError if it is not a log.
    """
    with open_regular(path) as file:
        reader = LogReader(file, path, key)
        return check_file(
            reader, checks_seals=key is not None, anchors=anchors, procedure=procedure
        )


def check_file(
    reader: LogReader,
    *,
    checks_seals: bool = False,
    anchors: Sequence[Anchor] = (),
    procedure: str | None = None,
) -> LogCheck:
    """Checks the log that a reader is at the beginning of."""
    closed, interruptions, runs, others = False, 0, 0, 0
    other: OtherProcedure | None = None
    set_aside: list[str] = []
    heads = {anchor.entries: "" for anchor in anchors}
    for entry in reader.entries():
        interruptions += entry.kind == "open" and entry.number > 0 and not closed
        closed = entry.kind == "close"
        if entry.kind == "open" and isinstance(torn := entry.content.get("torn"), dict):
            set_aside.append(str(torn.get("file")))
        if entry.number + 1 in heads:
            heads[entry.number + 1] = entry.hash
        if entry.kind in ("start", "resume"):
            runs += 1
            if procedure not in (None, entry.content.get("procedure_hash")):
                others += 1
                other = other or _other_procedure(entry)
    problem = reader.problem
    for anchor in anchors:
        problem = problem or _anchor_problem(anchor, reader, heads[anchor.entries])
    return LogCheck(
        entries=reader.number,
        head=reader.head,
        first=reader.first,
        good=reader.good,
        torn=len(reader.tail),
        problem=problem,
        sealed_by=reader.method,
        key=reader.key_id,
        seals_checked=checks_seals,
        closed=closed,
        interruptions=interruptions,
        set_aside=tuple(set_aside),
        runs=runs,
        other_procedures=others,
        other_procedure=other,
    )


def _other_procedure(entry: LogEntry) -> OtherProcedure:
    said = (str(entry.content.get(name)) for name in ("run", "procedure", "procedure_hash"))
    return OtherProcedure(entry.number, *said)


def _anchor_problem(anchor: Anchor, reader: LogReader, head: str) -> str | None:
    if reader.number < anchor.entries:
        held = "1 entry" if reader.number == 1 else f"{reader.number:,} entries"
        return f"it was cut: it has {held}, and had {anchor.entries:,} when the anchor was taken"
    if head == anchor.head:
        return None
    if reader.first != anchor.log:
        return "it is not the log that the anchor was taken of, or was rewritten from its beginning"
    return f"it was rewritten: entry {anchor.entries - 1} is not the one that the anchor names"
