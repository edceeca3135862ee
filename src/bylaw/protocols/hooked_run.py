"""One run whose calls a protocol asks about one by one.

Hooks and proxies see single calls, in any order, and results by the ids of calls. Calls
of one agent belong to one turn until the protocol says that the turn is over: so the evidence of a
sibling does not count, although its result may be in already. Agents that work at the same time
share the run. Where their calls interleave, a turn is cut, and the next call begins a new one.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Final

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.guard import Guard
from bylaw.errors import UsageError
from bylaw.frozen import frozen
from bylaw.names import FINAL_ANSWER
from bylaw.plain import as_json
from bylaw.saved import Damaged, fields, optional_text, table
from bylaw.trace.event import Call
from bylaw.trace.refusal import OPENING
from bylaw.trace.refusal_mark import unmarked
from bylaw.values import Json, canonical, equal

MAIN: Final = "main"
"""The agent that the user talks to."""
PROBE: Final = "bylaw-doctor"
"""The tool that `bylaw doctor` calls. No gate lets it pass, so it shows that a gate is there."""
PROBE_ANSWER: Final = "This is a gate."
NOT_APPROVED: Final = "it did not run: nobody approved it"


@frozen
class Observed:
    """One thing that happened in a run, for its record."""

    kind: str
    content: Mapping[str, Json]


class HookedRun:
    """A guard, the agent whose turn is open, and what has happened since the last save.

    With `observe`, nothing is refused: the guard's rules ask, and the answer is always yes, so that
    what they would have refused is noted and counts as what it is, a call that ran.
    """

    def __init__(self, guard: Guard, *, observe: bool = False) -> None:
        self.guard: Final = guard
        self.observe: Final = observe
        self.speaker: str | None = None
        """The agent whose turn is open, or the name of the turn."""
        self.happened: list[Observed] = []

    # ── calls ────────────────────────────────────────────────────────────────────────────

    def propose(self, call: Call, *, asks: bool = False, turn: str | None = None) -> Decision:
        """Decides one call of an agent's turn. With `asks`, the protocol will ask a person.

        `turn` names the turn where the protocol can; otherwise, it is the agent's open one.
        A call that a person is asked about counts as outstanding from now on. If nobody approves
        it, it is given up.
        """
        if call.tool == PROBE:
            return _refused(call, PROBE_ANSWER)
        if call.tool == FINAL_ANSWER:
            return _refused(call, "No tool has this name: it is reserved for the answer.")
        return self._noted(self._decide(call, turn), "call", asks=asks)

    def _noted(self, decision: Decision, kind: str, *, asks: bool = False) -> Decision:
        """Notes a decision. A call that a person is asked about, or that is only observed, counts.

        The decision on a call that counts is among those that await a result.
        """
        if decision.action == "ask" and (asks or self.observe):
            self._note("observed" if self.observe else "asked", decision)
            self.guard.approve(decision)
            (again,) = self.guard.propose([decision.call], same_turn=True)
            if again.allowed:
                self._note(kind, again)
                return again if self.observe else decision
            decision = again
        self._note(kind if decision.allowed else "refused", decision)
        return decision

    def _decide(self, call: Call, turn: str | None) -> Decision:
        speaker = turn or call.agent or MAIN
        same_turn = self.speaker == speaker
        self.speaker = speaker
        if self.guard.finished and not self.guard.stopped:
            self.guard.withdraw()  # the agent was kept from finishing, and works on
        try:
            return self.guard.propose([call], same_turn=same_turn)[0]
        except UsageError as error:
            return _refused(call, error.diagnostics[0].message)

    def passes(self, decision: Decision) -> bool:
        """May the call run? Everything may if the gate only observes."""
        return decision.allowed or (self.observe and decision.call.tool != PROBE)

    def awaited(self, id: str) -> Decision | None:
        """The decision on an allowed call of this id that has no result yet."""
        return next((each for each in self.guard.awaiting if each.call.id == id), None)

    def record(self, decision: Decision, result: Json, error: str | None = None) -> None:
        """Takes in the result of an allowed call."""
        self.guard.record(decision, as_json(result), error=error)
        told: dict[str, Json] = {"decision": decision.id, "result": result, "error": error}
        self.happened.append(Observed("result", told))

    def record_ran(self, call: Call, result: Json, error: str | None = None) -> Decision | None:
        """Takes in a call that ran. Returns its refusal, if another call was judged than ran.

        Something between the gate and the tool may have changed the arguments.
        """
        decision = None if call.id is None else self.awaited(call.id)
        if decision is None:
            return None  # it was refused, or has its result, or began before the gate
        if decision.call.tool == call.tool and equal(dict(decision.call.args), dict(call.args)):
            self.record(decision, result, error)
            return None
        self.record(decision, None, "another call ran in its place")
        changed = self.propose(call)
        if changed.allowed:
            self.record(changed, result, error)
        return None if self.passes(changed) else changed

    # ── turns ────────────────────────────────────────────────────────────────────────────

    def end_turn(self, speaker: str = MAIN, error: str = NOT_APPROVED) -> None:
        """Ends the turn of an agent. Calls of it without a result did not run."""
        if self.speaker == speaker:
            self.speaker = None
        for decision in self.guard.awaiting:
            if (decision.call.agent or MAIN) == speaker:
                self.record(decision, None, error)

    def say(self, text: str) -> None:
        """Takes in a message of the user. An answer before it was a message like any other."""
        if self.guard.finished and not self.guard.stopped:
            self.guard.withdraw()
        self.speaker = None
        self.guard.say("user", text)
        self.happened.append(Observed("message", {"role": "user", "text": text}))

    def answer(self, text: str) -> Decision:
        """Decides the agent's wish to finish with this answer."""
        self.end_turn()
        if self.guard.finished:
            self.guard.withdraw()
        return self._noted(self.guard.propose([Call(FINAL_ANSWER, {"answer": text})])[0], "answer")

    # ── the record ───────────────────────────────────────────────────────────────────────

    def _note(self, kind: str, decision: Decision) -> None:
        call = decision.call
        told: dict[str, Json] = {"decision": decision.id, "tool": call.tool, "id": call.id}
        told |= {"arguments": dict(call.args), "step": decision.turn, "agent": call.agent}
        if kind in ("refused", "observed", "asked"):
            rules: Json = [each.constraint.name for each in decision.violations]
            told |= {"action": decision.action, "rules": rules, "problem": decision.problem}
            told["message"] = unmarked(decision.message)
        self.happened.append(Observed(kind, told))

    def save(self, key: bytes) -> dict[str, Json]:
        """The state as JSON, for `restored`."""
        guard = self.guard.save(key=key)
        return {"speaker": self.speaker, "guard": guard, "seal": _seal(self.speaker, guard, key)}


