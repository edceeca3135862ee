"""Every rule of the examples is shown by traces: that satisfy it, violate it, tell it from others.

Each trace is judged again by the reference.
"""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path

import pytest
from weakened import weakened

from bylaw import Procedure, Trace, Vocabulary
from bylaw.procedure.procedure import Constraint
from bylaw.scoring.repair import repair
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.semantics.examples.reading_options import ReadingOptions
from bylaw.semantics.examples.shortest import difference, examples
from bylaw.semantics.verdict import FALSE, TRUE, Value
from bylaw.syntax.printer import to_text

pytestmark = pytest.mark.slow  # each search is short, and all of them take a minute

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*/procedure.yaml"))


@cache
def loaded(path: Path) -> Procedure:
    """The procedure, with the functions that it needs."""
    if path.parent.name != "figure-1":
        return Procedure.load(path)
    vocabulary: Vocabulary = runpy.run_path(str(path.parent / "grounding.py"))["vocabulary"]
    return Procedure.load(path, vocabulary=vocabulary)


RULES = [(path, rule.name) for path in FILES for rule in loaded(path).constraints]
NAMES = [f"{path.parent.name}/{name}" for path, name in RULES]


def setting_of(procedure: Procedure, rule: Constraint) -> ReadingOptions:
    """The rule's settings; functions are run."""
    events, tools = procedure.events_of(rule), tuple(procedure.tools or ())
    return ReadingOptions(
        procedure.order, events, procedure.vocabulary, procedure.marked, tools, run_functions=True
    )


def value_of(formula: object, trace: Trace, setting: ReadingOptions) -> Value:
    """The value by the reference."""
    rule: object = formula
    view = view_of(
        rule,  # type: ignore[arg-type]  # a formula
        setting.seen(trace),
        setting.order,
        setting.events,
        setting.vocabulary,
    )
    return evaluate(rule, view).value  # type: ignore[arg-type]  # a formula


def test_all_examples_are_here() -> None:
    assert len(FILES) == len(list(EXAMPLES.glob("*/procedure.yaml")))
    assert len(RULES) > 90


@pytest.mark.parametrize(("path", "name"), RULES, ids=NAMES)
def test_a_rule_has_examples(path: Path, name: str) -> None:
    procedure = loaded(path)
    rule = procedure[name]
    setting = setting_of(procedure, rule)
    found = examples(rule.formula, setting)
    assert found.satisfying is not None
    assert value_of(rule.formula, found.satisfying, setting) is TRUE, "something is checked"
    assert found.violating is not None
    assert value_of(rule.formula, found.violating, setting) is FALSE
    assert len(found.violating.events) <= 6
    mended = repair(found.violating, procedure, name)
    if mended is not None:
        assert value_of(rule.formula, mended.apply(found.violating), setting).is_true


SAME = {
    'G(let d = date(start, "Europe/Berlin"): '
    'length(sofar(export & date(start, "Europe/Berlin") = d)) <= 3)': (
        "the first event that breaks it is an export"
    ),
    "G(let i = args.id: length(sofar(call(charge, id = i))) <= 3)": (
        "the first event that breaks it is a charge"
    ),
    # Rules that mean the same without a condition, which no machine can prove.
    "G(let t = tool, a = args: !Y(failed & tool = t & args = a))": "a message has no tool",
    'G length(unique(sofar(call({like("find_user_id_by_*")}, ok)).result)) <= 1': (
        "the first event that breaks it is such a call"
    ),
    'G({like("find_user_id_by_*")} -> '
    'length(unique(sofar(call({like("find_user_id_by_*")}, ok)).result)) <= 1)': (
        "the first event that breaks it is such a call"
    ),
}


def weaker_rules(*, every: int) -> list[tuple[Path, str, int]]:
    """Each rule with each of its conditions dropped; only one in so many."""
    cases = [
        (path, name, number)
        for path, name in RULES
        for number in range(len(weakened(loaded(path)[name].formula)))
    ]
    return cases[::every]


def check_difference(path: Path, name: str, number: int) -> None:
    """A trace shows that a condition matters, or it is proved that it does not."""
    procedure = loaded(path)
    rule = procedure[name]
    weaker = weakened(rule.formula)[number]
    setting = setting_of(procedure, rule)
    found = difference(rule.formula, weaker, setting)
    if to_text(weaker) in SAME:
        assert found.trace is None
        return
    assert found.decided, to_text(weaker)
    if found.trace is not None:
        verdicts = [value_of(each, found.trace, setting) for each in (rule.formula, weaker)]
        assert verdicts[0].is_true is found.old_holds
        assert verdicts[1].is_true is not found.old_holds


@pytest.mark.parametrize(("path", "name", "number"), weaker_rules(every=8))
def test_a_condition_makes_a_difference(path: Path, name: str, number: int) -> None:
    check_difference(path, name, number)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "name", "number"), weaker_rules(every=1))
def test_every_condition_makes_a_difference(path: Path, name: str, number: int) -> None:
    check_difference(path, name, number)
