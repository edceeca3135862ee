"""A worker: one thread that decides the requests of some runs, and commits them together.

Requests that wait are taken as a batch. Each is decided, all are committed in one transaction, and
only then is anybody told. A run belongs to one worker, so nothing else uses its guard.

If another replica was first, the run in memory is out of date: it is recovered from the store, and
the request is decided again. If the store fails, nobody knows what it holds: the runs concerned are
forgotten, the requests are refused, and the next one recovers what was committed.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from bylaw.enforcement.shared.table import StreamKey
from bylaw.errors import BylawError, Diagnostic, UsageError
from bylaw.serve.operations import OPERATIONS, RunOperation
from bylaw.serve.resident_run import ResidentRun, RunOpening
from bylaw.serve.tickets import Answered, Principal, Ticket
from bylaw.store.store import Append, StoreError, store_failed, stream_of
from bylaw.values import Json, equal

if TYPE_CHECKING:
    from bylaw.serve.resident import ResidentGate

MAX_BATCH: Final = 128
"""The most requests that are committed together."""
FLUSH_AFTER: Final = 0.005
"""The time after which a batch is committed although more requests wait, in seconds."""
MAX_TRIES: Final = 50
"""The number of times that a request is decided if other replicas keep being first."""
LEASE: Final = 2.0
"""The time for which a replica expects no other to serve a run that it has served, in seconds.

