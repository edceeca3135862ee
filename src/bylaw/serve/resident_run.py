"""A run in memory: its guard, its place in its stream, and the answers that may be asked for again.

What is stored of an operation is its input, the time by the server's clock, and a digest of the
answer. Replaying the inputs at those times gives the same guard again, and the digests prove it: a
run that would now be decided differently (other code, other rules) is not resumed. Runs that share
rules with others are not replayed; see `across_store`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.run_log import procedure_hash
from bylaw.enforcement.shared.rules import SharedRules
from bylaw.enforcement.wire import decision_to_json
from bylaw.errors import BylawError, Diagnostic, UsageError, clipped
from bylaw.frozen import frozen
from bylaw.procedure.procedure import Procedure
from bylaw.serve.across_store import AcrossStreams
from bylaw.serve.operations import OPERATIONS, RunOperation
from bylaw.serve.sealing import Sealer, unrecoverable
from bylaw.store.store import Append, RunRow, stream_of
from bylaw.trace.refusal_mark import unmarked
from bylaw.values import Json, canonical, read_json

REMEMBERED: Final = 32
"""The latest answers of a run that a repeated request gets again."""
SHOWN_REFUSALS: Final = 5
"""The latest refusals in the summary of a run."""
SNAPSHOT_EVERY: Final = 64
"""The operations after which a run has a new snapshot, at the least."""
_CLIPPED: Final = 300
"""The longest text in a summary, in characters."""
_ASKED_CLIPPED: Final = 4000
"""The longest arguments of a call that a person is asked about, in characters."""


@frozen
class RunOpening:
    """The first entry of a run: what never changes."""

    run: str
    principal: str
    at: float
    procedure: str
    """The hash of the procedure."""
    guard: dict[str, Json]
    """The options of the guard."""
    labels: dict[str, Json]
    metrics: dict[str, Json]

    def to_json(self) -> dict[str, Json]:
        """The entry as JSON."""
        return {name: getattr(self, name) for name in self.__match_args__}


class ResidentRun:
    """One run. Not thread-safe: one worker uses it."""

    def __init__(
        self,
        opened: RunOpening,
        procedure: Procedure,
        sealer: Sealer,
        shared: SharedRules | None = None,
    ) -> None:
        if opened.procedure != procedure.derived(procedure_hash):
            message = "the run was opened under another procedure"
            help = "Serve it with the procedure that it was opened with, or open a new run."
            raise UsageError(Diagnostic("E453", message, help))
        self.opened: Final = opened
        self.stream: Final = stream_of(opened.run)
        self._sealer: Final = sealer
        self._shares: Final = shared is not None
        self.closing: dict[str, Json] | None = None
        """The report and the trace of a run that has finished."""
        self.at = opened.at
        """The time of the latest operation. It never goes back."""
        self.guard: Final = Guard(
            procedure,
            run_id=opened.run,
            labels=opened.labels,
            metrics=opened.metrics,
            clock=self._clock,
            unenforceable="score",  # the gate has checked the promises once
            shared=shared,
            **opened.guard,
        )
        self.number = -1
        """The number of the latest entry."""
        self.seal = ""
        self.snapshot_number = 0
        self.fresh_until = 0.0
        """The time, by the monotonic clock, until which no other replica is expected here."""
        self._issued: dict[str, Decision] = {}
        """The decisions that wait for a result or for a person, by id."""
        self._persons: OrderedDict[str, str] = OrderedDict()
        """The latest answers of persons, by decision."""
        self._answers: OrderedDict[str, tuple[str, dict[str, Json]]] = OrderedDict()
        """The latest answers, by idempotency key: a digest of the request, and the answer."""
        self._fixed: Final[dict[str, Json]] = {
            "opened": opened.at,
            "labels": {k: clipped(str(v), _CLIPPED) for k, v in opened.labels.items()},
        }
        """The part of the summary that never changes."""
        self._allowed = self._refused = 0
        self._refusals: deque[Json] = deque(maxlen=SHOWN_REFUSALS)

    def _clock(self) -> float:
        return self.at

    # ── operations ───────────────────────────────────────────────────────────────────────

    def perform(
        self, operation: RunOperation, given: Mapping[str, Json], at: float, key: str | None
    ) -> tuple[dict[str, Json], str]:
        """Performs an operation that changes the run. Returns the answer and the entry.

        If anything is raised, the run must be recovered before it is used again.
        """
        if self.closing is not None:
            raise UsageError(Diagnostic("E413", "the run has finished", "Open a new run."))
        self.at = max(at, self.at)
        answer = operation.perform(self, given)
        entry: Json = {"op": operation.name, "at": self.at, "in": given, "out": digest(answer)}
        if key is not None:
            entry["key"] = key
            self._remember(key, request_digest(operation.name, given), answer)
        return answer, self._advance(canonical(entry))

    def begin(self) -> str:
        """The first entry of a new run."""
        return self._advance(canonical(self.opened.to_json()))

    def _advance(self, body: str) -> str:
        """The next entry, sealed."""
        self.number += 1
        text = self._sealer.sealed(body, self.stream, str(self.number), self.seal)
        self.seal = text.partition(" ")[0]
        return text

    def replay(self, text: str) -> None:
        """Applies an entry that this replica or another has stored."""
        number = self.number + 1
        self.seal, body = self._sealer.opened(text, self.stream, str(number), self.seal)
        self.number = number
        entry = read_json(body)
        operation, given, key = OPERATIONS[entry["op"]], entry["in"], entry.get("key")
        self.at = entry["at"]
        try:
            answer = operation.perform(self, given)
        except BylawError as error:
            reason = error.diagnostics[0].message
            raise unrecoverable(self.stream, f"entry {number} is refused now: {reason}") from None
        if digest(answer) != entry["out"]:
            raise unrecoverable(self.stream, f"entry {number} is decided differently now")
        if key is not None:
            self._remember(key, request_digest(operation.name, given), answer)

    def _remember(self, key: str, request: str, answer: dict[str, Json]) -> None:
        self._answers[key] = request, answer
        while len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)

    def repeated(self, key: str, operation: str, given: Mapping[str, Json]) -> Json | None:
        """The answer to a request that was made before, under the same key."""
        known = self._answers.get(key)
        if known is None:
            return None
        if known[0] != request_digest(operation, given):
            message = "the idempotency key was used for another request"
            raise UsageError(Diagnostic("E456", message, "Make a new key for each request."))
        return known[1]

    # ── decisions ────────────────────────────────────────────────────────────────────────

    def issue(self, decisions: Sequence[Decision]) -> None:
        """Takes in new decisions."""
        for each in decisions:
            if each.action in ("allow", "ask"):
                self._issued[each.id] = each
            if each.allowed:
                self._allowed += 1
            else:
                self._refused += 1
                self._refusals.append(_shown(each))

    def decision(self, id: str) -> Decision:
        """The decision of this id that waits for a result or for a person."""
        found = self._issued.get(id)
        if found is None:
            message = "no decision of this run waits under this id"
            help = "Record the result of each allowed call once; approve or deny a call once."
            raise UsageError(Diagnostic("E413", message, help))
        return found

    def settle(self, decision: Decision, person: str | None = None) -> None:
        """The decision does not wait any more; a person may have answered."""
        del self._issued[decision.id]
        if person is not None:
            self._persons[decision.id] = person
            while len(self._persons) > REMEMBERED:
                self._persons.popitem(last=False)

    # ── descriptions ─────────────────────────────────────────────────────────────────────

    def ended(self) -> dict[str, Json]:
        """The part of every answer that says whether the run has ended."""
        return {"stopped": self.guard.stopped, "finished": self.guard.finished}

    def state(self) -> dict[str, Json]:
        """The run as it is now."""
        return {
            "run": self.opened.run,
            "turn": self.guard.turn,
            **self.ended(),
            "awaiting": [decision_to_json(each) for each in self.guard.awaiting],
            "asked": [decision_to_json(each) for each in self.guard.asked],
            "answered": dict(self._persons),
            "constraints": [each.to_dict() for each in self.guard.standings],
            "labels": self.opened.labels,
            "operations": self.number,
        }

    def about(self) -> dict[str, Json]:
        """The summary of the run, for lists."""
        guard = self.guard
        unmet = [each for each in guard.standings if each.passed is False]
        summary: dict[str, Json] = {
            **self._fixed,
            "turn": guard.turn,
            "allowed": self._allowed,
            "refused": self._refused,
            "owes": [each.name for each in unmet if each.excused is None],
            "lost": [each.name for each in unmet if each.excused is not None],
            "outstanding": [each.call.tool for each in guard.awaiting][:SHOWN_REFUSALS],
            "asked": [_asked(each) for each in guard.asked],
            "refusals": list(self._refusals),
            **self.ended(),
        }
        if self.closing is not None:
            report = self.closing["report"]
            summary |= {"score": report["compliance_score"], "label": report["compliance_label"]}
        return summary

    # ── the store ────────────────────────────────────────────────────────────────────────

    def append(self, entry: str, owner: str, across: AcrossStreams | None = None) -> Append:
        """The entry that was just made, with all that is stored with it."""
        row = RunRow(
            self.opened.run,
            self.opened.principal,
            self.at,
            self.closing is not None,
            self.number,
            owner,
            canonical(self.about()),
        )
        entries, snapshots = ([], []) if across is None else across.bundles()
        since = self.number - self.snapshot_number
        ended = self._shares or self.closing is not None
        if ended or since >= max(SNAPSHOT_EVERY, self.number // 4):
            snapshots.append((self.stream, self.number, self.snapshot()))
        return Append(((self.stream, self.number, entry), *entries), row, tuple(snapshots))

    def snapshot(self) -> str:
        """The run as it is, sealed."""
        self.snapshot_number = self.number
        state: Json = {
            "opened": self.opened.to_json(),
            "at": self.at,
            "seal": self.seal,
            "guard": self.guard.save(key=self._sealer.key),
            "closing": self.closing,
            "persons": list(self._persons.items()),
            "answers": [[key, *known] for key, known in self._answers.items()],
            "counts": [self._allowed, self._refused],
            "refusals": list(self._refusals),
        }
        return self._sealer.sealed(canonical(state), self.stream, "snapshot", str(self.number))

    @staticmethod
    def restored(
        run: str,
        number: int,
        snapshot: str,
        procedure: Procedure,
        sealer: Sealer,
        across: AcrossStreams | None = None,
    ) -> ResidentRun:
        """The run in a snapshot."""
        stream = stream_of(run)
        state = read_json(sealer.opened(snapshot, stream, "snapshot", str(number))[1])
        opened = RunOpening(**state["opened"])
        if across is not None:
            across.begin(opened.labels)
        shared = None if across is None else across.rules
        live = ResidentRun(opened, procedure, sealer, shared)
        live.closing = state["closing"]
        live.at, live.seal, live.number = state["at"], state["seal"], number
        live.snapshot_number = number
        live.guard.restore(state["guard"], key=sealer.key)
        live._issued = {each.id: each for each in (*live.guard.awaiting, *live.guard.asked)}
        live._persons = OrderedDict(state["persons"])
        live._answers = OrderedDict((key, (asked, said)) for key, asked, said in state["answers"])
        live._allowed, live._refused = state["counts"]
        live._refusals.extend(state["refusals"])
        return live

    @staticmethod
    def reopened(run: str, first: str, procedure: Procedure, sealer: Sealer) -> ResidentRun:
        """The run after its first entry."""
        stream = stream_of(run)
        seal, body = sealer.opened(first, stream, "0", "")
        live = ResidentRun(RunOpening(**read_json(body)), procedure, sealer)
        live.number, live.seal = 0, seal
        return live


def digest(value: Json) -> str:
    """A short hash of a JSON value."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


def request_digest(operation: str, given: Mapping[str, Json]) -> str:
    """A short hash of a request."""
    return digest([operation, given])


def _shown(decision: Decision) -> dict[str, Any]:
    """A refusal as a person reads it in a list."""
    return {
        "decision": decision.id,
        "turn": decision.turn,
        "tool": decision.call.tool,
        "arguments": clipped(canonical(dict(decision.call.args)), _CLIPPED),
        "action": decision.action,
        "rules": [violation.constraint.name for violation in decision.violations],
        "message": clipped(unmarked(decision.message), _CLIPPED),
    }


def _asked(decision: Decision) -> dict[str, Any]:
    """A call that waits for a person, who must see all of it to approve it."""
    arguments = canonical(dict(decision.call.args))
    complete = len(arguments) <= _ASKED_CLIPPED
    shown = clipped(arguments, _ASKED_CLIPPED)
    return {**_shown(decision), "arguments": shown, "complete": complete}
