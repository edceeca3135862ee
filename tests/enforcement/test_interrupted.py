"""Whatever is raised in the middle of a change, at whatever line: the run is as before, or over."""

from __future__ import annotations

import gc
import json
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from every_engine import LOOKUP, VERIFIED, VERIFY, new_guard, refund
from interrupts import Interrupt, chosen_lines, interrupted_at

from bylaw import AuditLog, Call, Guard, Procedure, Trace, UsageError, Vocabulary
from bylaw.audit.check import check
from bylaw.enforcement.decision import Decision
from bylaw.values import Json, canonical


class Scene:
    """A run in which much is open: a result, a warning, an approval."""

    def __init__(self, log: AuditLog, *, answered: bool) -> None:
        self.guard = new_guard(log=log, run_id="0123456789abcdef")
        self.guard.say("user", "Refund me.")
        (lookup,) = self.guard.propose([LOOKUP])
        (verify,) = self.guard.propose([VERIFY])
        self.guard.record(lookup, {"found": True})
        self.guard.record(verify, VERIFIED)
        (self.wire,) = self.guard.propose([Call("wire", {"amount": 200})])
        self.refund, warned = self.guard.propose([refund(9), refund(60)])
        assert [self.wire.action, self.refund.action, warned.action] == ["ask", "allow", "warn"]
        self.guard.say("assistant", "Done, I think.")
        if answered:
            assert self.guard.propose([Call("final_answer", {"answer": "done"})])[0].allowed


def _said(decisions: list[Decision]) -> Any:
    return [(each.action, [v.constraint.name for v in each.violations]) for each in decisions]


CHANGES: dict[str, Callable[[Scene], Any]] = {
    "propose": lambda s: _said(s.guard.propose([LOOKUP, refund(60), refund(800)])),
    "propose an answer": lambda s: _said(
        s.guard.propose([VERIFY, Call("final_answer", {"answer": "done"})])
    ),
    "record": lambda s: s.guard.record(s.refund, {"paid": 5}),
    "abandon": lambda s: s.guard.abandon(s.refund),
    "say": lambda s: s.guard.say("user", "Thank you."),
    "approve": lambda s: s.guard.approve(s.wire),
    "withdraw": lambda s: s.guard.withdraw(),
    "finish": lambda s: s.guard.finish("done").score,
    "save": lambda s: bool(s.guard.save()),
}


def _state(guard: Guard) -> str:
    """The saved run, without the times of its events."""

    def timeless(value: Json) -> Json:
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if k not in ("time", "seal")}
        return [timeless(each) for each in value] if isinstance(value, list) else value

    return canonical(timeless(guard.save()))


def _check_over(guard: Guard) -> None:
    """The run has ended, refuses everything, and says why, wherever it is continued."""
    restored = new_guard()
    restored.restore(json.loads(json.dumps(guard.save())))
    for each in (guard, restored):
        assert each.stopped
        for decision in each.propose([LOOKUP, VERIFY]):
            assert decision.action == "stop"
            assert "was interrupted" in decision.message
        with pytest.raises(UsageError, match="was interrupted"):
            each.say("user", "And now?")
        report = each.finish()
        assert (report.score, report.stopped) == (None, True)
        assert "was interrupted" in (report.reason or "")


@pytest.mark.parametrize("change", CHANGES)
def test_some_lines(change: str, tmp_path: Path) -> None:
    _interrupt(change, tmp_path, most=25)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_every_line(change: str, tmp_path: Path) -> None:
    _interrupt(change, tmp_path)


def _interrupt(change: str, folder: Path, *, most: int | None = None) -> None:
    make = CHANGES[change]
    paths = (folder / f"{number}.jsonl" for number in count())

    @contextmanager
    def scene() -> Iterator[Scene]:
        path = next(paths)
        with AuditLog(path, durable=False) as log:
            yield Scene(log, answered=change == "withdraw")
        assert check(path).problem is None

    with scene() as undisturbed:
        expected = make(undisturbed)  # the first run makes what all runs share
    with scene() as undisturbed:
        before = _state(undisturbed.guard)
        with interrupted_at(0) as lines:
            assert make(undisturbed) == expected
        after = _state(undisturbed.guard)
    unharmed = 0
    for number in chosen_lines(lines, most=most):
        with scene() as run:
            with interrupted_at(number), pytest.raises(Interrupt):
                make(run)
            if run.guard.stopped:
                _check_over(run.guard)
                continue
            unharmed += 1
            assert _state(run.guard) == before, lines[number - 1]
            assert make(run) == expected, lines[number - 1]
            assert _state(run.guard) == after, lines[number - 1]
    assert unharmed, "what is checked first leaves the run as it is"
    with scene() as undisturbed:
        assert make(undisturbed) == expected, "what runs share is intact"


