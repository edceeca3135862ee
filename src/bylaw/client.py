"""A guard whose run is at a resident gate: `pip install 'bylaw[client]'`.

    guard = RemoteGuard("http://127.0.0.1:8700", token, labels={"customer": "c1"})
    (decision,) = guard.propose([Call("refund", {"amount": 5})])

It has the methods of `Guard`, and fails closed. If the gate cannot be reached, is too slow, or says
something that cannot be trusted, proposed calls are refused. Requests are repeated under the same
idempotency key, so that a lost answer makes no call count twice.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.events import EnforcementEvent
from bylaw.enforcement.report import ConstraintStanding, GuardReport
from bylaw.enforcement.tool_runner import ToolRunner
from bylaw.enforcement.turn import calls_of, plain_call
from bylaw.enforcement.wire import call_to_json, decision_of
from bylaw.errors import BylawError, Diagnostic, UsageError
from bylaw.frozen import replace
from bylaw.plain import OversizedValue
from bylaw.saved import Damaged, fields, listed, table
from bylaw.trace.event import Call, Role
from bylaw.trace.refusal import OPENING
from bylaw.trace.trace import Trace
from bylaw.values import Json, JsonError, canonical, read_json

ATTEMPTS: Final = 3
"""The number of times that a request is sent if no answer comes."""
PAUSE: Final = 0.2
"""The time before a request is sent again, in seconds; it doubles."""
MAX_PAUSE: Final = 2.0
"""The longest time before a request is sent again, in seconds."""
_AGAIN: Final = (502, 503, 504)


class GateError(BylawError):
    """A resident gate could not be asked, or refused a request."""

    def __init__(self, diagnostics: Iterable[Diagnostic] | Diagnostic, status: int = 0) -> None:
        super().__init__(diagnostics)
        self.status = status
        """The status of the answer; 0 if there was none."""


class RemoteGuard(ToolRunner):
    """One run at a resident gate. It opens a run, or resumes the one whose id is given.

    `address` is a URL, or `unix:` and the path of a socket; or a list of them, for replicas that
    share a store. `timeout` is how many seconds one answer may take, and `attempts` how often a
    request is sent if none comes.
    """

    outstanding: Final = "refuse"

    def __init__(
        self,
        address: str | Sequence[str],
        token: str,
        *,
        run: str | None = None,
        labels: Mapping[str, Json] | None = None,
        metrics: Mapping[str, Json] | None = None,
        timeout: float = 10.0,
        attempts: int = ATTEMPTS,
    ) -> None:
        addresses = [address] if isinstance(address, str) else address
        self._gates: Final = [_connection(each, token, timeout) for each in addresses]
        self._at = 0
        """The replica to ask; the next one if it does not answer."""
        self._attempts: Final = attempts
        self._report: GuardReport | None = None
        self._stopped = self._finished = False
        self._waiting: dict[str, Decision] = {}
        """The decisions of this object that wait for a result, by id."""
        try:
            if run is None:
                given = {"labels": dict(labels or {}), "metrics": dict(metrics or {})}
                state = self._send("POST", "/v1/runs", given)
            else:
                state = self._send("GET", f"/v1/runs/{run}")
            self.run_id: Final[str] = self._text(state, "run")
            """The run's id."""
        except GateError:
            self.close()
            raise
        self._take(state)

    # ── requests ─────────────────────────────────────────────────────────────────────────

    def _send(self, method: str, path: str, given: Json = None) -> dict[str, Any]:
        """Sends a request, perhaps several times, and returns the answer. Raises a GateError."""
        headers = {"Idempotency-Key": uuid.uuid4().hex} if method == "POST" else {}
        content = None if given is None else canonical(given)
        for attempt in range(self._attempts):
            if attempt:
                time.sleep(min(PAUSE * 2 ** (attempt - 1), MAX_PAUSE))
            try:
                gate = self._gates[self._at]
                answer = gate.request(method, path, content=content, headers=headers)
                status, text = answer.status_code, answer.text
            except Exception as error:  # httpx has many, and none of them is an answer
                status, text = 0, f"{type(error).__name__}: {error}".rstrip(": ")
            if status and status not in _AGAIN:
                break
            self._at = (self._at + 1) % len(self._gates)
        if status not in (200, 201):
            raise _refused(status, text)
        try:
            return table(read_json(text))
        except (JsonError, Damaged):
            raise _unreachable("its answer is not JSON", status) from None

    def _post(self, operation: str, **given: Json) -> dict[str, Any]:
        known = {name: value for name, value in given.items() if value is not None}
        answer = self._send("POST", f"/v1/runs/{self.run_id}/{operation}", known)
        self._take(answer)
        return answer

    def _take(self, answer: Mapping[str, Json]) -> None:
        self._stopped = answer.get("stopped") is not False
        self._finished = answer.get("finished") is not False

    @staticmethod
    def _text(answer: Mapping[str, Json], name: str) -> str:
        value = answer.get(name)
        if type(value) is not str:
            raise _unreachable(f"its answer has no '{name}'")
        return value

    # ── proposing ────────────────────────────────────────────────────────────────────────

    def propose(self, calls: Iterable[Call]) -> list[Decision]:
        """Decides the calls of one model turn. Whatever goes wrong, they are refused."""
        proposed = [_plain(call) for call in calls_of(calls)]
        given: Json = [call_to_json(call) for call in proposed]
        try:
            answer = self._post("propose", calls=given)
            decisions = [decision_of(each) for each in listed(answer.get("decisions"))]
            _check_decisions(proposed, decisions)
        except (GateError, Damaged) as error:
            reason = error.diagnostics[0].message if isinstance(error, GateError) else str(error)
            return [_undecided(call, index, reason) for index, call in enumerate(proposed)]
        self._waiting |= {each.id: each for each in decisions if each.allowed}
        return decisions

    async def propose_async(self, calls: Iterable[Call]) -> list[Decision]:
        """As `propose`, without blocking the event loop."""
        return await asyncio.to_thread(self.propose, calls)

    def rounds(self, calls: Iterable[Call]) -> Iterator[list[Decision]]:
        """Decides one model turn, in one round."""
        yield self.propose(calls)

    async def rounds_async(self, calls: Iterable[Call]) -> AsyncIterator[list[Decision]]:
        """As `rounds`, without blocking the event loop."""
        yield await self.propose_async(calls)

    # ── results, messages, approvals ─────────────────────────────────────────────────────

    def record(
        self,
        decision: Decision,
        result: Json,
        *,
        error: str | None = None,
        usage: Mapping[str, Json] | None = None,
    ) -> None:
        """Takes in the result of an allowed call, once. A GateError means: it may not be known."""
        used = None if usage is None else dict(usage)
        self._post("record", decision=decision.id, result=result, error=error, usage=used)
        self._waiting.pop(decision.id, None)

    def abandon(self, decision: Decision) -> None:
        """Gives up an allowed call whose result will not arrive: it has failed."""
        self._post("abandon", decision=decision.id)
        self._waiting.pop(decision.id, None)

    def awaits(self, decision: Decision) -> bool:
        """Was the call allowed here, and has it no result yet?"""
        return decision.allowed and decision.id in self._waiting

    def say(
        self,
        role: Role,
        text: str,
        *,
        agent: str | None = None,
        usage: Mapping[str, Json] | None = None,
    ) -> None:
        """Takes in a message."""
        used = None if usage is None else dict(usage)
        self._post("say", role=role, text=text, agent=agent, usage=used)

    def approve(self, decision: Decision) -> None:
        """Approves a call that was refused with `ask`; needs a person's token."""
        self._post("approve", decision=decision.id)

    def deny(self, decision: Decision) -> None:
        """Denies a call that was refused with `ask`; needs a person's token."""
        self._post("deny", decision=decision.id)

    def answer(self, decision: Decision, wait: float = 0.0) -> str | None:
        """A person's answer to a call that was refused with `ask`: "approved" or "denied".

        None if there is none yet, after so many seconds. An approved call may be proposed again.
        """
        end = time.monotonic() + wait
        while True:
            left = max(0.0, end - time.monotonic())
            path = f"/v1/runs/{self.run_id}/answer/{decision.id}?wait={min(left, 5.0):g}"
            answer = self._send("GET", path)
            self._take(answer)
            found = answer.get("answer")
            if found in ("approved", "denied") or not left:
                return found if found in ("approved", "denied") else None

    def withdraw(self) -> None:
        """Withdraws the answer that was allowed: the run continues without it."""
        self._post("withdraw")

    def tick(self) -> list[str]:
        """Lets time pass; returns the names of the rules whose deadlines are over."""
        return [str(name) for name in self._post("tick").get("lost", [])]

    # ── the state, and the end ───────────────────────────────────────────────────────────

    def _state(self) -> dict[str, Any]:
        state = self._send("GET", f"/v1/runs/{self.run_id}")
        self._take(state)
        return state

    @property
    def awaiting(self) -> list[Decision]:
        """The decisions on calls that were allowed and have no result yet, of the whole run."""
        return self._decisions("awaiting")

    @property
    def asked(self) -> list[Decision]:
        """The decisions that a person has to approve or deny."""
        return self._decisions("asked")

    def _decisions(self, name: str) -> list[Decision]:
        try:
            found = [decision_of(each) for each in listed(self._state().get(name))]
        except Damaged as error:
            raise _unreachable(str(error)) from None
        if name == "awaiting":
            self._waiting = {each.id: each for each in found}
        return found

    @property
    def turn(self) -> int:
        """The number of turns so far."""
        return int(self._state()["turn"])

    @property
    def stopped(self) -> bool:
        """Has the gate ended the run, as far as its latest answer says?"""
        return self._stopped

    @property
    def finished(self) -> bool:
        """Has the run ended, by an answer or by `finish`?"""
        return self._finished

    def finish(
        self, answer: str | None = None, *, metrics: Mapping[str, Json] | None = None
    ) -> GuardReport:
        """Ends the run and scores it."""
        known = None if metrics is None else dict(metrics)
        said = self._post("finish", answer=answer, metrics=known)
        try:
            trace = Trace.from_record(self._send("GET", f"/v1/runs/{self.run_id}/trace")["trace"])
        except (BylawError, KeyError):  # it was too long to be kept
            trace = None
        try:
            self._report = _report_of(said.get("report"), trace)
        except (Damaged, TypeError, KeyError, BylawError) as error:
            raise _unreachable(f"its report cannot be read: {error}") from None
        return self._report

    @property
    def report(self) -> GuardReport | None:
        """The report that `finish` returned; None before that."""
        return self._report

    def close(self) -> None:
        """Closes the connection. The run stays at the gate."""
        for gate in self._gates:
            gate.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._report is None and not self._finished:
            self.finish()
        self.close()