def restored(
    new_guard: Callable[[], Guard], saved: Json, key: bytes, *, observe: bool
) -> HookedRun:
    """A run in a state that was saved. A UsageError if the state is not one."""
    run = HookedRun(new_guard(), observe=observe)
    try:
        speaker, guard, seal = fields(saved, "speaker", "guard", "seal")
        run.speaker = optional_text(speaker)
        if not hmac.compare_digest(_seal(run.speaker, table(guard), key), str(seal)):
            raise Damaged("it was changed, or saved with another key")
        run.guard.restore(table(guard), key=key)
    except Damaged as error:
        raise damaged(str(error)) from None
    return run


def _seal(speaker: str | None, guard: Mapping[str, Json], key: bytes) -> str:
    """The seal of the speaker and of the guard's own seal, so that they belong together."""
    content = canonical([speaker, guard.get("seal")])
    return hmac.new(key, content.encode(), "sha256").hexdigest()


def damaged(reason: str) -> UsageError:
    """The error for a record of a run that cannot be used."""
    from bylaw.errors import Diagnostic

    help = "Start a new session. `bylaw doctor` finds out what is wrong with the gate."
    return UsageError(Diagnostic("E470", f"the record of the session is damaged: {reason}", help))


def _refused(call: Call, why: str) -> Decision:
    """A refusal that no rule is behind."""
    message = f"{call.tool}{OPENING}. {why}"
    return Decision(Call(call.tool, id=call.id), "block", 0, 0, message=message, problem=why)
