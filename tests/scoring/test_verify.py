"""The score is `1 − Σ violated weights / Σ weights`; the label is decided on the set."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notation import trace

from bylaw import (
    Call,
    Constraint,
    Message,
    Outcome,
    Procedure,
    SpecError,
    Trace,
    Vocabulary,
    parse,
    verify_trace,
)


def procedure(*rules: tuple[str, float], **settings: Any) -> Procedure:
    constraints = [
        {"name": f"c{i}", "rule": rule, "weight": weight} for i, (rule, weight) in enumerate(rules)
    ]
    return Procedure.from_dict({"constraints": constraints}, **settings)


@pytest.mark.parametrize(
    ("shown", "score", "label"),
    [("a b", 1.0, "FULL"), ("a", 0.25, "PARTIAL"), ("b", 0.75, "PARTIAL"), (".", 0.0, "NONE")],
)
def test_score_and_label(shown: str, score: float, label: str) -> None:
    report = verify_trace(trace(shown), procedure(("Called(a)", 1), ("Called(b)", 3)))
    assert report.score == pytest.approx(score)
    assert report.label == label


def test_a_tiny_violated_weight_is_not_full() -> None:
    report = verify_trace(trace("a"), procedure(("Called(a)", 1e99), ("Called(b)", 1e-99)))
    assert report.label == "PARTIAL"


def test_all_violated_is_exactly_zero() -> None:
    rules = [("Called(z)", weight) for weight in (0.1, 0.2, 0.3, 0.7)]
    assert verify_trace(trace("a"), procedure(*rules)).score == 0.0


@given(st.lists(st.tuples(st.booleans(), st.floats(1e-3, 1e3)), min_size=1, max_size=8))
def test_the_score_is_the_formula_of_the_paper(rules: list[tuple[bool, float]]) -> None:
    written = [("true" if holds else "false", weight) for holds, weight in rules]
    report = verify_trace(trace("a"), procedure(*written))
    lost = sum(weight for holds, weight in rules if not holds)
    assert report.score == pytest.approx(1 - lost / sum(weight for _, weight in rules))
    violated = sum(not holds for holds, _ in rules)
    expected = "FULL" if not violated else "NONE" if violated == len(rules) else "PARTIAL"
    assert report.label == expected


def test_layers_have_pass_rates() -> None:
    spec = {
        "constraints": [
            {"name": "x", "rule": "Called(a)", "layer": "L1"},
            {"name": "y", "rule": "Called(b)", "layer": "L1"},
            {"name": "z", "rule": "Called(a)"},
        ]
    }
    report = verify_trace(trace("a"), Procedure.from_dict(spec))
    assert {name: layer.rate for name, layer in report.layers.items()} == {"L1": 0.5}


# ── open predicates ───────────────────────────────────────────────────────────────────────


@pytest.fixture
def vocabulary() -> Vocabulary:
    words = Vocabulary()

    @words.predicate
    def is_first(subject: Trace, at: int, metrics: object) -> bool:
        return at == 0

    @words.predicate
    def raises(subject: Trace, at: int, metrics: object) -> bool:
        raise KeyError("invoice")

    @words.predicate
    def not_a_bool(subject: Trace, at: int, metrics: object) -> bool:
        return 1  # type: ignore[return-value]  # the mistake

    @words.predicate
    def is_even(subject: Trace, at: int, metrics: object, number: int) -> bool:
        return number % 2 == 0

    @words.extractor
    def tools(subject: Trace, metrics: object) -> list[str]:
        return [call.tool for call in subject]

    @words.extractor
    def broken(subject: Trace, metrics: object) -> list[str]:
        raise ValueError("no")

    return words


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("Predicate(is_first)", Outcome.SATISFIED),
        ("is_first", Outcome.SATISFIED),
        ("is_first()", Outcome.SATISFIED),
        ("X is_first", Outcome.VIOLATED),
        ("is_even(4)", Outcome.SATISFIED),
        ("forall n in [1, 2]: is_even(n)", Outcome.VIOLATED),
        ("forall t in tools(): Called(t)", Outcome.SATISFIED),
        ("raises()", Outcome.ERROR),
        ("!raises()", Outcome.ERROR),
        ("not_a_bool()", Outcome.ERROR),
        ("forall t in broken(): Called(t)", Outcome.ERROR),
        ("false & raises()", Outcome.VIOLATED),
        ("raises() & false", Outcome.VIOLATED),
        ("true | raises()", Outcome.SATISFIED),
        ("raises() | true", Outcome.SATISFIED),
        ("false | raises()", Outcome.ERROR),
        ("true & raises()", Outcome.ERROR),
        ("false -> raises()", Outcome.VACUOUS),
        ("raises() -> true", Outcome.SATISFIED),
        ("raises() -> false", Outcome.ERROR),
        ("G raises()", Outcome.ERROR),
        ("G (raises() & b)", Outcome.VIOLATED),
        ("F (raises() | b)", Outcome.SATISFIED),
        ("forall n in [1]: raises()", Outcome.ERROR),
    ],
)
def test_errors_combine_by_strong_kleene_logic(
    rule: str, outcome: Outcome, vocabulary: Vocabulary
) -> None:
    subject = procedure((rule, 1), ("Called(a)", 1), vocabulary=vocabulary)
    report = verify_trace(trace("a b"), subject)
    assert report.constraints[0].outcome is outcome
    assert (report.score is None) is (outcome is Outcome.ERROR)


def test_an_error_leaves_no_score_but_a_reason(vocabulary: Vocabulary) -> None:
    report = verify_trace(trace("a"), procedure(("raises()", 1), vocabulary=vocabulary))
    assert report.score is None
    assert report.label is None
    assert report.reason == "c0: Not decided: 'raises' raised KeyError: 'invoice' at event 1."
    assert report.to_dict()["compliance_score"] is None


def test_the_result_comparator_can_be_replaced() -> None:
    words = Vocabulary()

    @words.comparator
    def close(actual: float, expected: float) -> bool:
        return abs(actual - expected) < 0.1

    rule = ("CalledWithResult(pay, 1)", 1.0)
    subject = trace("pay=>1.05")
    assert verify_trace(subject, procedure(rule)).score == 0.0
    assert verify_trace(subject, procedure(rule, vocabulary=words)).score == 1.0


# ── settings ──────────────────────────────────────────────────────────────────────────────


def test_order_is_a_setting_of_the_procedure() -> None:
    spec: dict[str, Any] = {"constraints": [{"name": "c", "rule": "Before(a, b)"}]}
    subject = trace("[a b]")
    assert verify_trace(subject, Procedure.from_dict(spec)).label == "FULL"
    assert verify_trace(subject, Procedure.from_dict({**spec, "order": "step"})).label == "NONE"


def test_messages_take_part_only_under_events_all() -> None:
    subject = Trace([Message("user", "hi"), Call("a"), Message("user", "thanks"), Call("b")])
    spec: dict[str, Any] = {"constraints": [{"name": "c", "rule": "a & X b"}]}
    assert verify_trace(subject, Procedure.from_dict(spec)).label == "FULL"
    everything = Procedure.from_dict({**spec, "events": "all"})
    assert verify_trace(subject, everything).label == "NONE"
    rule = {"constraints": [{"name": "c", "rule": "X(a & X X b)"}], "events": "all"}
    report = verify_trace(subject, Procedure.from_dict(rule))
    assert report.label == "FULL"
    assert report.constraints[0].witness == (0, 1), "witnesses are numbered as calls"


def test_groups_stand_for_sets_of_tools() -> None:
    spec = {
        "tools": ["look", "book", "cancel"],
        "groups": {"WRITE": ["book", "cancel"]},
        "constraints": [{"name": "c", "rule": "G(WRITE -> O look)"}],
    }
    assert verify_trace(trace("look book"), Procedure.from_dict(spec)).label == "FULL"
    assert verify_trace(trace("cancel look"), Procedure.from_dict(spec)).label == "NONE"


# ── sentences ─────────────────────────────────────────────────────────────────────────────

SENTENCES = {
    ("G(refund -> O verify)", "refund verify"): (
        'Call #1 is "refund", but no call up to then is "verify".'
    ),
    ("G(search -> F cite)", ". search ."): (
        'Call #2 is "search", but no call from then on is "cite".'
    ),
    ("G(a -> X b)", "a c"): 'Call #1 is "a", but call #2 is "c", which is not "b".',
    ("G(a -> X b)", "a"): 'Call #1 is "a", but nothing follows call #1.',
    ("G(a -> O b)", "a"): 'Call #1 is "a", but no call up to then is "b".',
    ("O b", "(empty)"): 'No call is "b".',
    ("a -> G(O z | X true)", "a . . . . . . . . ."): (  # call #10 is not "then", which is call #1
        'Call #1 is "a", but no call up to call #10 is "z" and nothing follows call #10.'
    ),
    ("G(a -> earlier b)", "c a"): 'Call #2 is "a", but no earlier call is "b".',
    ("G(a -> earlier b)", "[b a]"): 'Call #2 is "a", but no call in earlier steps is "b".',
    ("G(a -> later b)", "[a b]"): 'Call #1 is "a", but no call in later steps is "b".',
    ("G(a -> Y earlier b)", "c d b a"): (  # call #3 is one, and earlier than call #4
        'Call #4 is "a", but no call in steps before that of call #3 is "b".'
    ),
    ("G later c", "d c b"): 'No call in steps after that of call #2 is "c".',
    # The awaited event never comes, or comes on the wrong side of the violation.
    ("G(a -> !b S c)", ". a"): 'Call #2 is "a", but no call up to then is "c".',
    ("G(a -> !b S c)", "b a c"): (
        'Call #2 is "a", but call #1 is "b", and no call up to call #2 is "c".'
    ),
    ("G(a -> !b S c)", "c c b a"): (
        'Call #4 is "a", but call #3 is "b", '
        'after the last call up to call #4 that is "c" (call #2).'
    ),
    (
        "G(a -> !a S c)",
        "c a",
    ): 'Call #2 is "a", after the last call up to then that is "c" (call #1).',
    ("G(a -> !a S c)", ". a"): 'Call #2 is "a", and no call up to then is "c".',
    ("G(a -> Y(!b S c))", "b . a"): (
        'Call #3 is "a", but call #1 is "b", and no call up to call #2 is "c".'
    ),
    ("!b S c", "(empty)"): 'No call is "c".',
    ("!b U c", "a"): 'No call is "c".',
    ("!b U c", "b"): 'Call #1 is "b", and no call is "c".',
    ("!b U c", "b c c"): 'Call #1 is "b", before the first call that is "c" (call #2).',
    ("G(a -> !b U c)", "c a ."): 'Call #2 is "a", but no call from then on is "c".',
    ("G(a -> !b U c)", "c a b"): (
        'Call #2 is "a", but call #3 is "b", and no call from call #2 on is "c".'
    ),
    ("G(a -> !b U c)", "c a b c"): (
        'Call #2 is "a", but call #3 is "b", '
        'before the first call from call #2 on that is "c" (call #4).'
    ),
    ("!b U c", "(empty)"): 'No call is "c".',
    ("!b W c", "b"): 'Call #1 is "b", and no call is "c".',
    ("!b W c", "b c"): 'Call #1 is "b", before the first call that is "c" (call #2).',
    ("G(a -> !b W c)", "c a b"): (
        'Call #2 is "a", but call #3 is "b", and no call from call #2 on is "c".'
    ),
    ("c R !b", "b c"): 'Call #1 is "b".',  # nothing can release it so early
    ("c R !b", ". b"): 'Call #2 is "b", and no call is "c".',
    ("c R !b", ". b c"): 'Call #2 is "b", before the first call that is "c" (call #3).',
    ("{b, c} R !b", ". b"): 'Call #2 is "b", at the first call that is "b" or "c" (call #2).',
    ("G(a -> c R !b)", "c a b"): (
        'Call #2 is "a", but call #3 is "b", and no call from call #2 on is "c".'
    ),
    ("F done", "a b"): 'No call is "done".',
    ("G !drop", "a drop"): 'Call #2 is "drop".',
    ("CalledN(pay, <= 1)", "pay pay"): '"pay" called 2 time(s); expected <= 1.',
    ("Before(a, b)", "b a"): '"a" (call #2) is not before "b" (call #1).',
    ("Before(a, b)", "a"): '"b" was never called.',
    ("InOrder(a, b, c)", "a b"): '2 of 3 calls occur in order; "c" is missing after call #2.',
    ("CalledWith(pay, amount = 5)", 'pay{"amount":6}'): (
        '"pay" was never called with amount = 5, only {"amount": 6} (call #1).'
    ),
    ("WithinSteps(a, b, 1)", "a . b"): (
        '"b" (call #3) came 2 position(s) after "a" (call #1); expected at most 1.'
    ),
    ("BranchCalled(a, b)", "b"): '"a" was never called and "b" was called (call #1).',
    ("Before(search, final_answer)", '"42"'): '"search" was never called.',
    ("G(a -> b)", "."): ("Holds, but nothing was checked: no event brought the rule into play."),
    ("G(a -> F b)", "a b"): "Holds; see call #1, call #2.",
}


@pytest.mark.parametrize(("rule", "shown"), SENTENCES)
def test_sentence(rule: str, shown: str) -> None:
    report = verify_trace(trace(shown), procedure((rule, 1)))
    assert report.constraints[0].detail == SENTENCES[rule, shown]


NAMED = [
    # rule, trace, what is said of it
    ("G(commit -> !write S green)", "commit", "no call up to then satisfies `green`."),
    ("G(commit -> (O green & O commit))", "commit", "no call up to then satisfies `green`."),
    ("G !(commit & Y(red & Y red))", "test test commit", "`Y(red & Y red)` holds at call #3."),
    ("G(commit -> O (red | write))", "commit", "satisfies `red | write`."),
    ("G(commit -> O (test & write))", "commit", "satisfies `test & write`."),  # no part has a name
    ("G(commit -> O short)", "commit", 'no call up to then is "write".'),
]


@pytest.mark.parametrize(("rule", "shown", "told"), NAMED)
def test_parts_of_rules_are_called_by_the_names_that_the_procedure_defines(
    rule: str, shown: str, told: str
) -> None:
    define = {
        "green": "call(test, result.passed = true)",
        "red": "test & !green",
        "short": "write",  # longer than what it stands for
        "passed(r)": "r.passed = true",
        "value": "last(test).result",
    }
    spec = {"define": define, "constraints": [{"name": "c", "rule": rule}]}
    (result,) = verify_trace(trace(shown), Procedure.from_dict(spec)).constraints
    assert result.detail.endswith(told)


def test_a_procedure_verifies_a_trace_as_verify_trace_does() -> None:
    calls_a = procedure(("F a", 1.0))
    record = {"tool_calls": [{"tool_name": "a"}]}
    assert calls_a.verify(record).to_dict() == verify_trace(record, calls_a).to_dict()
    assert calls_a.verify(Trace()).label == "NONE"


@pytest.mark.parametrize("options", [{"order": "steps"}, {"events": "al"}, {"finish": "always"}])
def test_a_choice_that_there_is_not_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="E212"):
        Procedure([Constraint("a", parse("F a"))], **options)


def test_a_severity_that_there_is_not_is_refused() -> None:
    with pytest.raises(SpecError, match="did you mean 'SOFT_BLOCK'"):
        Constraint("a", parse("F a"), severity="SOFTBLOCK")  # type: ignore[arg-type]  # the mistake