# ── answers ──────────────────────────────────────────────────────────────────────────────────


def _connection(address: str, token: str, timeout: float) -> Any:
    try:
        import httpx
    except ModuleNotFoundError:
        message = "httpx is not installed"
        raise UsageError(Diagnostic("E420", message, "pip install 'bylaw[client]'")) from None
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    common = {"headers": headers, "timeout": timeout, "follow_redirects": False}
    if address.startswith("unix:"):
        transport = httpx.HTTPTransport(uds=address.removeprefix("unix:"))
        return httpx.Client(transport=transport, base_url="http://gate", **common)
    return httpx.Client(base_url=address, trust_env=False, **common)


def _check_decisions(proposed: list[Call], decisions: list[Decision]) -> None:
    """Is there one decision for each call, on exactly that call? Damaged is raised if not."""
    if len(decisions) != len(proposed):
        raise Damaged("there is not one decision for each call")
    for index, (call, decision) in enumerate(zip(proposed, decisions, strict=True)):
        same = canonical(call_to_json(decision.call)) == canonical(call_to_json(call))
        if decision.index != index or (decision.allowed and not (same and decision.id)):
            raise Damaged("a decision is on another call")


def _plain(call: Call) -> Call:
    """The call as JSON says it. A call that is too large is left to the gate to refuse."""
    try:
        return plain_call(call)
    except OversizedValue:
        return call


