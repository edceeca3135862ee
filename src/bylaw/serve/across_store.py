"""Rules across runs at a resident gate: their streams are in the store, beside those of the runs.

The entries that one operation adds to a stream are stored together with the operation, in one
transaction: all of them or none. Before each operation, what other replicas have added is read. If
one of them adds something in between, the store refuses the whole operation, and it is decided
again. So runs of one customer, at any replicas, are decided as if they were one long run.

A run that shares rules cannot be recovered by replaying its inputs, because they were decided on
what other runs had done. Such a run has a snapshot with every operation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from bylaw.enforcement.shared.entries import StreamEntry
from bylaw.enforcement.shared.rules import SharedRules
from bylaw.enforcement.shared.table import StreamKey
from bylaw.procedure.procedure import Procedure
from bylaw.saved import Damaged
from bylaw.serve.sealing import Sealer, unrecoverable
from bylaw.store.store import GateStore
from bylaw.values import Json, canonical, read_json

SNAPSHOT_EVERY: Final = 64
"""The operations after which a stream has a new snapshot."""


class _Place:
    """The extent of a stream that this process knows."""

    def __init__(self) -> None:
        self.number = -1
        """The number of the latest stored bundle of entries."""
        self.seal = ""
        self.snapshot_number = 0


class AcrossStreams:
    """The shared rules of a gate, and where their entries are. Not thread-safe: one worker."""

    def __init__(
        self,
        procedure: Procedure,
        store: GateStore,
        sealer: Sealer,
        guard: Mapping[str, Any],
        max_age: float | None,
    ) -> None:
        self._store: Final = store
        self._sealer: Final = sealer
        self._places: Final[dict[StreamKey, _Place]] = {}
        self._collected: list[StreamEntry] = []
        settings = {name: guard[name] for name in ("setting", "outstanding") if name in guard}
        self.rules: Final = SharedRules(procedure, **settings, max_age=max_age, store=self)

    # ── as the shared rules see it ───────────────────────────────────────────────────────

    def append(self, entry: StreamEntry) -> None:
        """Collects an entry of the operation that is being decided."""
        self._collected.append(entry)

    def snapshot(self, label: str, value: str) -> Json:
        """The latest snapshot of a stream that is taken up; its place is that of the snapshot."""
        stream = _name(label, value)
        place = self._places[label, value] = _Place()
        found = self._store.snapshot(stream)
        if found is None:
            return None
        number, text = found
        state = read_json(self._sealer.opened(text, stream, "snapshot", str(number))[1])
        place.number, place.seal, place.snapshot_number = number, state["seal"], number
        return state["stream"]

    def read(self, label: str, value: str, after: int = -1) -> Iterable[StreamEntry]:
        """The entries of a stream after this one."""
        if after < 0:  # there is no snapshot, or it was not used
            self._places[label, value] = _Place()
        return [each for each in self._news(label, value) if each.number > after]

    def _news(self, label: str, value: str) -> list[StreamEntry]:
        """The entries that were stored since this process looked."""
        stream, place, found = _name(label, value), self._places[label, value], []
        for text in self._store.read(stream, place.number):
            number = place.number + 1
            seal, body = self._sealer.opened(text, stream, str(number), place.seal)
            place.number, place.seal = number, seal
            try:
                found += [StreamEntry.from_dict(each) for each in read_json(body)]
            except Damaged as error:
                raise unrecoverable(stream, f"entry {number} cannot be read: {error}") from None
        return found

    # ── as a worker sees it ──────────────────────────────────────────────────────────────

    def begin(self, labels: Mapping[str, Json]) -> list[StreamKey]:
        """Brings the streams of a run up to date; returns their keys."""
        self._collected = []
        keys = self.rules.keys(labels)
        for key in keys:
            if key in self._places:
                self.rules.replay(self._news(*key))
            self.rules.length(key)  # a stream that is not in memory is read now
        return keys

    def bundles(self) -> tuple[list[tuple[str, int, str]], list[tuple[str, int, str]]]:
        """The additions of the operation, for the store: entries, and now and then snapshots."""
        bundles: dict[StreamKey, list[Json]] = {}
        for entry in self._collected:
            bundles.setdefault((entry.label, entry.value), []).append(entry.to_dict())
        self._collected = []
        entries, snapshots = [], []
        for key, some in bundles.items():
            stream, place = _name(*key), self._places[key]
            place.number += 1
            sealed = self._sealer.sealed(canonical(some), stream, str(place.number), place.seal)
            place.seal = sealed.partition(" ")[0]
            entries.append((stream, place.number, sealed))
            if place.number - place.snapshot_number >= SNAPSHOT_EVERY:
                place.snapshot_number = place.number
                state: Json = {"seal": place.seal, "stream": self.rules.snapshot(key)}
                context = (stream, "snapshot", str(place.number))
                text = self._sealer.sealed(canonical(state), *context)
                snapshots.append((stream, place.number, text))
        return entries, snapshots

    def forget(self, keys: Iterable[StreamKey]) -> None:
        """Drops streams whose state in memory may not be that in the store."""
        self._collected = []
        for key in keys:
            self._places.pop(key, None)
            self.rules.drop(key)


def _name(label: str, value: str) -> str:
    """The name of a stream: values may be long, and hold anything."""
    return f"across/{hashlib.sha256(canonical([label, value]).encode()).hexdigest()[:32]}"
