"""Candidates mean what they say: the runs that break one are those that mining counts."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from bylaw import Call, Trace, parse
from bylaw.mining.candidate import KINDS
from bylaw.mining.labels import RunLabels
from bylaw.mining.mine import candidates_of, events_of
from bylaw.mining.runs import Runs
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.trace.event import Message

TOOLS = ("get", "list", "pay", "ship", "ping")


def _random_trace(choose: random.Random) -> Trace:
    ids = [f"N-{choose.randrange(40)}" for _ in range(2)]
    events: list[Call | Message] = []
    step = 0
    now = 1000.0
    for _ in range(choose.randint(0, 9)):
        step += choose.random() < 0.8
        now += choose.choice((0, 3, 20, 100.5))
        if choose.random() < 0.2:
            step += 1
            text = choose.choice(("Yes.", "no", f"It is {ids[0]}."))
            events.append(Message("user", text, step))
            step += 1
            continue
        tool = choose.choice(TOOLS)
        args: dict[str, object] = {"id": choose.choice(ids), "n": choose.randrange(6)}
        args["day"] = f"2026-0{choose.randint(1, 9)}-{choose.choice(('01', '12', '28'))}"
        args |= {"mode": choose.choice(("fast", "slow")), "tag": choose.choice(("x", "y", "z"))}
        if choose.random() < 0.1:
            args.pop("id")
        result: object = {"ok": True}
        if tool == "get":
            result = {"state": choose.choice(("open", "shut")), "n": choose.randrange(6)}
        elif tool == "list":
            result = {"ids": ids[: choose.randint(1, 2)], "by": {ids[0]: 1}}
        error = "down" if choose.random() < 0.1 else None
        events.append(Call(tool, args, result, step, error, start=now))
    return Trace(events)


@pytest.mark.parametrize("seed", range(3))
def test_every_candidate_is_broken_by_the_runs_that_break_it(seed: int) -> None:
    choose = random.Random(seed)
    traces = [_random_trace(choose) for _ in range(60)]
    runs = Runs(traces, [choose.random() < 0.5 for _ in traces])
    everything = candidates_of(runs, RunLabels(runs.good, 2.0))  # each rule, however often broken
    seen: Counter[str] = Counter()
    chosen = {kind: [c for c in everything if c.kind == kind] for kind in KINDS}
    for kind, candidates in chosen.items():
        for candidate in choose.sample(candidates, min(25, len(candidates))):
            formula = parse(candidate.rule)
            events = events_of(candidate.rule)
            views = [view_of(formula, trace, events=events) for trace in traces]
            broken = [not evaluate(formula, view).value.is_true for view in views]
            wrong = np.flatnonzero(np.array(broken) != candidate.violated)
            assert wrong.size == 0, f"{candidate.rule}: {traces[wrong[0]].to_record()}"
            seen[kind] += 1
    assert len(seen) >= len(KINDS) - 3, set(KINDS) - set(seen)