def _undecided(call: Call, index: int, reason: str) -> Decision:
    """The refusal of a call that no gate has decided."""
    problem = f"The gate did not decide it: {reason}."
    return Decision(
        replace(call, step=None),
        "block",
        0,
        index,
        message=f"{call.tool}{OPENING}. {problem}",
        problem=problem,
    )


def _report_of(given: Json, trace: Trace | None) -> GuardReport:
    report = table(given)
    names = ("name", "layer", "weight", "passed", "excused")
    return GuardReport.of(
        [ConstraintStanding(*fields(each, *names)) for each in listed(report["constraints"])],
        [EnforcementEvent.from_dict(table(each)) for each in listed(report["events"])],
        stopped=bool(report["stopped"]),
        fully_decided=bool(report["fully_decided"]),
        reason=report.get("reason"),
        trace=trace,
    )


def _refused(status: int, text: str) -> GateError:
    """The error for an answer that is not one."""
    try:
        first = table(listed(table(read_json(text))["errors"])[0])
        return GateError(
            Diagnostic(str(first["code"]), str(first["message"]), first.get("help")), status
        )
    except (JsonError, Damaged, KeyError, IndexError):
        return _unreachable(text or f"status {status}", status)


def _unreachable(reason: str, status: int = 0) -> GateError:
    help = "See that the gate runs, and that address and token are right. Nothing was allowed."
    return GateError(Diagnostic("E463", f"the gate could not be asked: {reason}", help), status)
