"""First causes: the refusals of a replay that the replay itself brought about.

A replay leaves a refused call out, and a later call may then be refused only because the earlier
one is missing: the payment, because the verification before it was refused. The record is followed
once more as it was made, with every call executed. A rule that a call breaks there, too, is a first
cause. A rule that it breaks only in the replay follows from an earlier refusal: from one with which
it would not have been broken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Final, TypeAlias

from bylaw.enforcement.decision import ViolationKind
from bylaw.enforcement.judge import Judge
from bylaw.frozen import replace
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Message

RecordedTurns: TypeAlias = Sequence[tuple[Sequence[Message], Sequence[Call]]]
"""The turns of a record: messages, then calls. Calls are numbered through."""
BrokenRules: TypeAlias = Mapping[str, ViolationKind]
"""The rules that a call breaks, each with the kind of the violation."""
MAX_CAUSES: Final = 20
"""The number of earlier refusals that are tried, one by one, as the cause of a later one."""


def first_start(calls: Sequence[Call]) -> float | None:
    """The time at which the first of these calls starts, as far as they say."""
    return min((call.start for call in calls if call.start is not None), default=None)


class FirstCauses:
    """Tells the rules that a refused call breaks by itself from those that follow from a refusal.

    `refused` are the calls that a replay refused, by number, with the rules that they broke: none,
    if a call was malformed.
    """

    def __init__(
        self,
        judge: Callable[[], Judge],
        turns: RecordedTurns,
        refused: Mapping[int, BrokenRules],
    ) -> None:
        self._judge: Final = judge
        self._turns: Final = turns
        self._refused: Final = refused
        self._calls: Final = sum(len(calls) for _, calls in turns)
        record = _Followed(judge(), turns, set(range(self._calls)), set())
        self.own: Final = {
            at: {rule for rule, kind in rules.items() if record.breaks(at, rule, kind)}
            for at, rules in refused.items()
        }
        """For each refused call, the rules that it breaks in the record, too."""

    def follows(self) -> dict[int, dict[str, tuple[int, ...]]]:
        """For each refused call, its other rules, with the refusals that they follow from."""
        found: dict[int, dict[str, tuple[int, ...]]] = {
            at: dict.fromkeys(rest, ())
            for at, rules in self._refused.items()
            if (rest := [rule for rule in rules if rule not in self.own[at]])
        }
        if not found:
            return found
        malformed = {at for at, rules in self._refused.items() if not rules}
        causes = [at for at in self._refused if self.own[at] or at in malformed]
        ran = set(range(self._calls)) - self._refused.keys()
        for cause in causes[:MAX_CAUSES]:
            with_it = _Followed(self._judge(), self._turns, ran | {cause}, malformed - {cause})
            for at, rules in found.items():
                for rule, known in rules.items():
                    kind = self._refused[at][rule]
                    if cause < at and not known and not with_it.breaks(at, rule, kind):
                        rules[rule] = (cause,)
        for at, rules in found.items():  # where no single one suffices, all of them together do
            together = tuple(cause for cause in causes if cause < at)
            rules.update({rule: known or together for rule, known in rules.items()})
        return found


class _Followed:
    """A record in which some calls run, whatever rules they break, and others if they break none.

    The calls of `never` do not run.
    """

    def __init__(self, judge: Judge, turns: RecordedTurns, ran: Set[int], never: Set[int]) -> None:
        self._judge = judge
        self._names = [constraint.name for constraint in judge.procedure.constraints]
        self._ran, self._never = ran, never
        self._step = 0
        self._speaking = False
        self._broken: list[set[str]] = []
        self._excused: list[set[str]] = []
        """For each call, the rules that an earlier call was excused from."""
        for said, calls in turns:
            for message in said:
                self._hear(message)
            if calls:
                self._take(calls)

    def breaks(self, at: int, rule: str, kind: ViolationKind) -> bool:
        """Does the call break the rule? A rule that was excused takes no part in joint tests."""
        return rule in self._broken[at] or (kind == "joint" and rule in self._excused[at])

    def _pass_time(self, now: float | None) -> None:
        if now is not None:
            self._judge.excuse([i for i, _ in self._judge.tick(now)], "")

    def _hear(self, message: Message) -> None:
        self._step += self._speaking
        self._pass_time(message.start)
        self._judge.hear(replace(message, step=self._step))
        self._speaking = message.role == "assistant"
        self._step += not self._speaking

    def _take(self, calls: Sequence[Call]) -> None:
        executed: list[tuple[int, Call]] = []
        self._pass_time(first_start(calls))
        for call in calls:
            step = self._judge.answer_step if call.tool == FINAL_ANSWER else self._step
            proposed = replace(call, step=step, result=MISSING, error=None, end=None, usage=None)
            trial = self._judge.attempt(proposed, step)
            broken = {self._names[i] for i, each in trial.violations.items() if each.enforced}
            self._excused.append({self._names[i] for i in self._judge.excused})
            self._broken.append(broken)
            number = len(self._broken) - 1
            if number in self._never or (broken and number not in self._ran):
                trial.take_back()
                continue
            trial.keep(dict.fromkeys(trial.violations, ""))
            executed.append((self._judge.monitors.length - 1, call))
        self._step, self._speaking = self._step + 1, False
        for position, call in executed:
            if call.tool != FINAL_ANSWER and (call.result is not MISSING or call.failed):
                self._judge.record(position, call)
