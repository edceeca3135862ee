"""Hard cases: the verdicts of a careful reader, written down before there was an implementation."""

from __future__ import annotations

from pathlib import Path

import pytest
from grounding_notation import Case, cases

from bylaw import Procedure, verify_trace

CASES = list(cases(Path(__file__).with_name("adversarial.cases")))


def _name(case: Case) -> str:
    return case.title


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_verdict(case: Case) -> None:
    report = case.grounding().check(case.trace())
    named = [entity.text for entities in report.by_class().values() for entity in entities]
    assert (report.verdict, sorted([*named, *map(str, report.misplaced)])) == (
        case.verdict,
        sorted(case.ungrounded),
    ), f"{case.place}: {case.why}"


OUTCOMES = {"grounded": "satisfied", "ungrounded": "violated", "vacuous": "vacuous"}


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_the_rule_says_the_same(case: Case) -> None:
    """`check` and the rule agree on every trace, under every setting."""
    grounding = case.grounding()
    rules = [{"name": "grounded", "rule": "forall e in entities(answer): grounded(e)"}]
    if grounding.location:
        rules[0]["rule"] = (
            f"({rules[0]['rule']}) & (forall c in citations(answer): defined_in(c.symbol, c.file))"
        )
    procedure = Procedure.from_dict({"constraints": rules}, vocabulary=grounding.vocabulary())
    (result,) = verify_trace(case.trace(), procedure).constraints
    assert result.outcome.value == OUTCOMES[case.verdict], f"{case.place}: {result.detail}"


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 60
    assert all(case.verdict in OUTCOMES and case.why for case in CASES)
    assert len({case.title for case in CASES}) == len(CASES)
