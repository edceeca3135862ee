"""The resident gate: many runs under one procedure, whose state is in a store.

    gate = ResidentGate(procedure, open_store("sqlite:gate.db"))
    run = gate.open(Principal("desk"), trusted="session-7")
    answer = gate.perform(Principal("desk"), run, "propose", {"calls": [{"tool": "search"}]})

Whoever calls these methods must have established who the principal is. A run is opened for a key
that the transport vouches for, such as the id of a session, or for a fresh one. The id of the run
is derived from the principal and that key: the same key finds the same run, in any replica and
after any crash, and nobody can name a run of somebody else.

Every method fails closed: if anything is raised, nothing was allowed.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from bylaw.enforcement.guard import Guard
from bylaw.enforcement.run_log import procedure_hash
from bylaw.enforcement.severity import Unenforceable
from bylaw.enforcement.shared.rules import SharedRules
from bylaw.enforcement.validation import unusable
from bylaw.errors import did_you_mean
from bylaw.procedure.procedure import Procedure
from bylaw.serve.across_store import AcrossStreams
from bylaw.serve.counts import GateCounts
from bylaw.serve.operations import OPENING, OPERATIONS, checked_fields, checked_input
from bylaw.serve.retention import RunRetention
from bylaw.serve.sealing import Sealer
from bylaw.serve.tickets import Principal, Ticket
from bylaw.serve.worker import Worker
from bylaw.store.store import Append, GateStore, RunRow, store_failed
from bylaw.trace.refusal_mark import RUN_ID
from bylaw.values import Json, canonical

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

MAX_LIVE: Final = 4000
"""The runs that are kept in memory. Others are recovered when they are used."""
TIMEOUT: Final = 10.0
"""The time that a request may take, in seconds."""
MAX_KEY: Final = 200
"""The length of a key, in characters."""
WORKERS: Final = 2
"""The threads that decide. Decisions of Python code do not run in parallel: more of them only keep
a slow rule of one run from delaying all the others."""


class ResidentGate:
    """Serves many runs of one procedure. Any thread may use it.

    `guard` has options of the guards: the setting, the hints, limits. `key` seals what is stored:
    at least 16 secret bytes, the same in every replica. For rules across runs, a call whose result
    has not arrived after `give_up` seconds has failed. Runs are deleted `keep` seconds after they
    finished; without it, none is. `clock` returns the time in seconds since 1970, UTC.
    """

    def __init__(
        self,
        procedure: Procedure,
        store: GateStore,
        *,
        guard: Mapping[str, Any] | None = None,
        unenforceable: Unenforceable = "error",
        key: bytes | None = None,
        max_live: int = MAX_LIVE,
        workers: int = WORKERS,
        timeout: float = TIMEOUT,
        give_up: float | None = None,
        keep: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.procedure: Final = procedure
        self.store: Final = store
        self.guard_options: Final = dict(guard or {})
        self.clock: Final = clock
        sample = self._sample(unenforceable)
        sample.save(key=key)  # a key that cannot be used is found now
        self.has_deadlines: Final = sample.has_deadlines
        self.procedure_hash: Final = procedure.derived(procedure_hash)
        self.sealer: Final = Sealer(key)
        self.across: Final = (
            AcrossStreams(procedure, store, self.sealer, self.guard_options, give_up)
            if procedure.across
            else None
        )
        """The state of rules across runs, if there are such rules."""
        self.timeout: Final = timeout
        self.replica: Final = os.urandom(8).hex()
        """A name for this process, in the rows of the runs that it serves."""
        self.metrics: Final = GateCounts()
        self.listeners: Final[list[Callable[[RunRow], None]]] = []
        """Functions that a worker calls with the row of each run that it has changed."""
        workers = workers if self.across is None else 1  # one thread has all the streams
        each = max(1, max_live // workers)
        self._workers: Final = [Worker(self, number, each) for number in range(workers)]
        self._retention: Final = None if keep is None else RunRetention(self, keep)
        self._closing = False
        for worker in self._workers:
            worker.start()
        if self._retention is not None:
            self._retention.start()

    def _sample(self, unenforceable: Unenforceable) -> Guard:
        """A guard like those of the runs: whatever is wrong with the procedure is found now."""
        options: dict[str, Any] = dict(self.guard_options)
        if self.procedure.across:
            settings = {k: options[k] for k in ("setting", "outstanding") if k in options}
            options["shared"] = SharedRules(self.procedure, **settings)
            options["labels"] = dict.fromkeys(self.procedure.across, "any")
        return Guard(self.procedure, unenforceable=unenforceable, clock=self.clock, **options)

    # ── opening ──────────────────────────────────────────────────────────────────────────

    def run_id(self, principal: Principal, trusted: str) -> str:
        """The id of the run that this principal has under a key that the transport vouches for."""
        _check_key("the key of a run", trusted)
        parts = canonical(["run", principal.name, trusted])
        return hashlib.sha256(parts.encode()).hexdigest()[:32]

    def open(
        self,
        principal: Principal,
        given: Mapping[str, Json] | None = None,
        *,
        trusted: str | None = None,
    ) -> str:
        """Opens a run, or finds the one that was opened under this key; returns its id.

        `given` has the labels and the metrics of a new run. Without a key, the run is new.
        """
        ticket = self._opening(principal, given or {}, trusted, None)
        self._wait(ticket)
        return ticket.run

    async def open_async(
        self,
        principal: Principal,
        given: Mapping[str, Json] | None = None,
        *,
        trusted: str | None = None,
    ) -> dict[str, Json]:
        """As `open`, without blocking the event loop; returns the state of the run."""
        import asyncio

        loop = asyncio.get_running_loop()
        return await self._await(self._opening(principal, given or {}, trusted, loop))

    def _opening(
        self,
        principal: Principal,
        given: Mapping[str, Json],
        trusted: str | None,
        loop: AbstractEventLoop | None,
    ) -> Ticket:
        given = checked_fields(OPENING, "open", dict(given))
        run = self.run_id(principal, os.urandom(16).hex() if trusted is None else trusted)
        return self._submit(Ticket(principal, run, None, given, None, self._deadline(), loop))

    # ── operations ───────────────────────────────────────────────────────────────────────

    def perform(
        self,
        principal: Principal,
        run: str,
        operation: str,
        given: Mapping[str, Json] | None = None,
        *,
        key: str | None = None,
    ) -> dict[str, Json]:
        """Performs an operation on a run, and returns when it is committed.

        A request that is repeated under the same `key` is not performed again, and gets the same
        answer.
        """
        return self._wait(self._operation(principal, run, operation, given or {}, key, None))

    async def perform_async(
        self,
        principal: Principal,
        run: str,
        operation: str,
        given: Mapping[str, Json] | None = None,
        *,
        key: str | None = None,
    ) -> dict[str, Json]:
        """As `perform`, without blocking the event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        return await self._await(self._operation(principal, run, operation, given or {}, key, loop))

    def _operation(
        self,
        principal: Principal,
        run: str,
        name: str,
        given: Mapping[str, Json],
        key: str | None,
        loop: AbstractEventLoop | None,
    ) -> Ticket:
        operation = OPERATIONS.get(name)
        if operation is None:
            help = did_you_mean(name, OPERATIONS) or f"They are: {', '.join(OPERATIONS)}."
            raise unusable(f"there is no operation '{name}'", help)
        if not RUN_ID.fullmatch(run):
            raise unusable("the id of a run is not one", "Use the id that opening it returned.")
        if key is not None:
            _check_key("an idempotency key", key)
        given = checked_input(operation, dict(given))
        return self._submit(Ticket(principal, run, operation, given, key, self._deadline(), loop))

    # ── waiting ──────────────────────────────────────────────────────────────────────────

    def _deadline(self) -> float:
        return time.monotonic() + self.timeout

    def _submit(self, ticket: Ticket) -> Ticket:
        if self._closing:
            raise store_failed("the gate is shutting down", "Ask another replica, or wait.")
        self._workers[crc32(ticket.run.encode()) % len(self._workers)].queue.put(ticket)
        return ticket

    def _wait(self, ticket: Ticket) -> dict[str, Json]:
        outcome = ticket.wait(self.timeout)
        if outcome is None:
            raise self._too_slow()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _await(self, ticket: Ticket) -> dict[str, Json]:
        late = ticket.expire_after(self.timeout, self._too_slow)
        try:
            return await ticket.future
        finally:
            late.cancel()

    def _too_slow(self) -> Exception:
        message = f"the request was not decided within {self.timeout:g} s"
        return store_failed(message, "Repeat it with the same idempotency key.")

    # ── lists, and the end ───────────────────────────────────────────────────────────────

    def published(self, append: Append, answer: Mapping[str, Json]) -> None:
        """A worker has committed a change."""
        if "decisions" in answer:
            self.metrics.decided(answer["decisions"])
        if append.row is not None:
            for listener in self.listeners:
                listener(append.row)

    def gauges(self) -> dict[str, tuple[str, int]]:
        """Some numbers of now, each with what it is."""
        live = sum(len(worker.live) for worker in self._workers)
        waiting = sum(worker.queue.qsize() for worker in self._workers)
        return {
            "resident_runs": ("Runs in memory.", live),
            "waiting_requests": ("Requests that wait for a worker.", waiting),
        }

    def close(self, timeout: float = TIMEOUT) -> None:
        """Refuses new requests, serves those that wait, and closes the store."""
        self._closing = True
        for worker in self._workers:
            worker.queue.put(None)
        if self._retention is not None:
            self._retention.stop()
        end = time.monotonic() + timeout
        for worker in self._workers:
            worker.join(max(0.0, end - time.monotonic()))
        self.store.close()


def _check_key(what: str, key: str) -> None:
    if not 0 < len(key) <= MAX_KEY:
        raise unusable(f"{what} cannot be {len(key)} characters long", f"At most {MAX_KEY}.")
