"""The streams of a procedure, by label and value, and the store that keeps their entries."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Protocol, TypeAlias

from bylaw.enforcement.judge import OUTSTANDING, Judge, Outstanding
from bylaw.enforcement.severity import SETTINGS, Setting
from bylaw.enforcement.shared.entries import StreamEntry
from bylaw.enforcement.shared.judge import RuleParts, SharedJudge
from bylaw.enforcement.shared.stream import AcrossStream
from bylaw.enforcement.validation import check_choice, check_limit, check_procedure, unusable
from bylaw.errors import Diagnostic, UsageError, shown
from bylaw.procedure.across import LABELS, across_value
from bylaw.procedure.procedure import Procedure
from bylaw.saved import Damaged
from bylaw.values import Json, canonical

StreamKey: TypeAlias = tuple[str, str]
"""A label, and one of its values."""
MAX_WORK: Final = 1_000_000
"""The steps that one rule may take to judge one event."""


class StreamStore(Protocol):
    """Keeps the entries of streams. Its methods are called while the lock is held."""

    def read(self, label: str, value: str, after: int = -1) -> Iterable[StreamEntry]:
        """The entries of a stream after this number, in order; none if it is new."""

    def snapshot(self, label: str, value: str) -> Json:
        """The latest snapshot of a stream that was stored, or None; see `SharedRules.snapshot`."""

    def append(self, entry: StreamEntry) -> None:
        """Adds an entry, which must be the next of its stream.

        A decision is acknowledged when it returns. It may collect entries for a transaction that
        is committed before anybody learns of the decision.
        """


class StreamTable:
    """All streams of a procedure that are in memory."""

    def __init__(
        self,
        procedure: Procedure,
        setting: Setting = "as-written",
        *,
        outstanding: Outstanding = "refuse",
        max_work: int | None = MAX_WORK,
        max_age: float | None = None,
        store: StreamStore | None = None,
    ) -> None:
        check_procedure(procedure)
        check_choice("setting", setting, SETTINGS)
        check_choice("outstanding", outstanding, OUTSTANDING)
        check_limit("max_work", max_work)
        if max_age is not None and (type(max_age) not in (int, float) or not max_age > 0):
            help = "It is a number of seconds above 0, or None for no limit."
            raise unusable(f"max_age cannot be {shown(max_age)}", help)
        if not procedure.across:
            message = "no rule of the procedure judges runs together"
            raise unusable(message, f"Write `across: {LABELS}customer` for a rule that does.")
        self.procedure: Final = procedure
        self.setting: Final[Setting] = setting
        self.outstanding_mode: Final[Outstanding] = outstanding
        self.max_age: Final = max_age
        self._max_work: Final = max_work
        self._store: Final = store
        self._streams: dict[StreamKey, AcrossStream] = {}
        self.lock: Final = threading.RLock()
        """Held by every change of a guard that shares these rules."""

    def keys(self, labels: Mapping[str, Json]) -> list[StreamKey]:
        """The streams of a run with these labels. It must have every label that rules are across.

        For example `[("customer", "c7")]`.
        """
        found = []
        for label in self.procedure.across:
            value = across_value(labels, label)
            if value is None:
                given = shown(labels[label]) if label in labels else "missing"
                message = f"the label '{label}', across which rules judge runs, is {given}"
                help = f'It is a text or a whole number: Guard(…, labels={{"{label}": "…"}}).'
                raise UsageError(Diagnostic("E422", message, help))
            found.append((label, value))
        return found

    def judge(self, labels: Mapping[str, Json], run_id: str, **rest: Any) -> SharedJudge:
        """The rules of a new run with these labels."""
        return SharedJudge(self, self.setting, labels, run_id, **rest)

    def check_guard(self, procedure: Procedure, setting: Setting, outstanding: Outstanding) -> None:
        """Raises a UsageError if a guard has another procedure or other settings."""
        same = procedure is self.procedure or procedure == self.procedure
        if not same or (setting, outstanding) != (self.setting, self.outstanding_mode):
            message = "the shared rules are of another procedure, setting or choice of outstanding"
            help = "Make them with what the guards are made with: SharedRules(procedure, setting)."
            raise UsageError(Diagnostic("E422", message, help))

    def stream(self, label: str, value: str) -> AcrossStream:
        """The stream of a value. Not thread-safe: the caller holds the lock."""
        found = self._streams.get((label, value))
        if found is None:
            found = self._new_stream(label, value)
            if self._store is not None:
                self._resume(found, self._store.snapshot(label, value))
                for entry in self._store.read(label, value, after=found.length - 1):
                    replay_entry(found, entry)
            self._streams[label, value] = found
        return found

    def _resume(self, stream: AcrossStream, snapshot: Json) -> None:
        """Takes up a snapshot. One of other rules is not used: the entries are replayed."""
        if type(snapshot) is not dict or snapshot.get("rules") != self.fingerprint:
            return
        state = snapshot.get("state")
        try:
            stream.restore(state)
        except Exception as error:  # a part that no check knows how to describe
            raise damaged(f"a snapshot cannot be used: {error}") from None
        if canonical(stream.save()) != canonical(state) or stream.inside is not None:
            raise damaged("the parts of a snapshot contradict each other")

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what the state of a stream depends on: the rules and the settings."""
        rules: Json = [self.procedure.to_dict(), self.setting, self.outstanding_mode]
        return sha256(canonical(rules).encode()).hexdigest()

    def _new_stream(self, label: str, value: str) -> AcrossStream:
        procedure = self.procedure
        judge = Judge(
            procedure,
            self.setting,
            {label: value},
            outstanding=self.outstanding_mode,
            max_work=self._max_work,
            part=procedure.derived(RuleParts).of[label],
        )
        rules = [rule for rule in procedure.constraints if rule.across == label]
        hears = any(procedure.events_of(rule) == "all" for rule in rules)
        append = None if self._store is None else self._store.append
        return AcrossStream(label, value, judge, hears=hears, append=append)

    def give_up_old(self, stream: AcrossStream, now: float) -> None:
        """Gives up the calls that started too long ago. The caller holds the lock."""
        if self.max_age is not None and stream.waiting:
            for each in stream.outstanding():
                if each.call.start is not None and each.call.start + self.max_age < now:
                    stream.give_up(each.at)


def replay_entry(stream: AcrossStream, entry: StreamEntry) -> None:
    """Takes in a stored entry. If that fails, the stream allows nothing until it is dropped."""
    try:
        if stream.inside is not None:
            raise Damaged(f"`{stream.inside}` was interrupted")
        stream.replay(entry)
    except Exception as error:
        stream.inside = stream.inside or "replay"
        raise damaged(f"{stream.label} {stream.value!r}: {error}") from None


def damaged(reason: str) -> UsageError:
    """The error for a state or an entry that cannot be used."""
    help = "Restore what `save` returned, unchanged, with the key that it was given."
    message = f"the saved rules across runs cannot be restored: {reason}"
    return UsageError(Diagnostic("E417", message, help))