# ── while a person is asked, and in functions of the user's ───────────────────────────────


def _asking(ask: Callable[..., bool]) -> Guard:
    constraints = [
        {"name": "asked", "rule": "G !wire", "severity": "ASK"},
        {"name": "warned", "rule": "G !pay", "severity": "BLOCK_AND_WARN"},
    ]
    stated = {"unlisted": "allow", "constraints": constraints}
    return Guard(Procedure.from_dict(stated), ask=ask, clock=lambda: 0.0)


WIRE, PAY = Call("wire"), Call("pay")


def test_a_turn_in_which_nothing_was_decided_is_taken_back() -> None:
    def ask(*_: object) -> bool:
        raise Interrupt

    guard = _asking(ask)
    guard.propose([PAY])
    guard.say("assistant", "I insist.")
    before = _state(guard)
    with pytest.raises(Interrupt):
        guard.propose([WIRE])
    assert _state(guard) == before
    assert guard.propose([PAY])[0].overridden == ("warned",), "the turn never happened"


def test_the_turns_of_others_stay() -> None:
    def ask(*_: object) -> bool:
        assert guard.propose([Call("other")])[0].allowed
        raise Interrupt

    guard = _asking(ask)
    with pytest.raises(Interrupt):
        guard.propose([WIRE])
    assert not guard.stopped
    assert [each.call.tool for each in guard.awaiting] == ["other"]
    assert guard.propose([PAY])[0].action == "warn"


def test_a_function_that_is_interrupted_ends_the_run() -> None:
    vocabulary = Vocabulary()

    @vocabulary.predicate(false_is_final=True)
    def slow(trace: Trace, at: int, metrics: Any) -> bool:
        if trace[at].args:
            signal.raise_signal(signal.SIGUSR1)
        return True

    def interrupt(*_: object) -> None:
        raise Interrupt

    constraints = [{"name": "slow", "rule": "G(pay -> slow())"}]
    stated = {"finish": "free", "unlisted": "allow", "constraints": constraints}
    guard = Guard(Procedure.from_dict(stated, vocabulary=vocabulary))
    handler = signal.signal(signal.SIGUSR1, interrupt)
    try:
        assert guard.propose([PAY])[0].allowed
        with pytest.raises(Interrupt):
            guard.propose([Call("other"), Call("pay", {"now": True})])
    finally:
        signal.signal(signal.SIGUSR1, handler)
    (refused,) = guard.propose([PAY])
    assert refused.action == "stop"
    assert "`propose` was interrupted" in refused.message
    assert guard.finish().score is None


@pytest.fixture
def no_collection_callbacks() -> Iterator[None]:
    """Python ignores exceptions in callbacks of its collector; Hypothesis has one."""
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    yield
    gc.callbacks[:] = callbacks


@pytest.mark.usefixtures("no_collection_callbacks")
def test_signals_at_any_moment() -> None:
    """A turn that an interrupt took away never counts: it was not decided, or the run is over."""

    def interrupt(*_: object) -> None:
        raise Interrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    choose = random.Random(7)
    constraints = [{"name": "few", "rule": "CalledN(pay, <= 3)"}]
    few = Procedure.from_dict({"unlisted": "allow", "constraints": constraints})
    over = 0
    try:
        for _ in range(3000):
            guard = Guard(few)
            guard.propose([PAY])
            decisions: list[Decision] = []
            try:
                signal.setitimer(signal.ITIMER_REAL, choose.uniform(1e-6, 2e-4))
                decisions = guard.propose([PAY, PAY])
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                pass
            if decisions:  # they arrived, so that the caller can run them or give them up
                continue
            if guard.stopped:
                over += 1
                assert guard.propose([PAY])[0].action == "stop"
            else:
                actions = [each.action for each in guard.propose([PAY, PAY, PAY])]
                assert actions == ["allow", "allow", "block"]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert over
