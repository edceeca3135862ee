"""A gate on a recorded run: the decisions that it would have made.

The steps of the trace are the agent's turns. A recorded call that the gate refuses is left out, as
if it had not been executed, and the replay continues with the next: nobody knows what the agent
would have done instead. Messages and results are those of the record. The answer is proposed as an
agent would propose it. A later call can be refused only because the earlier one was left out: such
a refusal follows from the first, and does not count (`causes.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, Any, Final

from bylaw.enforcement.causes import FirstCauses, RecordedTurns, first_start
from bylaw.enforcement.decision import Action, Decision
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.judge import Judge
from bylaw.enforcement.severity import Setting
from bylaw.frozen import replace
from bylaw.procedure.across import across_value
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING, Call, Message
from bylaw.trace.trace import Trace
from bylaw.values import Json
from bylaw.vocabulary.view import Order

if TYPE_CHECKING:
    from bylaw.enforcement.shared.rules import SharedRules


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
        """The decisions of the gate on a trace, as if it were the only one."""
        return replay(trace, self.procedure, self.setting)

    def replay_together(self, traces: Sequence[Trace]) -> list[Replay]:
        """The decisions on traces that share rules across runs: turn by turn, in order of time.

        The results of a turn arrive when the last of its calls ended. Without times, a run follows
        the one before it.
        """
        shared = _shared(self.procedure, self.setting)
        guards = [_guard(trace, self.procedure, self.setting, shared) for trace in traces]
        runs = [_replayed(trace, guard) for trace, guard in zip(traces, guards, strict=True)]
        done: dict[int, Replay] = {}
        waiting = [(-inf, number) for number in range(len(runs))]
        while waiting:
            now, number = heappop(waiting)
            try:
                while (due := next(runs[number])) is None or due <= now:
                    pass  # it continues at once
                heappush(waiting, (due, number))
            except StopIteration as end:
                done[number] = end.value
        return [done[number] for number in range(len(runs))]


def replay(trace: Trace, procedure: Procedure, setting: Setting = "as-written") -> Replay:
    """The decisions of the gate on a trace, as if it were the only one."""
    (found,) = Replayer(procedure, setting).replay_together([trace])
    return found


def _shared(procedure: Procedure, setting: Setting) -> SharedRules | None:
    if not procedure.across:
        return None
    from bylaw.enforcement.shared.rules import SharedRules  # most procedures have none

    return SharedRules(procedure, setting)


def _guard(
    trace: Trace, procedure: Procedure, setting: Setting, shared: SharedRules | None
) -> Guard:
    """A new gate for a trace. One that lacks the label of a rule across runs is judged alone."""
    if any(across_value(trace.labels, label) is None for label in procedure.across):
        rules = [replace(rule, across=None) for rule in procedure.constraints]
        procedure, shared = procedure.with_constraints(rules), None
    options: dict[str, Any] = {"unenforceable": "score", "labels": trace.labels, "clock": None}
    return Guard(procedure, setting, shared=shared, **options)


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


def _replayed(trace: Trace, guard: Guard) -> Generator[float | None, None, Replay]:
    """Replays a trace; yields the time of what comes next, as far as it is known."""
    refused: dict[int, Decision] = {}
    turns = list(_turns(trace, guard.procedure.order))
    number = unreached = 0
    for said, calls in turns:
        for message in said:
            yield message.start
            about: dict[str, Any] = {"agent": message.agent, "usage": message.usage}
            guard.say(message.role, message.text, start=message.start, **about)
        yield (now := first_start(calls))
        if now is not None:
            guard.tick(now)
        decisions = guard.propose(calls) if calls else []
        yield max((call.end for call in calls if call.end is not None), default=None)
        for decision, call in zip(decisions, calls, strict=True):
            if decision.allowed:
                if call.result is not MISSING or call.failed:
                    told: dict[str, Any] = {"error": call.error, "usage": call.usage}
                    guard.record(decision, call.result, end=call.end, **told)
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
        procedure, part = guard.procedure, guard.procedure
        # The cause of a refusal by a rule across runs may lie in another run: none is looked for.
        across = {rule.name for rule in procedure.constraints if rule.across is not None}
        if across:
            from bylaw.enforcement.shared.judge import RuleParts  # most procedures have none

            part = procedure.derived(RuleParts).of[None]

        def judge() -> Judge:
            return Judge(procedure, guard.setting, trace.labels, part=part)

        in_run = {
            at: {rule: kind for rule, kind in broken.items() if rule not in across}
            for at, broken in rules.items()
        }
        causes = FirstCauses(judge, turns, in_run)
        own = {at: {*found, *(across & rules[at].keys())} for at, found in causes.own.items()}
        follows = causes.follows()
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