It saves a query. If another replica serves the run all the same, the store refuses the entry.
"""
SWEEP: Final = 1.0
"""The time between two looks at the deadlines of rules, in seconds."""


class _Pending(NamedTuple):
    """A request that is decided, but not committed."""

    ticket: Ticket
    live: ResidentRun
    answer: dict[str, Json]
    append: Append | None
    """None if nothing is to be stored: the answer only waits for what it depends on."""


class Worker(threading.Thread):
    """The thread, its queue, and the runs that it has in memory: the latest ones used."""

    def __init__(self, gate: ResidentGate, number: int, max_live: int) -> None:
        super().__init__(name=f"bylaw-worker-{number}", daemon=True)
        self._gate: Final = gate
        self._max_live: Final = max_live
        self.queue: Final[SimpleQueue[Ticket | None]] = SimpleQueue()
        self.live: Final[OrderedDict[str, ResidentRun]] = OrderedDict()
        """The runs in memory, the latest used last."""
        self._pending: list[_Pending] = []
        """Requests that are decided and not committed, of one run each."""
        self._touched: Final[set[str | StreamKey]] = set()
        """The runs of these requests, and the streams that they share with others."""

    def run(self) -> None:
        """Serves until None is in the queue. What waits before it is served."""
        swept = time.monotonic()
        stopping = False
        while not stopping:
            batch: deque[Ticket] = deque()
            try:
                while len(batch) < MAX_BATCH and not stopping:
                    ticket = self.queue.get_nowait() if batch else self.queue.get(timeout=SWEEP)
                    if ticket is None:
                        stopping = True
                    else:
                        batch.append(ticket)
            except Empty:
                pass
            self._serve(batch)
            if not stopping and time.monotonic() - swept >= SWEEP:
                swept = time.monotonic()
                self._serve(self._overdue())

    def _overdue(self) -> list[Ticket]:
        """Requests that let time pass in runs whose deadlines are over."""
        now, due = self._gate.clock(), []
        if self._gate.has_deadlines:
            for run, live in self.live.items():
                deadline = live.guard.next_deadline
                if deadline is not None and deadline < now:
                    owner = Principal(live.opened.principal)
                    never = float("inf")
                    due.append(Ticket(owner, run, OPERATIONS["tick"], {}, None, never))
        return due

    # ── a batch ──────────────────────────────────────────────────────────────────────────

    def _serve(self, tickets: Iterable[Ticket]) -> None:
        waiting = deque(tickets)
        begun = time.monotonic()
        while waiting or self._pending:
            if not waiting or time.monotonic() - begun > FLUSH_AFTER:
                waiting.extendleft(reversed(self._commit()))
                begun = time.monotonic()
            elif self._depends(waiting[0]):
                # It would be decided on top of what may not be committed.
                waiting.extendleft(reversed(self._commit()))
            else:
                self._decide(waiting.popleft())

    def _depends(self, ticket: Ticket) -> bool:
        """May this request depend on one that is not committed yet?

        It does if that one is of the same run, or of one that shares a stream of rules across runs.
        """
        if not self._pending:
            return False
        if self._gate.across is None:
            return ticket.run in self._touched
        live = self.live.get(ticket.run)  # otherwise its labels are not known yet
        return live is None or not self._touched.isdisjoint(self._touches(live))

    def _touches(self, live: ResidentRun) -> list[str | StreamKey]:
        """A run, and the streams of rules across runs that it shares with others."""
        across = self._gate.across
        keys = [] if across is None else across.rules.keys(live.opened.labels)
        return [live.opened.run, *keys]

    def _wait(self, pending: _Pending) -> None:
        """A request is decided, and waits for its commit."""
        self._pending.append(pending)
        self._touched.update(self._touches(pending.live))

    def _decide(self, ticket: Ticket) -> None:
        """Decides a request. It is answered now, or when the batch is committed."""
        if time.monotonic() > ticket.deadline:
            self._tell(ticket, store_failed("the request waited too long", "Nothing was done."))
            return
        try:
            if ticket.operation is None:
                self._open(ticket)
            else:
                self._perform(ticket, ticket.operation)
        except BylawError as error:
            if not self._forget(ticket) or ticket.confirmed:
                self._tell(ticket, error)
            else:  # perhaps only because another replica has changed the run since
                ticket.confirmed = True
                self._decide(ticket)
        except Exception as error:  # a mistake in bylaw, or in a function of the vocabulary
            self._forget(ticket)
            self._tell(ticket, _unexpected(error))

    def _open(self, ticket: Ticket) -> None:
        """Opens a run, or finds it: its id is derived from what it is opened for."""
        live = self._found(ticket.run, fresh=True)
        if live is not None:
            _check_owner(live, ticket)
            _check_same(live, ticket)
            self._wait(_Pending(ticket, live, live.state(), None))
            return
        at, rules = self._gate.clock(), self._gate.procedure_hash
        tables = {name: ticket.given.get(name) or {} for name in ("labels", "metrics")}
        opened = RunOpening(
            ticket.run, ticket.principal.name, at, rules, self._gate.guard_options, **tables
        )
        across = self._gate.across
        if across is not None:
            across.begin(opened.labels)
        shared = None if across is None else across.rules
        live = ResidentRun(opened, self._gate.procedure, self._gate.sealer, shared)
        append = live.append(live.begin(), self._gate.replica, across)
        self._keep(live)
        self._wait(_Pending(ticket, live, live.state(), append))

    def _perform(self, ticket: Ticket, operation: RunOperation) -> None:
        live = self._found(ticket.run, fresh=not operation.changes)
        if live is None:
            raise unknown_run(ticket.run)
        _check_owner(live, ticket)
        if operation.who == "person" and not ticket.principal.person:
            raise forbidden("only a person may do this", "Use a person's token.")
        if ticket.key is not None:
            known = live.repeated(ticket.key, operation.name, ticket.given)
            if known is not None:
                self._wait(_Pending(ticket, live, known, None))
                return
        if not operation.changes:
            answer = operation.perform(live, ticket.given)
            self._wait(_Pending(ticket, live, answer, None))
            return
        answer, entry = live.perform(operation, ticket.given, self._gate.clock(), ticket.key)
        append = live.append(entry, self._gate.replica, self._gate.across)
        self._wait(_Pending(ticket, live, answer, append))

    def _commit(self) -> list[Ticket]:
        """Commits what is decided, and answers. Returns the requests to be decided again."""
        pending, self._pending = self._pending, []
        self._touched.clear()
        appends = [each.append for each in pending if each.append is not None]
        begun = time.perf_counter()
        try:
            first = iter(self._gate.store.append(appends) if appends else [])
        except Exception as error:  # whatever it is, nobody knows what was committed
            told = error if isinstance(error, BylawError) else _unexpected(error)
            for each in pending:
                self._forget(each.ticket)
            self._gate.metrics.store_failed()
            Ticket.deliver([(each.ticket, told) for each in pending])
            return []
        if appends:
            self._gate.metrics.committed(len(appends), time.perf_counter() - begun)
        fresh_until = time.monotonic() + LEASE
        again: list[Ticket] = []
        answered: list[tuple[Ticket, Answered]] = []
        for each in pending:
            if each.append is None:
                answered.append((each.ticket, each.answer))
            elif next(first):
                each.live.fresh_until = fresh_until
                answered.append((each.ticket, each.answer))
                self._gate.published(each.append, each.answer)
                if each.live.closing is not None:
                    self.live.pop(each.ticket.run, None)
            else:
                self._forget(each.ticket)
                self._gate.metrics.conflicted()
                again += self._retried(each.ticket)
        Ticket.deliver(answered)
        return again

    def _retried(self, ticket: Ticket) -> list[Ticket]:
        ticket.tries += 1
        if ticket.tries < MAX_TRIES:
            return [ticket]
        self._tell(ticket, store_failed("other replicas kept changing the run", "Try again."))
        return []

    def _tell(self, ticket: Ticket, outcome: Answered) -> None:
        Ticket.deliver([(ticket, outcome)])

    # ── the runs in memory ───────────────────────────────────────────────────────────────

    def _found(self, run: str, *, fresh: bool) -> ResidentRun | None:
        """A run, up to date as far as this replica knows; None if there is none.

        With `fresh`, the store is asked in any case.
        """
        live = self.live.get(run)
        if live is None:
            live = self._recovered(run)
            if live is not None:
                self._keep(live)
        else:
            self.live.move_to_end(run)
            if self._gate.across is not None:
                live = self._with_shared_rules(live)
            elif fresh or live.fresh_until < time.monotonic():
                live = self._caught_up(live)
        return live

    def _with_shared_rules(self, live: ResidentRun) -> ResidentRun | None:
        """A run that shares rules, with these rules as they are now."""
        assert self._gate.across is not None, "there are such rules"
        if self._news(live) != []:  # another replica has served it, or it was deleted
            self.live.pop(live.opened.run)
            return self._found(live.opened.run, fresh=True)
        self._gate.across.begin(live.opened.labels)
        return live

    def _caught_up(self, live: ResidentRun) -> ResidentRun | None:
        """A run with what other replicas have stored since; None if it was deleted."""
        news = self._news(live)
        if news is None:
            self.live.pop(live.opened.run)
            return self._found(live.opened.run, fresh=True)  # perhaps it was opened again
        for entry in news:
            live.replay(entry)
        return live

    def _news(self, live: ResidentRun) -> list[str] | None:
        """The entries of a run since the latest that is known; None if that one is gone.

        A run is deleted days after it has finished. Somebody who looks before that finds the end
        of the run, and somebody who looks later finds nothing.
        """
        latest, *news = self._gate.store.read(live.stream, live.number - 1) or [""]
        return news if latest.partition(" ")[0] == live.seal else None

    def _recovered(self, run: str) -> ResidentRun | None:
        """A run from the store: its snapshot, and the entries since."""
        gate, stream = self._gate, stream_of(run)
        begun = time.perf_counter()
        if (found := gate.store.snapshot(stream)) is not None:
            live = ResidentRun.restored(run, *found, gate.procedure, gate.sealer, gate.across)
            entries = gate.store.read(stream, live.number)
        else:
            entries = gate.store.read(stream)
            if not entries:
                return None
            live = ResidentRun.reopened(run, entries.pop(0), gate.procedure, gate.sealer)
        if entries and gate.across is not None:
            # Another replica has served the run between the two looks: its snapshot is newer.
            return self._recovered(run)
        for entry in entries:
            live.replay(entry)
        gate.metrics.recovered(time.perf_counter() - begun)
        return live

    def _forget(self, ticket: Ticket) -> bool:
        """Drops a run that may be half changed, or out of date. False if it was not in memory."""
        live = self.live.pop(ticket.run, None)
        across = self._gate.across
        if across is not None:
            labels = ticket.given.get("labels") if live is None else live.opened.labels
            with suppress(BylawError):  # the labels may be the mistake
                across.forget(across.rules.keys(labels or {}))
        return live is not None

    def _keep(self, live: ResidentRun) -> None:
        """Keeps a run in memory; the one that was idle longest makes room.

        Nothing is lost: all of it is in the store.
        """
        self.live[live.opened.run] = live
        while len(self.live) > self._max_live:
            self.live.popitem(last=False)


def _check_owner(live: ResidentRun, ticket: Ticket) -> None:
    """Whose run is it? A run of somebody else's does not exist, except for persons."""
    if live.opened.principal != ticket.principal.name:
        operation = ticket.operation
        if not ticket.principal.person or operation is None:
            raise unknown_run(ticket.run)
        if operation.who == "agent":
            raise forbidden("only whoever opened the run may do this", "Persons approve and deny.")


def _check_same(live: ResidentRun, ticket: Ticket) -> None:
    """Is the run that was found the one that was meant? One of another customer is not."""
    opened = {"labels": live.opened.labels, "metrics": live.opened.metrics}
    for name, given in ticket.given.items():
        if given and not equal(given, opened[name]):
            message = f"the run was opened under this key with other {name}"
            raise UsageError(Diagnostic("E456", message, "Make a new key for each run."))


def _unexpected(error: Exception) -> StoreError:
    message = f"unexpected {type(error).__name__}: {error}"
    return StoreError(Diagnostic("E457", message, "Nothing was allowed."))


def unknown_run(run: str) -> UsageError:
    """The error for a run that is not there, or that belongs to somebody else."""
    return UsageError(Diagnostic("E454", f"there is no run '{run}'", "Open one: POST /v1/runs."))


def forbidden(message: str, help: str) -> UsageError:
    """The error for an operation that somebody else may use."""
    return UsageError(Diagnostic("E455", message, help))
