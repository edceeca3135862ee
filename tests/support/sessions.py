"""Runs that share rules, and the one long run that they are compared with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

from bylaw import Call, Decision, Guard, GuardReport, Procedure, SharedRules, StreamEntry
from bylaw.enforcement.shared.entries import StreamEntry as Entry
from bylaw.values import Json

RULES = (
    "G(refund -> sum(sofar(refund).args.amount) <= 12)",
    "G(refund -> sum(sofar(refund & !call(refund, failed)).args.amount) <= 9)",
    "G(refund -> sum(sofar(refund, 30 s).args.amount) <= 6)",
    "G(refund -> let i = args.id: length(sofar(call(refund, id = i))) <= 2)",
    "G(refund -> let i = args.id: earlier call(lookup, id = i, ok))",
    "G(close -> let o = last(call(lookup, ok)).result: o.state = 1)",
    "G(refund -> O approve within 40 s)",
    "CalledN(approve, <= 4)",
    "InstanceBefore(approve, 0, close, 0)",
    "!close W approve",
    "G(close -> X lookup)",
    "G(approve -> F refund)",
    "WithinSteps(approve, refund, 6)",
    "InOrder(lookup, approve, refund, close)",
    'forall i in args(refund, "id"): CalledWith(lookup, id = i)',
    "G(close -> F lookup within 20 s)",
    "G(call(approve, failed) -> X !close)",
)
"""Rules of every engine: machines, quantifiers, registers, windows, deadlines, joint plans."""
TOOLS = ("lookup", "refund", "approve", "close")
Answer: TypeAlias = tuple[str, tuple[tuple[str, str], ...], bool]
"""A decision: its action, the rules with the kinds of violations, and whether it was certain."""


def procedure(rules: Sequence[str], *, across: str | None, **more: Any) -> Procedure:
    """These rules, all of them across one label, or none."""
    field = {} if across is None else {"across": f"labels.{across}"}
    constraints = [{"name": f"r{n}", "rule": rule, **field} for n, rule in enumerate(rules)]
    return Procedure.from_dict({"constraints": constraints, **more})


def answer(decision: Decision) -> Answer:
    """The parts of a decision that do not depend on its run."""
    broken = tuple((v.constraint.name, v.kind) for v in decision.violations)
    return decision.action, broken, decision.decided


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class ListStore:
    """A store in memory, which reads and writes entries as JSON."""

    def __init__(self, stored: Iterable[dict[str, Any]] = ()) -> None:
        self.stored = list(stored)

    def read(self, label: str, value: str, after: int = -1) -> list[StreamEntry]:
        """The entries of a stream after a number, in order."""
        found = map(Entry.from_dict, self.stored)
        stream = (each for each in found if (each.label, each.value) == (label, value))
        return [each for each in stream if each.number > after]

    snapshots: Mapping[tuple[str, str], Json] = {}

    def snapshot(self, label: str, value: str) -> Json:
        """The latest snapshot."""
        return self.snapshots.get((label, value))

    def append(self, entry: StreamEntry) -> None:
        """Adds an entry."""
        assert entry.number == len(self.read(entry.label, entry.value)), "it is the next one"
        self.stored.append(entry.to_dict())


class Script:
    """A random stream of turns, results and pauses, the same for every way to cut it."""

    def __init__(self, seed: int, turns: int = 25) -> None:
        rng = Random(seed)
        self.rules = rng.sample(RULES, rng.randint(1, 5))
        self.order = rng.choice(("position", "step"))
        self.turns = [self._turn(rng) for _ in range(turns)]

    def _turn(self, rng: Random) -> tuple[float, list[Call], list[Any]]:
        """The pause before it, its calls, and a result, an error or nothing for each."""
        calls = [
            Call(rng.choice(TOOLS), {"id": rng.randrange(2), "amount": rng.randrange(1, 5)})
            for _ in range(rng.choice((1, 1, 1, 2, 3)))
        ]
        outcomes = [rng.choice(({"state": 1}, {"state": 0}, "error", None)) for _ in calls]
        return rng.choice((0.0, 0.5, 7.0, 25.0)), calls, outcomes

    def play(
        self,
        guards: Iterable[Guard],
        clock: Clock,
        before_each: Callable[[], None] = lambda: None,
    ) -> list[Answer]:
        """Each turn at the next guard; results arrive after the next turn, if they do.

        `before_each` is called before every change.
        """
        found: list[Answer] = []
        late: list[tuple[Guard, Decision, Any]] = []
        for (pause, calls, outcomes), guard in zip(self.turns, guards, strict=False):
            clock.now += pause
            before_each()
            decisions = guard.propose(calls)
            found += map(answer, decisions)
            waiting, late = late, []
            for decision, outcome in zip(decisions, outcomes, strict=True):
                if decision.allowed and outcome is not None:
                    late.append((guard, decision, outcome))
            for at, decision, outcome in waiting:
                failed = outcome == "error"
                before_each()
                at.record(decision, None if failed else outcome, error=outcome if failed else None)
        return found

    def as_one_run(self) -> tuple[list[Answer], GuardReport]:
        """The decisions of one long run."""
        clock = Clock()
        rules = procedure(self.rules, across=None, order=self.order, finish="free")
        guard = Guard(rules, soft_block_limit=10**6, clock=clock, unenforceable="score")
        return self.play(itertools.repeat(guard), clock), guard.finish()

    def shared(self, **options: Any) -> SharedRules:
        """The rules, to be shared."""
        rules = procedure(self.rules, across="customer", order=self.order, finish="free")
        return SharedRules(rules, **options)


def guard_of(shared: SharedRules, clock: Clock, value: str = "c7", **more: Any) -> Guard:
    """A new run under a value of the label."""
    options: dict[str, Any] = {"soft_block_limit": 10**6, "unenforceable": "score", **more}
    return Guard(
        shared.procedure, labels={"customer": value}, shared=shared, clock=clock, **options
    )
