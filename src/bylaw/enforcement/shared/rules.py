"""The rules across runs of a procedure, shared by all guards of its runs.

`SharedRules` has one stream for each value of a label. All guards that share it decide under its
one lock, so that no two of them can wait for each other. Its state can be saved as a whole, or kept
by a store: every change is passed on as an entry, and a stream is rebuilt by replaying its entries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from bylaw.enforcement.seal import check_key, check_seal, seal
from bylaw.enforcement.shared.entries import StreamEntry
from bylaw.enforcement.shared.stream import AcrossStream, OutstandingCall
from bylaw.enforcement.shared.table import StreamKey, StreamTable, damaged, replay_entry
from bylaw.enforcement.validation import (
    checked_time,
    unusable,
)
from bylaw.errors import UsageError
from bylaw.plain import NotJson, rebuilt
from bylaw.procedure.across import LABELS
from bylaw.saved import Damaged, fields, listed, text
from bylaw.values import MAX_DEPTH, Json, canonical

if TYPE_CHECKING:
    from bylaw.enforcement.report import AcrossStanding

SAVED: Final = 1
"""The version of saved states."""
MAX_PARTS: Final = 1_000_000_000
"""The most parts of a saved state."""


class SharedRules(StreamTable):
    """The state of the rules across runs, for all guards that are made with it.

    `setting`, `outstanding` and `max_work` are those of the guards. A call of a run whose result
    never arrives is outstanding for all runs under its value. With `max_age`, it is given up after
    so many seconds, by the time of the guards: it has failed then. `abandon` does so at once.

    With a `store`, streams outlive the process: each new entry is appended while the lock is held,
    and a stream that is not in memory is rebuilt from its entries. If the store raises, no guard
    under that value allows anything more until `drop` was called, and the stream is read again.
    """

    # ── outstanding calls ────────────────────────────────────────────────────────────────

    def outstanding(self, labels: Mapping[str, Json]) -> list[OutstandingCall]:
        """The calls of all runs under the values of these labels whose results rules wait for."""
        with self.lock:
            return [each for key in self.keys(labels) for each in self.stream(*key).outstanding()]

    def abandon(self, call: OutstandingCall) -> None:
        """Gives up an outstanding call of any run: it has failed. Its guard may be gone."""
        with self.lock:
            stream = self.stream(call.label, call.value)
            if stream.inside is None:
                stream.give_up(call.at)

    def standings(self, labels: Mapping[str, Json]) -> list[AcrossStanding]:
        """The present standing of each rule for the values of these labels."""
        with self.lock:
            return [each for key in self.keys(labels) for each in self.stream(*key).standings()]

    def tick(self, labels: Mapping[str, Json], now: float) -> None:
        """Lets time pass for the values of these labels: old calls are given up."""
        now = checked_time("now", now)
        with self.lock:
            for key in self.keys(labels):
                self.give_up_old(self.stream(*key), now)
                self.stream(*key).tick(now)

    # ── a store ──────────────────────────────────────────────────────────────────────────

    def length(self, key: StreamKey) -> int:
        """The number of entries of a stream that this process knows."""
        with self.lock:
            return self.stream(*key).length

    def snapshot(self, key: StreamKey) -> dict[str, Json]:
        """The state of a stream as JSON, for a store that need not read all entries again.

        It includes the entries up to `length(key)`. It is not sealed: the store protects it.
        """
        with self.lock:
            stream = self.stream(*key)
            if stream.inside is not None:
                raise unusable("the stream was interrupted", "Drop it first: shared.drop(key).")
            return {"rules": self.fingerprint, "state": stream.save()}

    def drop(self, key: StreamKey) -> None:
        """Drops a stream from memory: it is read from the store when it is needed again."""
        if self._store is None:
            message = "a stream cannot be dropped: there is no store to read it from again"
            raise unusable(message, "Make the shared rules with a store, or `restore` them.")
        with self.lock:
            self._streams.pop(key, None)

    def replay(self, entries: Iterable[StreamEntry]) -> None:
        """Takes in entries that other processes have stored; those already known are skipped."""
        with self.lock:
            for entry in entries:
                stream = self.stream(entry.label, entry.value)
                if entry.number >= stream.length:
                    replay_entry(stream, entry)

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def _adopted(self, stream: AcrossStream) -> AcrossStream:
        """A restored stream, whose entries go to the store from now on."""
        stream.append = None if self._store is None else self._store.append
        return stream

    def save(self, *, key: bytes | None = None) -> dict[str, Json]:
        """The state of all streams as JSON, for `restore`. With a key, nobody can change it."""
        check_key(key)
        with self.lock:
            content = self._content()
        return {**json.loads(content), "seal": seal(content, key)}

    def _content(self) -> str:
        streams: Json = [each.save() for _, each in sorted(self._streams.items())]
        return canonical({"bylaw": SAVED, "rules": self.fingerprint, "streams": streams})

    def restore(self, saved: Mapping[str, Json], *, key: bytes | None = None) -> None:
        """Resumes a saved state. If it cannot be restored, everything stays as it is.

        It is restored before the runs that share it.
        """
        check_key(key)
        try:
            state = rebuilt(saved, max_parts=MAX_PARTS, max_depth=2 * MAX_DEPTH)
        except NotJson as error:
            raise damaged(f"it is not JSON: {error}") from None
        if type(state) is not dict or state.get("bylaw") != SAVED or "streams" not in state:
            raise damaged("it is not one, or of another version")
        content = canonical({k: v for k, v in state.items() if k != "seal"})
        if reason := check_seal(state.get("seal"), content, key):
            raise damaged(reason)
        known = SharedRules(  # without the store: nothing is read
            self.procedure,
            self.setting,
            outstanding=self.outstanding_mode,
            max_work=self._max_work,
        )
        try:
            _, _, streams, _ = fields(state, "bylaw", "rules", "streams", "seal")
            for each in listed(streams):
                found = each if type(each) is dict else {}
                label, value = text(found.get("label")), text(found.get("value"))
                if label not in self.procedure.across:
                    raise Damaged(f"no rule is across {LABELS}{label}")
                known.stream(label, value).restore(each)
            again = known._content()
        except (UsageError, Damaged) as error:
            raise damaged(str(error)) from None
        except Exception as error:  # a part that no check knows how to describe
            raise damaged(f"{type(error).__name__}: {error}") from None
        if again != content:
            raise damaged("it is of another procedure or setting, or its parts disagree")
        with self.lock:
            self._streams = {key: self._adopted(each) for key, each in known._streams.items()}
