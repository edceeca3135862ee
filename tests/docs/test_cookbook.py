"""Every rule of the cookbook does what its page says."""

from __future__ import annotations

import pytest
from cookbook import CookbookRule, cookbook, written_run

from bylaw import Outcome
from bylaw.enforcement.coverage import coverage
from bylaw.enforcement.replay import replay

RULES = list(cookbook())


def _need(rule: CookbookRule) -> str:
    return rule.need


def _outcome(rule: CookbookRule, lines: list[str]) -> Outcome:
    return rule.procedure.verify(written_run(lines)).constraints[0].outcome


@pytest.mark.parametrize("rule", RULES, ids=_need)
def test_one_run_keeps_the_rule_and_one_breaks_it(rule: CookbookRule) -> None:
    assert _outcome(rule, rule.keeps) is Outcome.SATISFIED
    assert _outcome(rule, rule.breaks) is Outcome.VIOLATED


@pytest.mark.parametrize("rule", RULES, ids=_need)
def test_a_gate_refuses_the_run_that_breaks_the_rule(rule: CookbookRule) -> None:
    assert not replay(written_run(rule.keeps), rule.procedure).refusals
    (covered,) = coverage(rule.procedure)
    if covered.place == "before the call":
        assert replay(written_run(rule.breaks), rule.procedure).refusals


def test_no_two_needs_are_the_same() -> None:
    assert len({rule.need for rule in RULES}) == len(RULES)
