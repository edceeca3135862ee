"""Every occurrence of a violation is listed, and not only the first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from notation import trace
from strategies import formulas, traces

from bylaw import Call, Constraint, Message, Outcome, Procedure, Trace, verify_trace
from bylaw.cli.main import main
from bylaw.logic.formula import Always, Formula
from bylaw.scoring.occurrences import summary
from bylaw.scoring.verify import MAX_SENTENCES, ConstraintResult
from bylaw.semantics.evaluation import holds


def _result(rule: str | Formula, subject: Trace, **more: Any) -> ConstraintResult:
    if isinstance(rule, str):
        constraints = [{"name": "r", "rule": rule}]
        procedure = Procedure.from_dict({"constraints": constraints, **more})
    else:
        procedure = Procedure([Constraint("r", rule)], **more)
    return verify_trace(subject, procedure).constraints[0]


@pytest.mark.parametrize(
    ("rule", "shown", "calls"),
    [
        ("G(c -> X a)", "a c b c c a c", [1, 3, 6]),
        ("G !c", "a c b c", [1, 3]),
        ("!F c", "a c b c", [1, 3]),
        ("G(c -> F b)", "c b c c", [2, 3]),
        ("G(c -> O b)", "c c b c", [0, 1]),
        ("G(c -> G a)", "c a b", [0]),
        ("G(a -> X b) & G !b", "a c a b", [0, 3]),
        ("G(a -> !b) & F z", "a b", [None]),
        ("F z & F y", "a", [None, None]),
        ("!c W b", "c c", [None]),
        ("CalledN(c, <= 1)", "c c c", [None]),
        ('forall t in ["a", "b"]: G !t', "b a b", [1, 0, 2]),
        ("forall n in [1, 2]: CalledWith(z, i = n)", "a", [None, None]),
        ("G(final_answer -> O b)", 'c "done"', [1]),
        ("G(c -> X a)", "c a", []),
        ("G(z -> F a)", "c", []),
    ],
)
def test_a_rule_is_broken_at(rule: str, shown: str, calls: list[int | None]) -> None:
    found = _result(rule, trace(shown)).to_dict()["occurrences"]
    assert [each.get("call") for each in found] == calls
    assert all(each["detail"].endswith(".") for each in found)


def test_a_message_can_break_a_rule() -> None:
    subject = Trace([Message("user", "a"), Call("c"), Message("user", "b")])
    result = _result("G !says(user)", subject, events="all")
    assert [each.get("message") for each in result.to_dict()["occurrences"]] == [0, 2]
    assert summary(result.occurrences) == (
        "Broken 2 times: the user message (event #1); the user message (event #3)."
    )


@given(formulas(3), traces(max_size=8))
def test_an_always_is_broken_exactly_where_its_operand_is_false(
    operand: Formula, subject: Trace
) -> None:
    result = _result(Always(operand), subject)
    found = [each.position for each in result.occurrences]
    row = result.evaluation.row(operand)
    seen = range(len(result.evaluation.view))
    assert found == [at for at in seen if not row[at].is_true]
    assert bool(found) is (result.outcome is Outcome.VIOLATED)


@given(formulas(4), traces(max_size=8))
def test_a_rule_is_broken_somewhere_if_it_is_violated(rule: Formula, subject: Trace) -> None:
    result = _result(rule, subject)
    assert bool(result.occurrences) is not holds(rule, subject)
    for each in result.occurrences:
        assert each.detail
        assert set(each.witness) <= set(range(len(result.evaluation.view)))


def test_a_long_list_is_bounded_in_text_and_complete_in_json() -> None:
    result = _result("G !c", Trace([Call("c")] * 2000))
    assert summary(result.occurrences) == (
        "Broken 2,000 times: at calls #1, #2, #3, #4, #5, #6, #7, #8, #9, #10 and 1,990 more."
    )
    found = result.to_dict()["occurrences"]
    assert [each["call"] for each in found] == list(range(2000))
    assert ["detail" in each for each in found] == [True] * MAX_SENTENCES + [False] * 1900


def test_values_tell_occurrences_apart() -> None:
    result = _result("forall n in [1, 2]: CalledWith(z, i = n)", trace("a"))
    assert summary(result.occurrences) == "Broken 2 times: with n = 1; with n = 2."
    assert [each.detail for each in result.occurrences] == [
        f'With n = {n}, "z" was never called; expected i = {n}.' for n in (1, 2)
    ]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tools = ["refund", "verify", "refund", "lookup", "refund", "refund"]
    calls = [{"tool_name": tool} for tool in tools]
    Path("run.json").write_text(json.dumps({"tool_calls": calls}))
    Path("p.yaml").write_text("constraints: [{name: looked-up, rule: G(refund -> Y lookup)}]")


@pytest.mark.usefixtures("desk")
def test_verify_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "-p", "p.yaml", "run.json"]) == 1
    assert "Broken 3 times: at calls #1, #3, #6." in capsys.readouterr().out
    main(["verify", "-p", "p.yaml", "run.json", "--json"])
    (rule,) = json.loads(capsys.readouterr().out)["traces"][0]["constraints"]
    assert [each["call"] for each in rule["occurrences"]] == [0, 2, 5]


@pytest.mark.usefixtures("desk")
def test_explain_gives_the_reason_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "looked-up", "-p", "p.yaml", "run.json"]) == 1
    shown = capsys.readouterr().out
    assert "It is broken 3 times:" in shown
    assert 'Call #3 is "refund", but call #2 is "verify", which is not "lookup".' in shown
