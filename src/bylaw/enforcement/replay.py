"""A gate on a recorded run: the decisions that it would have made.

The steps of the trace are the agent's turns. A recorded call that the gate refuses is left out, as
if it had not been executed, and the replay continues with the next: nobody knows what the agent
would have done instead. Messages and results are those of the record. The answer is proposed as an
agent would propose it. A later call can be refused only because the earlier one was left out: such
a refusal follows from the first, and does not count (`causes.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from bylaw.enforcement.causes import FirstCauses, RecordedTurns
from bylaw.enforcement.decision import Action, Decision
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.judge import Judge
from bylaw.enforcement.severity import Setting
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING, Call, Message
from bylaw.trace.trace import Trace
from bylaw.values import Json
from bylaw.vocabulary.view import Order


@dataclass(frozen=True, slots=True)
class ReplayedRefusal:
    """A recorded call that the gate would have refused."""

    call: int
    """The index of the call; the answer comes after the last call."""
    tool: str
    action: Action
    constraints: tuple[str, ...]
    """The rules that the call breaks in the record, too."""
    problem: str = ""
    """The fault in the call itself, so that no rule judged it; empty if there is none."""
    follows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The rules that it breaks only because earlier calls were refused, with these calls."""

    @property
    def is_first_cause(self) -> bool:
        """Would the call have been refused, had no earlier call been?"""
        return bool(self.constraints or self.problem)

    def to_dict(self) -> dict[str, Json]:
        """The refusal as JSON."""
        return {
            "call": self.call,
            "tool": self.tool,
            "action": self.action,
            "constraints": list(self.constraints),
            **({"problem": self.problem} if self.problem else {}),
            "follows": {rule: list(calls) for rule, calls in self.follows.items()},
        }


@dataclass(frozen=True, slots=True)
class Replay:
    """The decisions of a gate on one recorded run."""

    setting: Setting
    calls: int
    refused: tuple[ReplayedRefusal, ...]
    """Every refused call, in order."""
    score: float | None
    """The score of the calls that would have been executed."""
    stopped: bool
    unreached: int = 0
    """The number of calls after the one at which the run would have ended."""
    lost: tuple[str, ...] = ()
    """The rules that a result or a message broke: no call could have been refused for them."""

    @property
    def refusals(self) -> tuple[ReplayedRefusal, ...]:
        """The refusals that count: those that do not merely follow from earlier ones."""
        return tuple(each for each in self.refused if each.is_first_cause)

    @property
    def consequences(self) -> tuple[ReplayedRefusal, ...]:
        """The refusals that follow from earlier ones."""
        return tuple(each for each in self.refused if not each.is_first_cause)

    @property
    def actions(self) -> Counter[str]:
        """The number of refusals by action."""
        return Counter(refusal.action for refusal in self.refusals)

    def to_dict(self) -> dict[str, Json]:
        """The replay as JSON."""
        return {
            "setting": self.setting,
            "calls": self.calls,
            "refusals": [refusal.to_dict() for refusal in self.refusals],
            "consequences": [refusal.to_dict() for refusal in self.consequences],
            "score": self.score,
            "stopped": self.stopped,
            "unreached": self.unreached,
            "lost": list(self.lost),
        }


class Replayer:
    """Replays many traces with one procedure, whose rules are prepared by the first."""

    def __init__(self, procedure: Procedure, setting: Setting = "as-written") -> None:
        self.procedure: Final = procedure
        self.setting: Final[Setting] = setting

    def replay(self, trace: Trace) -> Replay:
        """The decisions of the gate on a trace."""
        return replay(trace, self.procedure, self.setting)


def replay(trace: Trace, procedure: Procedure, setting: Setting = "as-written") -> Replay:
    """The decisions of the gate on a trace."""
    return _replay(trace, Guard(procedure, setting, unenforceable="score", labels=trace.labels))


def _turns(trace: Trace, order: Order) -> Iterator[tuple[list[Message], list[Call]]]:
    """The turns of a trace: messages, then calls.

    If rules order events by position, a message after a call begins another turn. If by step, all
    events of a step are simultaneous.
    """
    for _, events in groupby(trace.seen("all", answer=True), key=lambda event: event.step):
        said: list[Message] = []
        calls: list[Call] = []
        for event in events:
            if isinstance(event, Call):
                calls.append(event)
                continue
            if calls and order == "position":
                yield said, calls
                said, calls = [], []
            said.append(event)
        yield said, calls


def _replay(trace: Trace, guard: Guard) -> Replay:
    refused: dict[int, Decision] = {}
    turns = list(_turns(trace, guard.procedure.order))
    number = unreached = 0
    for said, calls in turns:
        for message in said:
            guard.say(message.role, message.text)
        for decision, call in zip(guard.propose(calls) if calls else (), calls, strict=True):
            if decision.allowed:
                if call.result is not MISSING or call.failed:
                    guard.record(decision, call.result, error=call.error)
            elif decision.violations or decision.problem:
                refused[number] = decision
            else:
                unreached += 1
            number += 1
    report = guard.finish()
    return Replay(
        guard.setting,
        len(trace.calls),
        _with_causes(refused, turns, trace, guard),
        report.score,
        report.stopped,
        unreached,
        tuple(dict.fromkeys(e.constraint for e in report.events if e.action == "lost")),
    )


def _with_causes(
    refused: Mapping[int, Decision], turns: RecordedTurns, trace: Trace, guard: Guard
) -> tuple[ReplayedRefusal, ...]:
    """The refused calls, with the rules that each breaks by itself told from the others."""
    rules = {
        at: {v.constraint.name: v.kind for v in decision.violations if v.enforced}
        for at, decision in refused.items()
    }
    own: Mapping[int, Collection[str]] = rules
    follows: Mapping[int, Mapping[str, tuple[int, ...]]] = {}
    if len(refused) > 1:  # the first refusal follows from none

        def judge() -> Judge:
            return Judge(guard.procedure, guard.setting, trace.labels)

        causes = FirstCauses(judge, turns, rules)
        own, follows = causes.own, causes.follows()
    return tuple(
        ReplayedRefusal(
            at,
            decision.call.tool,
            decision.action,
            tuple(rule for rule in rules[at] if rule in own[at]),
            decision.problem,
            follows.get(at, {}),
        )
        for at, decision in refused.items()
    )
