"""What a gate would have done on a recorded run.

The steps of the trace are the agent's turns. A recorded call that the gate refuses is left out, as
if it had not been executed, and the replay goes on with the next: what the agent would have done
instead is not known. Messages and results are taken in as they were recorded.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from bylaw.enforcement.decision import Action
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.severity import Setting
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING, Call
from bylaw.trace.trace import Trace
from bylaw.values import Json


@dataclass(frozen=True, slots=True)
class Refusal:
    """A recorded call that the gate would not have let run."""

    call: int
    """The number of the call, counted from 0."""
    tool: str
    action: Action
    constraints: tuple[str, ...]

    def to_dict(self) -> dict[str, Json]:
        """The refusal as JSON."""
        return {
            "call": self.call,
            "tool": self.tool,
            "action": self.action.value,
            "constraints": list(self.constraints),
        }


@dataclass(frozen=True, slots=True)
class Replay:
    """One run behind a gate."""

    setting: Setting
    calls: int
    refusals: tuple[Refusal, ...]
    score: float | None
    """The score of what would have been executed."""
    stopped: bool

    @property
    def actions(self) -> Counter[str]:
        """How often the gate would have done what."""
        return Counter(refusal.action.value for refusal in self.refusals)

    def to_dict(self) -> dict[str, Json]:
        """The replay as JSON."""
        return {
            "setting": self.setting,
            "calls": self.calls,
            "refusals": [refusal.to_dict() for refusal in self.refusals],
            "score": self.score,
            "stopped": self.stopped,
        }


def replay(trace: Trace, procedure: Procedure, setting: Setting = "as-written") -> Replay:
    """What the gate would have done on a trace."""
    guard = Guard(procedure, setting, labels=trace.labels)
    refusals: list[Refusal] = []
    number = 0
    for _, events in groupby(trace.events, key=lambda event: event.step):
        calls: list[Call] = []
        for event in events:
            if isinstance(event, Call):
                calls.append(event)
            else:
                guard.say(event.role, event.text)
        for decision, call in zip(guard.propose(calls) if calls else (), calls, strict=True):
            if not decision.allowed:
                names = tuple(violation.constraint.name for violation in decision.violations)
                refusals.append(Refusal(number, call.tool, decision.action, names))
            elif call.result is not MISSING or call.failed:
                guard.record(
                    decision, None if call.result is MISSING else call.result, error=call.error
                )
            number += 1
    report = guard.finish(trace.answer)
    return Replay(setting, number, tuple(refusals), report.score, report.stopped)
