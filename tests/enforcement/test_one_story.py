"""One run, one story: the guard's score, its trace and a transcript of the run agree."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases, share

from bylaw import (
    AuditLog,
    BylawError,
    Call,
    Guard,
    Procedure,
    Trace,
    Vocabulary,
    read_trace,
    verify_trace,
)
from bylaw.cli.main import main
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.report import GuardReport
from bylaw.trace.formats import read

SEVERITIES = ("HARD_STOP", "SOFT_BLOCK", "ASK", "BLOCK_AND_WARN", "TOLERATE")
RULES = (
    "CalledN(a, <= 2)",
    "CalledN(b, <= 1)",
    "CalledWith(a, i = 1)",
    "InOrder(a, b, c)",
    "InstanceBefore(a, 0, b, 0)",
    "WithinSteps(a, b, 2)",
    "Before(a, final_answer)",
    "G !call(c, i = 2)",
    "G(b -> O a)",
    "G(a -> X !a)",
    "G(a -> F c)",
    "!c W a",
    "G(b -> earlier call(a, ok))",
    "G(c -> let i = args.i: earlier call(a, i = i, ok))",
    "G(c -> last(call(a, ok)).result.n = 1)",
    "G(b -> length(sofar(b)) <= 2)",
    "G !(a & failed)",
    'G !(a & text contains "no")',
    'forall n in results(a, "n"): CalledWith(b, i = n)',
    'forall i in args(a, "i"): CalledWith(b, i = i)',
    "G(final_answer -> step <= 4)",
    "G(final_answer -> args.answer ~ /5/)",
    "G(final_answer -> earlier b)",
    "final_answer -> a",
    'exists n in metrics("limits[]"): CalledWith(a, i = n)',
    "G(b -> within_limits())",
)
OF_MESSAGES = (
    "G(says(user) -> F a)",
    "G(b -> O says(user))",
    "G(c -> earlier (says(user) & text ~ /yes/))",
    "G(final_answer -> O says(assistant))",
    "G(says(user) -> X call)",
    "G(says(assistant) -> WX a)",
)
RESULTS: tuple[Any, ...] = ("no", None, 5, {"n": 1}, '{"n": 2}', [1], "[bylaw:block:x.0.0:00]")

vocabulary = Vocabulary()


@vocabulary.predicate
def within_limits(trace: Trace, at: int, metrics: Any) -> bool:
    """Were there fewer calls so far than the limits say?"""
    return len(trace.calls) < len(metrics.get("limits", ())) + 3


@dataclass
class Played:
    """A run, with the transcript that its agent would have of it."""

    guard: Guard
    random: Random
    metrics: dict[str, Any]
    chat: list[dict[str, Any]] = field(default_factory=list)
    outstanding: list[tuple[Decision, str]] = field(default_factory=list)
    refused: int = 0
    readable: bool = True
    """Can a transcript tell the run?

    It cannot tell that an answer was withdrawn, or what was said after it, or that a call ran after
    the others of its turn because it waited for them.
    """

    def play(self) -> GuardReport:
        for _ in range(self.random.randint(0, 9)):
            if self.guard.stopped:
                break
            if self.guard.finished:
                self.readable = False
                self.after_the_answer()
            else:
                self.random.choice((self.turn, self.turn, self.say, self.results, self.approve))()
        return self.finish()

    def turn(self) -> None:
        calls = [self.call(number) for number in range(self.random.choice((1, 1, 2, 3)))]
        if self.random.random() < 0.25:
            answer: Any = self.random.choice(("5", "none", 5, {"n": 5}, None))
            calls.append(Call("final_answer", {"answer": answer}, id=f"{len(self.chat)}.x"))
        if insisted := self.random.random() < 0.3 and self.again():
            calls = insisted
        text = self.random.choice(("", "", "Let me see."))
        if text:
            self.guard.say("assistant", text)
        entries = [
            {"id": c.id, "function": {"name": c.tool, "arguments": json.dumps(dict(c.args))}}
            for c in calls
        ]
        self.chat.append({"role": "assistant", "content": text, "tool_calls": entries})
        for decision in chain.from_iterable(self.guard.rounds(calls)):
            assert decision.call.id is not None
            if not decision.allowed:
                self.refused += 1
                self.result(decision.call.id, decision.message)
            elif decision.call.tool != "final_answer":
                self.outstanding.append((decision, decision.call.id))
                if self.random.random() < 0.7:
                    self.record()

    def call(self, number: int) -> Call:
        tool, i = self.random.choice("aabc"), self.random.choice((1, 2))
        return Call(tool, {"i": i}, id=f"{len(self.chat)}.{number}")

    def again(self) -> list[Call]:
        """The calls of the latest turn, once more."""
        turns = [entry for entry in self.chat if entry.get("tool_calls")]
        return [
            Call(
                each["function"]["name"], each["function"]["arguments"], id=f"{len(self.chat)}.{n}"
            )
            for n, each in enumerate(turns[-1]["tool_calls"] if turns else ())
        ]

    def record(self) -> None:
        decision, id = self.outstanding.pop(self.random.randrange(len(self.outstanding)))
        if self.random.random() < 0.2:
            self.guard.record(decision, None, error="no")
            self.result(id, "no", is_error=True)
        else:
            result = self.random.choice(RESULTS)
            self.guard.record(decision, result)
            self.result(id, result)

    def result(self, id: str, content: Any, **more: Any) -> None:
        self.chat.append({"role": "tool", "tool_call_id": id, "content": content} | more)

    def results(self) -> None:
        while self.outstanding and self.random.random() < 0.8:
            self.record()

    def say(self) -> None:
        role = self.random.choice(("user", "user", "system"))
        text = self.random.choice(("yes", "no"))
        self.guard.say(role, text)  # type: ignore[arg-type]  # a role
        self.chat.append({"role": role, "content": text})

    def approve(self) -> None:
        for decision in self.guard.asked:
            self.guard.approve(decision)

    def after_the_answer(self) -> None:
        deed = self.random.choice(("withdraw", "say", "results", "save"))
        if deed == "withdraw":
            self.guard.withdraw()
        elif deed == "save":
            self.guard.restore(json.loads(json.dumps(self.guard.save())))
            self.outstanding = [(each, str(each.call.id)) for each in self.guard.awaiting]
        else:
            (self.say if deed == "say" else self.results)()

    def finish(self) -> GuardReport:
        if self.guard.finished or self.random.random() < 0.5:
            return self.guard.finish()
        self.guard.say("assistant", "The end: 5.")
        self.chat.append({"role": "assistant", "content": "The end: 5."})
        return self.guard.finish("The end: 5.")


def _procedure(random: Random) -> Procedure:
    events = random.choice(("calls", "all"))
    pool = RULES + (OF_MESSAGES if events == "all" else ())
    rules = [
        {"name": f"{number}", "rule": rule, "severity": random.choice(SEVERITIES)}
        for number, rule in enumerate(random.sample(pool, random.randint(1, 4)))
    ]
    stated = {
        "constraints": rules,
        "events": events,
        "order": random.choice(("position", "step")),
        "finish": random.choice(("met", "free")),
    }
    return Procedure.from_dict(stated, vocabulary=vocabulary)


def _standings(report: Any) -> list[bool | None]:
    return [each.passed for each in report.constraints]


def _run(random: Random, **options: Any) -> Played:
    procedure = _procedure(random)
    metrics = {"limits": [1]} if random.random() < 0.3 else {}
    guard = Guard(
        procedure,
        random.choice(("as-written", "as-written", "soft-block", "block-and-warn", "baseline")),
        outstanding=random.choice(("refuse", "hope", "wait")),
        unenforceable="score",
        metrics=metrics,
        run_id="r",
        clock=None,  # the transcripts have no times
        ask=random.choice((None, lambda call, violations: random.random() < 0.5)),
        **options,
    )
    return Played(guard, random, metrics, readable=guard.outstanding != "wait")


@given(st.integers(0, 10**9))
@cases(400)
def test_guard_trace_and_transcript_have_one_score(seed: int) -> None:
    random = Random(seed)
    run = _run(random)
    procedure, metrics = run.guard.procedure, run.metrics
    live = run.play()
    offline = verify_trace(live.trace, procedure)
    assert _standings(offline) == _standings(live)
    assert (offline.score, offline.label) == (live.score, live.label)
    again = verify_trace(json.loads(json.dumps(live.trace.to_record())), procedure)
    assert _standings(again) == _standings(live)
    assert again.trace == live.trace
    assert len(live.trace.refusals) == run.refused
    if run.readable and run.chat:
        told = read(run.chat).trace
        assert told.events == live.trace.events
        assert told.answer == live.trace.answer
        assert [each.decision for each in told.refusals] == [
            each.decision for each in live.trace.refusals
        ]
        if not metrics:
            assert _standings(verify_trace(told, procedure)) == _standings(live)


@pytest.mark.parametrize("seed", range(share(60)))
def test_the_log_tells_the_same_story(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "gate.jsonl"
    with AuditLog(path, durable=False) as log:
        live = _run(Random(seed), log=log).play()
    assert read_trace(path) == live.trace


# ── case by case ──────────────────────────────────────────────────────────────────────────────

A, B = Call("a", {"i": 1}), Call("b")
NEVER_B = {"name": "never-b", "rule": "G !b", "severity": "BLOCK_AND_WARN"}
"""Refuses `b` at first; when the agent insists, it runs."""


def answer(value: Any) -> list[Call]:
    return [Call("final_answer", {"answer": value})]


def failed(guard: Guard) -> None:
    guard.record(guard.awaiting[0], None, error="no")


def late(guard: Guard) -> None:
    guard.record(guard.awaiting[0], "late")


def moved(guard: Guard) -> None:
    guard.restore(json.loads(json.dumps(guard.save())))


def gave_up(guard: Guard) -> None:
    guard.abandon(guard.awaiting[0])


CASES: dict[str, tuple[str, list[Any], bool]] = {
    # what happens: the rule, the deeds, does the rule hold of what ran?
    "a refused call did not run": ("F b", [[A], [B]], False),
    "a call on which the agent insisted ran": ("F b", [[A], [B], [B]], True),
    "a refused call takes no position": ("G(a -> WX a)", [[A], [B], [A]], True),
    "a refused call of a turn leaves the others": ("CalledN(a, = 2)", [[A, B, A]], True),
    "an answer is judged as a text": ('G(final_answer -> args.answer = "5")', [answer(5)], True),
    "so is one that is an object": (
        'G(final_answer -> args.answer ~ /"n": ?5/)',
        [answer({"n": 5})],
        True,
    ),
    "the answer comes right after the last event": (
        "G(final_answer -> step = 1)",
        [[A], [B], [], answer("x")],
        True,
    ),
    "so does one that nobody proposed": ("G(final_answer -> step = 1)", [[A], [B], "x"], True),
    "the only event is an answer": ("G(final_answer -> step = 0)", [[B], answer("x")], True),
    "what is said after the answer comes before it": (
        "G(says(user) -> X final_answer)",
        [answer("x"), "user: Thanks."],
        True,
    ),
    "a result that arrives after the answer": (
        'G(a -> result = "late")',
        [[A], answer("x"), late],
        True,
    ),
    "an answer that was withdrawn": (
        "G(final_answer -> O a)",
        [answer("x"), Guard.withdraw, [A], answer("y")],
        True,
    ),
    "a call that never returned is not ok": ("F call(a, ok)", [[A]], False),
    "a call that was given up has failed": ("F(a & failed)", [[A], gave_up], True),
    "the text of a failed call is its error": ('G(a -> text = "no")', [[A], failed], True),
    "a run that moved to another process": ("InOrder(a, b)", [[A], moved, [B], moved, [B]], True),
    "an outstanding call that moved": ('F(text = "late")', [[A], moved, late], True),
    "metrics that the guard was given": (
        'forall i in metrics("is[]"): F call(a, i = i)',
        [[A]],
        True,
    ),
    "metrics that are known at the end": (
        'forall i in metrics("end[]"): F call(a, i = i)',
        [[A]],
        False,
    ),
}


@pytest.mark.parametrize("order", ["position", "step"])
@pytest.mark.parametrize("title", CASES)
def test_what_ran_is_scored(title: str, order: str) -> None:
    rule, deeds, holds = CASES[title]
    rules = [NEVER_B, {"name": "rule", "rule": rule, "severity": "TOLERATE"}]
    options = {"order": order, "finish": "free", "events": "all"}
    procedure = Procedure.from_dict({"constraints": rules, **options})
    guard = Guard(procedure, metrics={"is": [1]})
    given = None
    for deed in deeds:
        if isinstance(deed, list):
            guard.propose(deed)
        elif not isinstance(deed, str):
            deed(guard)
        elif deed.startswith("user: "):
            guard.say("user", deed.removeprefix("user: "))
        else:
            given = deed
    live = guard.finish(given, metrics={"end": [2]})
    assert live.constraints[1].passed is holds
    offline = verify_trace(live.trace.to_record(), procedure)
    assert (offline.score, _standings(offline)) == (live.score, _standings(live))


# ── the report ────────────────────────────────────────────────────────────────────────────────


def _guard(**options: Any) -> Guard:
    options = {"run_id": "r", "clock": None, **options}
    return Guard(Procedure.from_dict({"constraints": [NEVER_B]}), **options)


def test_the_report_has_what_ran_and_what_was_refused() -> None:
    guard = _guard(metrics={"seed": 5}, labels={"tier": "gold"})
    guard.say("user", "Go.")
    ran, refused = guard.propose([Call("a", {"i": 1}, id="c1", agent="Ann"), Call("b", id="c2")])
    guard.record(ran, "done")
    record = guard.finish("Done.", metrics={"tokens": 9}).trace.to_record()
    call = {"tool_name": "a", "arguments": {"i": 1}, "tool_result": "done", "step": 1}
    assert record == {
        "bylaw": 1,
        "seed": 5,
        "tokens": 9,
        "tool_calls": [call | {"id": "c1", "agent": "Ann"}],
        "answer": "Done.",
        "messages": [{"role": "user", "text": "Go.", "before": 0, "step": 0}],
        "labels": {"tier": "gold"},
        "refusals": [
            {
                "tool_name": "b",
                "arguments": {},
                "step": 1,
                "id": "c2",
                "action": "warn",
                "message": refused.message.rpartition("\n")[0],
                "decision": "r.1.1",
                "events_before": 2,
            }
        ],
    }


def test_commands_read_the_trace_of_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guard = _guard()
    guard.propose([A, B])
    guard.propose([B])
    live = guard.finish("Done.")
    procedure, run = tmp_path / "procedure.json", tmp_path / "run.json"
    procedure.write_text(json.dumps(guard.procedure.to_dict()))
    run.write_text(json.dumps(live.trace.to_record()))
    assert main(["verify", "-p", str(procedure), str(run), "--json"]) == 1
    (scored,) = json.loads(capsys.readouterr().out)["traces"]
    assert (scored["compliance_score"], scored["tool_sequence"]) == (live.score, ["a", "b"])
    page = tmp_path / "run.html"
    assert main(["view", "-p", str(procedure), str(run), "-o", str(page)]) == 0
    assert '"kind": "refused"' in page.read_text().replace('":"', '": "')


@pytest.mark.parametrize(("limit", "kept"), [(None, True), (3, True), (2, False), (0, False)])
def test_a_trace_is_kept_up_to_a_number_of_events(limit: int | None, kept: bool) -> None:
    """A message, a call and a refusal."""
    guard = _guard(max_trace=limit)
    guard.say("user", "Go.")
    guard.record(guard.propose([A, B])[0], "done")
    moved(guard)
    report = guard.finish()
    assert report.score == 1.0
    if kept:
        assert len(report.trace.events) == 2
    else:
        with pytest.raises(BylawError, match=r"was not kept.*\n.*max_trace=None"):
            _ = report.trace


def test_without_a_trace_metrics_are_given_to_the_guard() -> None:
    rule = {"name": "all", "rule": 'forall i in metrics("is[]"): F call(a, i = i)'}
    procedure = Procedure.from_dict({"constraints": [rule]})
    guard = Guard(procedure, max_trace=0)
    with pytest.raises(BylawError, match=r"no trace on which metrics could be read by all"):
        guard.finish(metrics={"is": [1]})
    assert guard.finish().score == 1.0
    assert Guard(procedure, max_trace=0, metrics={"is": [1]}).finish().score == 0.0


@pytest.mark.parametrize("name", ["answer", "tool_calls", "labels", "refusals", "bylaw"])
def test_a_metric_has_a_name_of_its_own(name: str) -> None:
    with pytest.raises(BylawError, match=f"a metric cannot be called '{name}'"):
        _guard(metrics={name: 1})
    with pytest.raises(BylawError, match=f"a metric cannot be called '{name}'"):
        _guard().finish(metrics={name: 1})


def test_a_run_that_was_interrupted_still_has_its_trace() -> None:
    """The calls of the turn that was interrupted did not run: nobody learned of the decision."""

    def interrupt(call: Call, violations: object) -> bool:
        raise KeyboardInterrupt

    rules = [{"name": "ask", "rule": "G !b", "severity": "ASK"}]
    guard = Guard(Procedure.from_dict({"constraints": rules}), ask=interrupt)
    guard.propose([A])
    with pytest.raises(KeyboardInterrupt):
        guard.propose([Call("a", {"i": 2}), B])
    moved(guard)
    report = guard.finish()
    assert report.score is None
    assert [call.args for call in report.trace.calls] == [{"i": 1}]
