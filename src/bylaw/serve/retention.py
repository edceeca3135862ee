"""Retention: a thread that deletes runs some time after they have finished.

A run is deleted as a whole: its entries, its snapshot and its row. What others need of it is
elsewhere: calls that rules across runs have seen are in the streams of those rules, and these are
kept. A run that has not finished is kept, too, however old it is: a call in it may be outstanding.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from bylaw.enforcement.validation import unusable
from bylaw.errors import BylawError

if TYPE_CHECKING:
    from bylaw.serve.resident import ResidentGate

DAY: Final = 86_400.0
SHORTEST: Final = 3600.0
"""The shortest time for which finished runs are kept, in seconds.

It must be much longer than the time for which a replica may not know that a run has finished, and
than the difference between the clocks of replicas.
"""
EVERY: Final = 60.0
"""The time between two looks for old runs, in seconds."""
BATCH: Final = 200
"""The most runs that are deleted in one transaction: others wait for it."""


class RunRetention(threading.Thread):
    """Deletes old runs until it is stopped."""

    def __init__(self, gate: ResidentGate, keep: float) -> None:
        if not keep >= SHORTEST:
            raise unusable(f"runs cannot be kept for {keep:g} s", f"At least {SHORTEST:g} s.")
        super().__init__(name="bylaw-retention", daemon=True)
        self._gate: Final = gate
        self._keep: Final = keep
        self._stopped: Final = threading.Event()

    def run(self) -> None:
        """Looks for old runs now and then."""
        while True:
            try:
                self._sweep()
            except BylawError:  # the store will be back
                self._gate.metrics.store_failed()
            if self._stopped.wait(EVERY):
                return

    def _sweep(self) -> None:
        deleted = BATCH
        while deleted == BATCH and not self._stopped.is_set():
            deleted = self._gate.store.delete_finished(self._gate.clock() - self._keep, BATCH)
            self._gate.metrics.deleted(deleted)

    def stop(self) -> None:
        """Returns when the batch that is being deleted is done."""
        self._stopped.set()
        self.join()
