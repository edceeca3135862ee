"""Random formulas on random traces: the checker accepts true certificates, and rejects lies.

BYLAW_CERTIFICATES is the number of pairs of each law; each of them is forged in some twenty ways.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import strategies
from forging import Case, case_of, edited, lies, procedure_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_cases import chosen_number

import bylaw_check
from bylaw import Trace, parse, to_json, to_text, verify_trace
from bylaw.logic.formula import Formula
from bylaw.texts.occurrence import mentions

PAIRS = chosen_number("BYLAW_CERTIFICATES", 100)
LAW = settings(max_examples=PAIRS, deadline=None, suppress_health_check=list(HealthCheck))
FORMULAS = st.one_of(
    strategies.formulas(),
    strategies.quantified(),
    strategies.data_formulas(),
    strategies.past_rules(),
).filter(lambda formula: "shell(" not in to_text(formula))  # commands are only parsed by Bylaw
SETTINGS = st.tuples(st.sampled_from(["position", "step"]), st.sampled_from(["calls", "all"]))


@LAW
@given(FORMULAS, strategies.data_traces(), SETTINGS)
def test_a_true_certificate_is_accepted(formula: Formula, trace: Trace, how: Any) -> None:
    why = case_of(procedure_of(formula, *how), trace).rejected()
    assert why is None or (" mentions " in to_text(formula) and "'mentions', of" in why)


@LAW
@given(FORMULAS, strategies.data_traces(), SETTINGS, st.integers(0, 2**32))
def test_a_lie_is_rejected(formula: Formula, trace: Trace, how: Any, seed: int) -> None:
    for what, lie in lies(case_of(procedure_of(formula, *how), trace), Random(seed)):
        assert lie.rejected() is not None, what


@LAW
@given(FORMULAS, strategies.data_traces(), SETTINGS, st.integers(0, 2**32))
def test_of_another_trace_only_what_is_true_of_it_is_accepted(
    formula: Formula, trace: Trace, how: Any, seed: int
) -> None:
    procedure, random = procedure_of(formula, *how), Random(seed)
    case = case_of(procedure, trace)
    for _ in range(3):
        record = edited(case.record, random)
        other = Trace.from_record(record)
        true = verify_trace(other, procedure).constraints[0].outcome.value
        # The certificate of one run, shown with the record of the other, both ways round.
        for told, shown, actual in (
            (case.certificate, record, true),
            (case_of(procedure, other).certificate, case.record, outcome(case)),
        ):
            if outcome(Case(told, shown, case.rules)) != actual:
                assert Case(told, shown, case.rules).rejected() is not None


@LAW
@given(FORMULAS, FORMULAS, strategies.data_traces(), SETTINGS)
def test_a_certificate_of_another_rule_is_rejected(
    formula: Formula, other: Formula, trace: Trace, how: Any
) -> None:
    case = case_of(procedure_of(formula, *how), trace)
    forged = case_of(procedure_of(other, *how), trace)
    if forged.rules != case.rules:
        assert Case(forged.certificate, case.record, case.rules).rejected() is not None


@LAW
@given(FORMULAS)
def test_the_text_of_a_rule_is_read_as_bylaw_reads_it(formula: Formula) -> None:
    text = to_text(formula)
    rules = bylaw_check.Rules({})
    assert rules.root(text) == rules.root(to_json(parse(text)))


WORDS = st.sampled_from(
    [
        "ann",
        "Ann",
        "W123",
        "#W123",
        "5",
        "$5",
        "5.00",
        "1,000",
        "1000",
        "1e3",
        "0x10",
        "16",
        "2024-05-15",
        "2024-05-16",
        "12",
        "-12",
        "12kg",
        "0",
        "é",
        "ﬁ",
        "٣",
        "https://www.x.org/a/",
        "x.org/a",
        "joann@x.org",
        "ann@x.org",
        "A-12",
        "foo_bar",
        "foo",
        "a.b",
        "HAT001",
        "HAT002",
        "1.2.3",
        "of",
        "10:30",
        "May",
        "15th",
        "5/15/2024",
        "USD",
        "\xad",
        "&amp;",
        "&",
        "[1,2]",
        '{"k":"ann"}',
        "\\n",
        '\\"',
        "/",
        "#",
        "1_000",
        "2e5",
    ]
)
TEXTS = st.lists(st.tuples(WORDS, st.sampled_from(["", " ", ".", ", ", "-", "/", "@", "\n", "'"])))
SAID = TEXTS.map(lambda pairs: "".join(word + after for word, after in pairs))
NUMBERS = st.sampled_from([5, 12, 1000, 1.5, 0, -12, 3.0, 200000])
VALUES = st.recursive(SAID | NUMBERS, lambda inner: st.lists(inner) | st.dictionaries(SAID, inner))


@LAW
@given(VALUES, WORDS | NUMBERS | VALUES)
def test_where_the_checker_decides_what_a_text_mentions_bylaw_agrees(whole: Any, part: Any) -> None:
    with suppress(bylaw_check.NotChecked):
        assert bylaw_check.mentions(whole, part) is mentions(whole, part)


def outcome(case: Case) -> str:
    told: str = case.certificate["rules"][0]["outcome"]
    return told
