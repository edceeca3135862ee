"""`bylaw replay`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bylaw import Call, Message, Procedure, Trace
from bylaw.cli.main import main
from bylaw.enforcement.replay import Replayer, replay
from bylaw.enforcement.severity import SETTINGS

DESK = Path(__file__).parent.parent.parent / "examples" / "refund-desk"


def test_replay_lists_what_each_setting_would_have_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    traces = [str(DESK / "good.json"), str(DESK / "bad.json")]
    assert main(["replay", "-p", str(DESK / "procedure.yaml"), *traces]) == 1
    shown = capsys.readouterr().out
    assert "soft-block      block at #2 refund: verify-first" in shown
    assert "block-and-warn  warn at #2 refund: verify-first" in shown
    assert "good.json" not in shown


def test_replay_of_good_runs_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["replay", "-p", str(DESK / "procedure.yaml"), str(DESK / "good.json"), "--json"]
    assert main([*arguments, "--setting", "soft-block"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["replays"]
    assert found == {
        "setting": "soft-block",
        "calls": 4,
        "refusals": [],
        "consequences": [],
        "score": 1.0,
        "stopped": False,
        "unreached": 0,
        "lost": [],
    }


def test_replay_lists_lost_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No call could have been refused for them: a result or a message broke them."""
    rules = [
        {"name": "works", "rule": "G !call(get, failed)"},
        {"name": "calm", "rule": 'G !(says(user) & text contains "!")', "events": "all"},
        {"name": "no-b", "rule": "G !b"},
    ]
    (tmp_path / "p.json").write_text(json.dumps({"bylaw": 1, "constraints": rules}))
    run = Trace([Message("user", "Now!"), Call("get", error="timeout"), Call("get", error="again")])
    (tmp_path / "run.json").write_text(json.dumps(run.to_record()))
    (tmp_path / "good.json").write_text(json.dumps(Trace([Call("get")]).to_record()))
    files = [str(tmp_path / name) for name in ("run.json", "good.json")]
    command = ["replay", "-p", str(tmp_path / "p.json"), *files, "--setting", "soft-block"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "soft-block      lost through a result or message: calm, works" in shown
    assert "unreached  lost\nsoft-block                   0       0" in shown
    assert "0          0     2\n" in shown
    for line in ("rule   traces that lost it", f"calm {'1':>21}", f"works {'1':>20}"):
        assert f"{line}\n" in shown
    assert "good.json" not in shown
    assert main([*command, "--json"]) == 0
    found = [json.loads(line)["replays"][0] for line in capsys.readouterr().out.splitlines()]
    assert [each["lost"] for each in found] == [["calm", "works"], []]


def test_a_refused_call_has_no_effect() -> None:
    """The second refund is the first that runs, because the first was refused."""
    rules = [
        {"name": "first", "rule": "G(refund -> O verify)"},
        {"name": "once", "rule": "CalledN(refund, <= 1)"},
    ]
    procedure = Procedure.from_dict({"constraints": rules})
    calls = [Call("refund"), Call("verify", result="ok"), Call("refund", result="ok")]
    found = replay(Trace(calls), procedure)
    assert [(r.call, r.constraints) for r in found.refusals] == [(0, ("first",))]
    assert found.score == 1.0


def test_results_and_messages_are_taken_in() -> None:
    rules = [{"name": "ok", "rule": "G(pay -> earlier call(look, ok))"}]
    procedure = Procedure.from_dict({"constraints": rules, "failed": "text ~ /^Error/"})
    good = Trace([Call("look", result="fine"), Call("pay")])
    bad = Trace([Call("look", result="Error: no"), Call("pay")])
    assert not replay(good, procedure).refusals
    assert [refusal.call for refusal in replay(bad, procedure).refusals] == [1]


def test_the_answer_is_proposed_too() -> None:
    rules = [{"name": "must", "rule": "Called(look)"}]
    procedure = Procedure.from_dict({"finish": "met", "constraints": rules})
    found = replay(Trace([Call("pay")], answer="done"), procedure)
    assert [(r.call, r.tool, r.constraints) for r in found.refusals] == [
        (1, "final_answer", ("must",))
    ]
    assert found.calls == 1
    assert not replay(Trace([Call("look")], answer="done"), procedure).refusals


def test_calls_after_the_end_count_against_no_rule() -> None:
    rules = [{"name": "no-b", "rule": "G !b", "severity": "HARD_STOP"}]
    procedure = Procedure.from_dict({"constraints": rules})
    found = replay(Trace([Call(tool) for tool in "abab"], answer="done"), procedure)
    assert [refusal.call for refusal in found.refusals] == [1]
    assert (found.stopped, found.unreached) == (True, 3)


def test_one_gate_replays_any_number_of_runs() -> None:
    """No state carries over to the next run; labels are those of the run."""
    rules = [
        {"name": "once", "rule": "CalledN(a, <= 1)", "layer": "L5"},
        {"name": "gold", "rule": 'G(b -> labels.tier = "gold")', "severity": "HARD_STOP"},
    ]
    procedure = Procedure.from_dict({"constraints": rules})
    traces = [
        Trace([Call("a"), Call("a", result=1)], labels={"tier": tier} if tier else None)
        for tier in (None, "gold", None)
    ]
    traces += [Trace([Call("b")], labels={"tier": tier}) for tier in ("gold", "silver")]
    for setting in SETTINGS:
        gate = Replayer(procedure, setting)
        for trace in traces:
            assert gate.replay(trace) == replay(trace, procedure, setting)


def test_outstanding_results_of_one_run_do_not_affect_the_next() -> None:
    rules = [{"name": "verified", "rule": "G(refund -> earlier call(verify, ok))"}]
    procedure = Procedure.from_dict({"constraints": rules})
    verified = [Call("verify"), Call("verify", result="ok")]
    gate = Replayer(procedure)
    assert gate.replay(Trace(verified)).refusals == ()
    found = gate.replay(Trace([*verified, Call("refund", result="done")]))
    assert (found.refusals, found.score) == ((), 1.0)


def test_values_of_one_run_are_unknown_to_the_next() -> None:
    rules = [{"name": "closed", "rule": 'forall x in args(open, "id"): F call(close, id = x)'}]
    procedure = Procedure.from_dict({"constraints": rules})
    gate = Replayer(procedure)
    assert gate.replay(Trace([Call("open", {"id": 1})])).score == 0.0
    both = Trace([Call("open", {"id": 2}), Call("close", {"id": 2})])
    assert gate.replay(both).score == 1.0


def test_a_message_after_a_call_comes_after_it() -> None:
    rules = [{"name": "asked", "rule": "G(refund -> O says(user))"}]
    procedure = Procedure.from_dict({"constraints": rules, "events": "all"})
    refund, yes = Call("refund", step=0), Message("user", "yes", 0)
    assert replay(Trace([refund, yes]), procedure).refusals != ()
    assert replay(Trace([yes, refund]), procedure).refusals == ()


def test_a_setting_that_is_named_twice_counts_once(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["replay", "-p", str(DESK / "procedure.yaml"), str(DESK / "bad.json")]
    once = main([*command, "--setting", "soft-block"]), capsys.readouterr().out
    twice = main([*command, *["--setting", "soft-block"] * 2]), capsys.readouterr().out
    assert once == twice


def test_only_enforced_rules_are_named() -> None:
    rules = [
        {"name": "soft", "rule": "G !b"},
        {"name": "values", "rule": "G !b", "layer": "L6"},
    ]
    procedure = Procedure.from_dict({"constraints": rules})
    found = replay(Trace([Call("b")]), procedure, "soft-block")
    assert found.refusals[0].constraints == ("soft",)


def test_replay_reports_what_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "damaged.json").write_text("{")
    traces = [str(tmp_path / "damaged.json"), str(DESK / "bad.json")]
    assert main(["replay", "-p", str(DESK / "procedure.yaml"), *traces, "--json"]) == 2
    captured = capsys.readouterr()
    damaged, read = map(json.loads, captured.out.splitlines())
    assert damaged["errors"][0]["code"] == "E315"
    assert read["replays"][0]["refusals"][0]["call"] == 1
    assert "error[E315]" in captured.err
