"""The place where each rule is enforced, and the promise that a stated severity makes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from bylaw import Call, Guard, Procedure, SpecError, Trace, Vocabulary
from bylaw.cli.main import main
from bylaw.enforcement.coverage import (
    EnforcementPlace,
    coverage,
    find_broken,
    find_broken_promises,
)
from bylaw.enforcement.promises import broken_promises

WORDS = Vocabulary()


@WORDS.predicate
def approved(trace: Trace, at: int, metrics: Any) -> bool:
    """May become true later."""
    return False


@WORDS.predicate(false_is_final=True)
def known(trace: Trace, at: int, metrics: Any) -> bool:
    """Stays false once it is."""
    return False


@WORDS.extractor
def topics(trace: Trace, metrics: Any) -> list[str]:
    """Values known at the end."""
    return ["t"]


def _procedure(rule: str, severity: str | None = None, **fields: Any) -> Procedure:
    stated = {} if severity is None else {"severity": severity}
    constraint = {"name": "rule", "rule": rule, **stated}
    return Procedure.from_dict({**fields, "constraints": [constraint]}, vocabulary=WORDS)


CALL, ANSWER, LATE = "before the call", "at the answer", "afterwards"
PLACES: list[tuple[str, str, str, str]] = [
    # rule | where with finish: met | where with finish: free | part of the reason
    ("G(pay -> O get)", CALL, CALL, "such as `pay`"),
    ("CalledN(pay, <= 1)", CALL, CALL, "such as the last of `pay pay`"),
    ("CalledN(pay, = 1)", CALL, CALL, "is violated"),
    ("G(pay -> args.amount <= 100)", CALL, CALL, "such as `pay`"),
    ("G(pay -> earlier call(get, ok))", CALL, CALL, "such as `pay`"),
    ("G(pay -> last(get).result.open = true)", CALL, CALL, "such as `pay`"),
    ("G(sum(sofar(pay).args.amount) <= 500)", CALL, CALL, "such as `pay`"),
    ("G(pay -> sum(sofar(get).result.id) <= 0)", CALL, CALL, "waits for every outstanding result"),
    ('G(pay -> last(get).text contains "x")', CALL, CALL, "waits for every outstanding result"),
    ('forall n in results(get, "id"): G(pay -> call(pay, id = n))', CALL, CALL, "instance"),
    ("G !call(pay, failed) & G(pay -> O get)", CALL, CALL, "A result can also break it"),
    ("G(pay -> known)", CALL, CALL, "registered predicate"),
    ("Called(pay)", ANSWER, LATE, "No call can break it for good."),
    ("G(pay -> F tell)", ANSWER, LATE, "No call can break it for good."),
    ("G(final_answer -> O get)", ANSWER, ANSWER, "The gate refuses an answer that would break it."),
    ('answer contains "thanks"', ANSWER, LATE, "It is decided at the end"),
    ("F approved", ANSWER, LATE, "It is decided at the end"),
    ("G(pay -> F approved)", ANSWER, LATE, "It is decided at the end"),
    ("forall t in topics(): CalledWith(pay, id = t)", ANSWER, LATE, "It is decided at the end"),
    ("true", ANSWER, ANSWER, "Every run satisfies it."),
    ("G !call(pay, failed)", LATE, LATE, "Only a result or a message can break it"),
    ("G !(pay & result.left < 0)", LATE, LATE, "Only a result or a message can break it"),
    ("G(pay -> approved)", LATE, LATE, "A call can break it unnoticed: the open predicate"),
    ("forall t in topics(): G(pay -> call(pay, id = t))", LATE, LATE, "break it unnoticed"),
]


@pytest.mark.parametrize(("rule", "met", "free", "reason"), PLACES, ids=[p[0] for p in PLACES])
def test_where_a_rule_is_enforced(rule: str, met: str, free: str, reason: str) -> None:
    for finish, place in (("met", met), ("free", free)):
        (found,) = coverage(_procedure(rule, finish=finish))
        assert found.place == place, finish
        assert reason in found.reason


@pytest.mark.parametrize(("rule", "met", "free", "_"), PLACES, ids=[p[0] for p in PLACES])
@pytest.mark.parametrize("finish", ["met", "free"])
def test_a_gate_refuses_there_and_nowhere_before(
    rule: str, met: str, free: str, _: str, finish: str
) -> None:
    """Runs of up to three calls, of every outcome: what is refused is what the coverage says."""
    place = met if finish == "met" else free
    calls = [Call("get", {"id": 1}), Call("pay", {"id": 2, "amount": 400}), Call("tell")]
    refused: set[str] = set()
    for length, failed in product(range(4), [False, True]):
        for run in product(calls, repeat=length):
            guard = Guard(_procedure(rule, finish=finish), soft_block_limit=99)
            for call in run:
                (decision,) = guard.propose([call])
                if decision.allowed:
                    result: Any = {"id": 1, "open": False, "left": -1}
                    guard.record(decision, result, error="no" if failed else None)
                else:
                    refused.add("call")
            (decision,) = guard.propose([Call("final_answer", {"answer": "done"})])
            refused |= set() if decision.allowed else {"answer"}
    (found,) = coverage(_procedure(rule, finish=finish))
    assert ("call" in refused) is (place == CALL)
    assert ("answer" in refused) is ("refuses an answer" in found.reason)


KEPT = [("SOFT_BLOCK", False), ("ASK", False), ("BLOCK_AND_WARN", False), ("TOLERATE", True)]


@pytest.mark.parametrize(("severity", "kept"), [*KEPT, ("HARD_STOP", True), (None, True)])
def test_a_stated_severity_is_a_promise(severity: str | None, kept: bool) -> None:
    procedure = _procedure("G !call(pay, failed)", severity)
    if kept:
        assert Guard(procedure).coverage[0].place == "afterwards"
        return
    with pytest.raises(SpecError, match=f"the severity {severity} cannot be kept") as caught:
        Guard(procedure)
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.where) == ("E216", "constraint 'rule'")
    assert "HARD_STOP" in (problem.help or "")
    (covered,) = Guard(procedure, unenforceable="score").coverage
    assert not covered.kept
    for setting in ("baseline", "soft-block", "block-and-warn"):
        assert Guard(procedure, setting).setting == setting, "the severity as written does not act"


def test_all_promises_that_cannot_be_kept_are_told_at_once() -> None:
    rules = [
        {"name": "late", "rule": "G !call(pay, failed)", "severity": "ASK"},
        {"name": "unmet", "rule": "Called(pay)", "severity": "SOFT_BLOCK"},
        {"name": "default", "rule": "Called(get)"},
    ]
    procedure = Procedure.from_dict({"finish": "free", "constraints": rules})
    with pytest.raises(SpecError) as caught:
        Guard(procedure)
    told = [(each.where, each.help or "") for each in caught.value.diagnostics]
    assert [where for where, _ in told] == ["constraint 'late'", "constraint 'unmet'"]
    assert "`finish: met`" in told[1][1]
    assert [finding.constraints for finding in find_broken_promises(procedure)] == [
        ("late",),
        ("unmet",),
    ]


def test_a_hard_stop_that_a_result_breaks_ends_the_run() -> None:
    guard = Guard(_procedure("G !call(pay, failed)", "HARD_STOP"))
    (decision,) = guard.propose([Call("pay")])
    guard.record(decision, None, error="no funds")
    assert guard.stopped
    assert guard.coverage[0].reason.endswith("The run ends then.")


def test_rules_that_can_clash_say_with_which() -> None:
    rules = [
        {"name": "once", "rule": "CalledN(pay, <= 1)"},
        {"name": "five", "rule": "CalledWith(pay, amount = 5)", "severity": "SOFT_BLOCK"},
    ]
    for finish, place in (("met", ANSWER), ("free", LATE)):
        procedure = Procedure.from_dict({"finish": finish, "constraints": rules})
        guard = Guard(procedure, unenforceable="score")
        assert guard.coverage[1].place == place, "under free, the agent may still finish"
        assert "could not be met together with once." in guard.coverage[1].reason
        assert not guard.propose([Call("pay", {"amount": 6})])[0].allowed


def test_whether_a_severity_is_stated_survives_a_file() -> None:
    rules = [{"name": "a", "rule": "G !a"}, {"name": "b", "rule": "G !b", "severity": "SOFT_BLOCK"}]
    procedure = Procedure.from_dict({"constraints": rules})
    again = Procedure.from_dict(json.loads(json.dumps(procedure.to_dict())))
    assert [rule.stated for rule in coverage(again)] == [False, True]
    assert [rule.severity for rule in coverage(again)] == ["SOFT_BLOCK", "SOFT_BLOCK"]


ANALYSED = [
    ("G(pay -> F log)", None, False),
    ("G(pay -> F log)", "TOLERATE", False),
    ("G(pay -> F log)", "ASK", True),
    ("G(pay -> args.o = 1 | !(args.o = 1))", "ASK", False),
    ("G(pay -> earlier call(get, ok) & last(get).result.status = 1)", "ASK", False),
    ("G(pay -> result = 1)", "ASK", True),
    ("G !call(pay, failed)", "ASK", True),
    ("G(pay -> O call(pay, ok))", "ASK", True),
]


@pytest.mark.parametrize(("rule", "severity", "analysed"), ANALYSED)
def test_only_doubtful_promises_are_analysed_when_a_guard_is_made(
    rule: str, severity: str | None, analysed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that judges each call by its arguments and the past is kept, whatever breaks it."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("analysed")

    monkeypatch.setattr("bylaw.enforcement.coverage.enforceability", fail)
    with pytest.raises(AssertionError, match="analysed") if analysed else nullcontext():
        Guard(_procedure(rule, severity))


@pytest.mark.parametrize("rule", dict.fromkeys(rule for rule, *_ in PLACES))
@pytest.mark.parametrize("events", ["calls", "all"])
def test_a_promise_that_is_not_analysed_is_kept(rule: str, events: str) -> None:
    procedure = _procedure(rule, "ASK", events=events)
    assert broken_promises(procedure) == tuple(find_broken(procedure, [0]))


def test_commands_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    procedure = _procedure("G !call(pay, failed)", "SOFT_BLOCK")
    Path("p.json").write_text(json.dumps(procedure.to_dict()))
    Path("t.json").write_text('{"tool_calls": [{"tool_name": "get"}]}')
    place: EnforcementPlace = "afterwards"
    commands = {
        ("lint", "p.json"): 1,
        ("explain", "rule", "-p", "p.json"): 0,
        ("replay", "-p", "p.json", "t.json"): 0,
    }
    for command, code in commands.items():
        assert main([*command]) == code
        shown = " ".join(capsys.readouterr().out.split())
        assert place in shown
        assert "Only a result or a message can break it" in shown
        assert main([*command, "--json"]) == code
        found = json.loads(capsys.readouterr().out)["coverage"]
        (covered,) = found if isinstance(found, list) else [found]
        assert (covered["place"], covered["kept"]) == (place, False)
    assert main(["lint", "p.json"]) == 1
    assert "warning[W518]" in capsys.readouterr().out
    assert main(["view", "t.json", "-p", "p.json", "-o", "v.html"]) == 0
    page = Path("v.html").read_text()
    assert "Only a result or a message can break it" in page
