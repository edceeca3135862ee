"""A replay blames first causes, and tells apart what it brought about by leaving a call out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notation import trace
from random_cases import cases
from strategies import data_formulas, data_traces, formulas, past_rules, traces

from bylaw import Call, Constraint, Procedure, Trace
from bylaw.cli.main import main
from bylaw.enforcement.joint.rules import joint_form
from bylaw.enforcement.replay import Replay, replay
from bylaw.logic.formula import Formula

DESK = {
    "no-verify": "G !verify",
    "verified": "G(pay -> O verify)",
    "told": "G(notify -> O pay)",
    "once": "CalledN(pay, <= 1)",
}


def _procedure(*names: str, **more: Any) -> Procedure:
    rules = [{"name": name, "rule": DESK.get(name, name), "severity": "ASK"} for name in names]
    return Procedure.from_dict({"finish": "free", "constraints": rules, **more})


def _shown(found: Replay) -> list[str]:
    """Each refused call: its number, its own rules, and rules with what they follow from."""
    return [
        " ".join(
            [
                f"#{each.call + 1}",
                *each.constraints,
                *(
                    f"{rule}<{','.join(f'#{call + 1}' for call in calls)}"
                    for rule, calls in each.follows.items()
                ),
            ]
        )
        for each in found.refused
    ]


CASES: dict[str, tuple[list[str], str, list[str]]] = {
    # title: rules, record, refused calls
    "a payment, because the verification was refused": (
        ["no-verify", "verified"],
        "get verify pay",
        ["#2 no-verify", "#3 verified<#2"],
    ),
    "a chain has one first cause": (
        ["no-verify", "verified", "told"],
        "verify pay notify",
        ["#1 no-verify", "#2 verified<#1", "#3 told<#1"],
    ),
    "each payment without a verification is a cause of its own": (
        ["verified"],
        "pay get pay",
        ["#1 verified", "#3 verified"],
    ),
    "so is each payment beyond the first": (["once"], "pay pay pay", ["#2 once", "#3 once"]),
    "a call may break one rule by itself and another in consequence": (
        ["no-verify", "verified", "G !pay"],
        "verify pay",
        ["#1 no-verify", "#2 G !pay verified<#1"],
    ),
    "either of two refusals would have been enough": (
        ["no-verify", "verified"],
        "verify verify pay",
        ["#1 no-verify", "#2 no-verify", "#3 verified<#1"],
    ),
    "only both together would have been enough": (
        ["G !{a, b}", "G(pay -> O a & O b)"],
        "a b pay",
        ["#1 G !{a, b}", "#2 G !{a, b}", "#3 G(pay -> O a & O b)<#1,#2"],
    ),
    "a refusal that has nothing to do with it is not the cause": (
        ["G !drop", "no-verify", "verified"],
        "drop verify pay",
        ["#1 G !drop", "#2 no-verify", "#3 verified<#2"],
    ),
    "nothing follows from one refusal alone": (["verified"], "pay", ["#1 verified"]),
}


@pytest.mark.parametrize("title", CASES)
def test_first_causes(title: str) -> None:
    rules, shown, expected = CASES[title]
    found = replay(trace(shown), _procedure(*rules))
    assert _shown(found) == expected
    assert [*found.refusals, *found.consequences] == sorted(
        found.refused, key=lambda each: not each.is_first_cause
    )
    assert found.actions.total() == len(found.refusals)


def test_an_answer_may_be_refused_in_consequence() -> None:
    procedure = _procedure("no-verify", "F verify", finish="met")
    found = replay(trace('verify "done"'), procedure)
    assert _shown(found) == ["#1 no-verify", "#2 F verify<#1"]
    assert _shown(replay(trace('get "done"'), procedure)) == ["#2 F verify"]


def test_a_call_of_an_unlisted_tool_is_a_cause() -> None:
    procedure = _procedure("G(pay -> Y call)", tools=["pay"], unlisted="block")
    found = replay(trace("look pay"), procedure)
    assert [(each.call, bool(each.problem)) for each in found.refused] == [(0, True), (1, False)]
    assert found.refused[1].follows == {"G(pay -> Y call)": (0,)}


def test_a_rule_that_clashed_is_a_cause_of_its_own() -> None:
    """The wrong amount twice: neither refusal follows from the other."""
    procedure = _procedure("CalledN(pay, = 1)", "CalledWith(pay, amount = 5)")
    found = replay(trace('pay{"amount":6} pay{"amount":7}'), procedure)
    assert _shown(found) == [
        "#1 CalledWith(pay, amount = 5)",
        "#2 CalledWith(pay, amount = 5)",
    ]


RULES = st.one_of(formulas(3), past_rules(), data_formulas(2))
RUNS = st.one_of(traces(max_size=7), data_traces(max_size=7))


@cases(150)
@given(st.lists(RULES, min_size=2, max_size=4), RUNS, st.sampled_from(["position", "step"]))
def test_a_rule_is_a_first_cause_where_it_refuses_by_itself(
    rules: list[Formula], subject: Trace, order: Any
) -> None:
    """Alone at the gate, a rule refuses the calls that it is the first cause of, and no others."""
    constraints = [Constraint(f"r{i}", rule, severity="ASK") for i, rule in enumerate(rules)]

    def gate(some: list[Constraint]) -> Replay:
        return replay(subject, Procedure(some, order=order, finish="free"))

    found = gate(constraints)
    alone = {each.name: {r.call for r in gate([each]).refused} for each in constraints}
    joint = {each.name for each in constraints if joint_form(each.formula) is not None}
    for each in found.refused:
        for rule in {*each.constraints, *each.follows} - joint:
            assert (rule in each.constraints) is (each.call in alone[rule])
        assert all(calls and max(calls) < each.call for calls in each.follows.values())


def test_the_command_tells_them_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rules = [{"name": n, "rule": DESK[n]} for n in ("no-verify", "verified", "told")]
    Path("p.json").write_text(json.dumps({"finish": "free", "constraints": rules}))
    run = Trace([Call(tool) for tool in ("get", "verify", "pay", "notify")])
    Path("run.json").write_text(json.dumps(run.to_record()))
    command = ["replay", "-p", "p.json", "run.json", "--setting", "soft-block"]
    assert main(command) == 1
    shown = capsys.readouterr().out
    assert "soft-block      block at #2 verify: no-verify\n" in shown
    assert "soft-block      #3 pay follows from the refusal of #2; 2 such\n" in shown
    assert "soft-block                   1       0        1" in shown
    assert "no-verify                      1\n" in shown
    assert "verified " not in shown
    assert main([*command, "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["replays"]
    assert [each["call"] for each in found["refusals"]] == [1]
    assert [each["follows"] for each in found["consequences"]] == [
        {"verified": [1]},
        {"told": [1]},
    ]
