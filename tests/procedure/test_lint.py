"""The findings of lint, code by code; and no trace refutes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notation import trace
from random_cases import cases
from strategies import formulas, traces

from bylaw import Procedure, Trace, Vocabulary, holds, parse
from bylaw.codes import CODES
from bylaw.logic import formula as f
from bylaw.logic.walk import everything
from bylaw.procedure.lint import lint, satisfiability
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.lint.subject import LintSubject
from bylaw.procedure.lint.types import find_type_traps
from bylaw.procedure.lint.vacuous import find_vacuous
from bylaw.procedure.procedure import Constraint

WORDS = Vocabulary()


@WORDS.predicate
def odd(trace: Trace, at: int, metrics: object) -> bool:
    return at % 2 == 1


def found(*rules: str, samples: list[str] | None = None, **fields: Any) -> list[Finding]:
    """The findings of a procedure with these rules, called r0, r1, …"""
    constraints = [{"name": f"r{i}", "rule": rule} for i, rule in enumerate(rules)]
    procedure = Procedure.from_dict({"constraints": constraints, **fields}, vocabulary=WORDS)
    return lint(procedure, map(trace, samples or []))


def codes(*rules: str, **fields: Any) -> list[str]:
    return [finding.code for finding in found(*rules, **fields)]


# ── the rules alone ───────────────────────────────────────────────────────────────────────

BUSY = "CalledN(b, >= 300) & CalledN(c, >= 300)"
RULES: list[tuple[list[str], list[str]]] = [
    # W501: never
    (["a & b"], ["W501"]),
    (["Before(a, a)"], ["W501"]),
    (["false"], ["W501"]),
    (["Called(a) & CalledN(a, = 0)"], ["W501"]),
    (["F call(a, i = 1, i = 2)"], ["W501"]),
    (["G(a -> F b)"], []),
    (["InstanceBefore(a, 0, a, 1)", "CalledN(a, >= 2)"], []),
    # W502: always
    (["Called(a) | !Called(a)"], ["W502"]),
    (["G((a & b) -> F c)"], ["W502"]),
    (["true"], ["W502"]),
    (["Called(a) | !Called(b)"], []),
    # W503: not both
    (["CalledN(a, = 1)", "CalledN(a, = 2)"], ["W503"]),
    (["G a", "F b"], ["W503"]),
    (["G !call(a, i = 1)", "CalledWith(a, i = 1)"], ["W503"]),
    (["Called(a)", "Called(b)"], []),
    (["G !call(a, i = 1)", "CalledWith(a, i = 2)"], []),
    (["a & b", "Called(a)"], ["W501"]),
    # W508: the trap
    (["Before(a, b)"], ["W508"]),
    (["After(b, a)"], ["W508"]),
    (["AllBefore([a, c], b)"], ["W508"]),
    (["InstanceBefore(a, 0, b, 1)"], ["W508"]),
    (["WithinSteps(a, b, 3)"], ["W508"]),
    (["InOrder(a, b)"], ["W508"]),
    (["InOrder(a, b, c)", "Called(b)"], ["W508"]),
    (["Before(a, b) & CalledN(c, <= 1)"], ["W508"]),
    (["Before(a, b)", "Before(c, b)"], ["W508", "W508"]),
    (["Before(a, b)", "CalledN(b, <= 2)"], ["W508"]),
    (["Before(a, b)", "Called({b, c})"], ["W508"]),
    (["Before(a, b)", "b & c"], ["W508", "W501"]),
    (["InstanceBefore(a, 0, b, 1)", "Called(b)"], ["W508"]),
    (["Before(a, b)", "Called(b)"], []),
    (["Before(a, b)", "CalledN(b, = 2)"], []),
    (["Before(a, b)", "InOrder(c, b)"], ["W508", "W508"]),
    (["Before(a, b)", "InOrder(b, b)"], []),
    (["InOrder(a, b)", "Called(b)"], []),
    (["InOrder(a, b, a)", "CalledN(a, >= 2)"], []),
    (["InOrder(a, a)"], []),
    (["Before(a, b)", "F call(b, i = 1)"], []),
    (["Before(a, b) & Called(b)"], []),
    (["InstanceBefore(a, 0, b, 1)", "CalledN(b, = 2)"], []),
    (["WithinSteps(a, b, 3)", "Called(a)"], []),
    (["WithinSteps(a, a, 3)"], []),
    (["Called(b) -> Before(a, b)"], []),
    (["!Before(a, b)"], []),
    # W509: late
    (['forall x in args(a, "i"): CalledWith(b, i = x)'], ["W509"]),
    (["odd()"], ["W509"]),
    (["CalledWith(a, i = answer)"], ["W509"]),
    (['forall x in ["a", "b"]: Called(x)'], []),
    ([f"{BUSY} & Before(a, a)"], ["W509"]),
    # W515: only where it does not apply
    (["G(a -> !a S b)"], ["W515"]),
    (["G(a -> b)"], ["W515"]),
    (["G(a -> G !a)"], ["W515"]),
    (["G(a -> X a)"], ["W515"]),
    (["CalledN(c, <= 1) & G(a -> b)"], ["W515"]),
    (["Called(a) -> CalledN(a, = 0)"], ["W515"]),
    (["G(a -> false)"], []),
    (["G(a -> Y(!a S b))"], []),
    (["G(a -> X G !a)"], []),
    (["G({a, b} -> b)"], []),
    (["G(call(a, i = 1) -> call(a, j = 1))"], []),
    (["G((a & b) -> c)"], ["W502"]),
    (["G(a -> args.i != null)"], ["W512"]),
    # W516: of the first event
    (["a -> O b"], ["W516"]),
    (["a -> F b"], ["W516"]),
    (["Called(a) -> O b"], ["W516"]),
    (["O a"], ["W516"]),
    (["a -> args.i = last(b).result"], ["W516", "W509"]),
    (["a"], []),
    (["call -> a"], []),
    (["Called(a) -> F b"], []),
    (["!b W a"], []),
    (["X(a -> O b)"], []),
    (["Y a"], ["W501"]),
    (["length(sofar(a)) <= 1"], ["W516", "W509"]),
    # W510: an undefined value makes it hold
    (['G(a -> let o = last(b).result: !(o.s = "x"))'], ["W510"]),
    (['G(a -> !(last(b).result.s = "x"))'], ["W510"]),
    (['G(a -> !(last(b).result.s != "x"))'], ["W510"]),
    (["G(a -> !(last(b).result.s in [1, 2]))"], ["W510"]),
    (["G(a -> let i = args.id, o = last(call(b, id = i)).result: !(o.n > 5))"], ["W510"]),
    (["G(a -> let o = last(b), s = o.result.s: c | !(s = 1))"], ["W510"]),
    (["G(a -> let o = last(b).result: (o.s = 1 -> earlier c))"], ["W510"]),
    (["G(a -> let o = last(b).result: (o.s = 1 <-> earlier c))"], ["W510", "W517"]),
    (["G(a -> !(let o = last(b).result: o.s = 1))"], ["W510"]),
    (["G(a -> let u = last(b).args.u: !O call(c, u = u))"], ["W510"]),
    (["G(a -> forall x in last(b).result.items: x.n < 5)"], ["W510"]),
    (["G(a -> let o = last(b).result: forall x in o.items: x.n < 5)"], ["W510"]),
    (["G(a -> !exists x in last(b).result.items: x.n > 5)"], ["W510"]),
    (["G(a -> !(args.n > 100))"], ["W510"]),
    (["G(a -> let n = args.n: !(n > 100))"], ["W533"]),
    (["G(a -> let s = last(b).text: s ~ /^y/ & !(s ~ /but/))"], []),
    (["G(a -> let s = last(b).text: (s ~ /^y/ | s ~ /^ok/) & !(s ~ /but/))"], []),
    (["G(a -> let s = last(b).text: (s ~ /^y/ | c) & !(s ~ /but/))"], ["W510"]),
    (["G(a -> let s = last(b).text: c & !(s ~ /but/))"], ["W510"]),
    (['G(a -> let o = last(b).result: o.s = "x")'], []),
    (['G(a -> let o = last(b).result: o.s != "x")'], []),
    (['G(a -> let o = last(b).result: !!(o.s = "x"))'], []),
    (['G(a -> forall o in [last(b).result]: !(o.s = "x"))'], []),
    (["G(a -> exists x in last(b).result.items: x.n < 5)"], []),
    (["G(a -> count(x in last(b).result.items: x.n > 5) = 0)"], []),
    (['G(a -> !(args.s = "x"))'], []),
    (["G(a -> !(args.s ~ /x/))"], []),
    (["G(a -> !(length(sofar(b)) > 1))"], []),
    (["G(a & !(args.n > 100) -> earlier b)"], []),
    (["G(a & args.n > 100 -> earlier b)"], ["W533"]),
    # W534 and W535: budgets that calls escape
    (["G(a -> sum(sofar(call(a, ok)).args.n) <= 9)"], ["W534"]),
    (["G(sum(sofar(call(a, ok)).args.n) <= 9)"], ["W534"]),
    (["G(a -> 9 > length(sofar(a & result.n = 1, 1 h)))"], ["W534"]),
    (["G(a -> sum(sofar(a).args.n) <= 9)"], []),
    (["G(a -> sum(sofar(call(a, ok)).args.n) >= 9)"], []),
    (["G(a -> length(sofar(call(b, ok))) <= 9)"], []),
    (["G(a -> let i = args.id: length(sofar(call(a, id = i))) <= 9)"], ["W535"]),
    (["G(a -> let i = args.id: length(sofar(a & args.id = i, 1 h)) < 9)"], ["W535"]),
    (["G(a -> let i = args.id: length(sofar(call(a, id = i))) = 1)"], []),
    (["G(a -> let i = args.id: length(sofar(call(b, id = i))) <= 9)"], []),
    # W517: siblings pass
    (["G(a -> !earlier a)"], ["W517"]),
    (["G(a -> !earlier b)"], ["W517"]),
    (["G(a -> let i = args.id: !earlier call(a, id = i, ok))"], ["W517"]),
    (["G(a & earlier b -> false)"], ["W517"]),
    (["G(earlier b -> !a)"], ["W517"]),
    (["G(a -> (earlier b -> earlier c))"], ["W517"]),
    (["G(a -> !(c & earlier b))"], ["W517"]),
    (["G(a & last(b).result = 1 -> earlier c)"], ["W517"]),
    (["G(a & (let r = last(b).result: r = 1) -> earlier c)"], ["W517"]),
    (["G(a -> earlier b)"], []),
    (["G(a -> !!earlier b)"], []),
    (["G(a -> !(c & !earlier b))"], []),
    (["G(a -> earlier (b & !c))"], []),
    (["G(a -> !O b)"], []),
    (["G(a -> !Y O a)"], []),
    (["G(a -> length(sofar(a)) <= 1)"], []),
]


@pytest.mark.parametrize(("rules", "expected"), RULES, ids=lambda case: " ; ".join(case)[:60])
def test_rules(rules: list[str], expected: list[str]) -> None:
    assert codes(*rules) == expected


REWRITES = [
    ("Before(a, b)", "position", "G(b -> O a)"),
    ("Before(a, b)", "step", "Called(b) -> Before(a, b)"),
    ("Before({a, b}, b)", "position", "Called(b) -> Before({a, b}, b)"),
    ("After(b, a)", "position", "G(b -> O a)"),
    ("AllBefore([a, c], b)", "position", "G(b -> O a & O c)"),
    ("InstanceBefore(a, 0, b, 0)", "position", "G(b -> O a)"),
    ("InstanceBefore(a, 1, b, 0)", "position", "Called(b) -> InstanceBefore(a, 1, b, 0)"),
    ("InstanceBefore(a, 0, b, 1)", "position", "CalledN(b, >= 2) -> InstanceBefore(a, 0, b, 1)"),
    ("WithinSteps(a, b, 3)", "position", "Called(a) -> WithinSteps(a, b, 3)"),
    ("InOrder(a, b)", "position", "Called(b) -> InOrder(a, b)"),
    ("InOrder(a, b, c)", "step", "Called(c) -> InOrder(a, b, c)"),
    ("InOrder(a, b, a)", "position", "CalledN(a, >= 2) -> InOrder(a, b, a)"),
    ("Before(a, b) & CalledN(c, <= 1)", "position", "G(b -> O a) & CalledN(c, <= 1)"),
]


@pytest.mark.parametrize(("rule", "order", "rewrite"), REWRITES)
def test_the_rule_to_write_instead(rule: str, order: str, rewrite: str) -> None:
    (finding,) = found(rule, order=order)
    assert finding.rewrite == rewrite
    assert codes(rewrite, order=order) == []


@given(st.sampled_from(REWRITES), traces())
def test_the_rewrite_only_drops_the_demand(case: tuple[str, str, str], sample: Trace) -> None:
    rule, order, rewrite = case
    before: Any = {"order": order}
    if holds(parse(rule), sample, **before):
        assert holds(parse(rewrite), sample, **before)


def test_messages_say_what_clashes() -> None:
    assert found("a & b")[0].message.endswith("`a` and `b` exclude each other.")
    assert found("Called(c) & Before(a, a)")[0].message.endswith("`Before(a, a)` can never hold.")
    assert found("G((a & b) -> F c)")[0].message.endswith("`a & b` is never true.")
    assert "fewer than 2 times" in found("InstanceBefore(a, 0, b, 1)")[0].message


def test_a_ban_and_a_missing_g_are_written_out() -> None:
    (ban,) = found("G(a -> !a S b)")
    assert ban.rewrite == "G !a"
    (one_of_two,) = found("CalledN(c, <= 1) & G(a -> b)")
    assert one_of_two.rewrite == "CalledN(c, <= 1) & G !a"
    (past,) = found("a -> O b")
    assert (past.severity, past.rewrite) == ("warning", "G(a -> O b)")
    (condition,) = found("a -> F b")
    assert (condition.severity, condition.rewrite) == ("note", "G(a -> F b)"), "it may be meant"


def test_the_final_answer_is_expected_as_a_rule() -> None:
    (finding,) = found("Before(a, final_answer)")
    assert (finding.code, finding.severity) == ("W508", "note")


def test_what_a_budget_cannot_tell_is_no_contradiction() -> None:
    assert codes(BUSY, "Before(a, a) | CalledN(b, = 1)") in ([], ["W509"])


def test_many_pairs_are_cut_off_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(satisfiability, "MAX_PAIRS", 2)
    (finding,) = found("F a", "F b", "F c")
    assert (finding.code, finding.severity) == ("W503", "note")
    assert "Only the first 2 of 3 pairs" in finding.message


@pytest.mark.parametrize(
    "rule",
    [
        "G something_else",
        'G(call(a, i.k = 1) -> call(a, i = {"k": 1}))',
        'F call(a, result = "5")',
        'G(call(a, i = "another value") -> b)',
    ],
)
def test_nothing_is_said_where_samples_are_not_enough(rule: str) -> None:
    assert not {"W501", "W502"} & set(codes(rule))


def test_a_users_comparator_is_not_second_guessed() -> None:
    words = Vocabulary()
    words.comparator(lambda actual, expected: actual == f"<{expected}>")
    data = {"constraints": [{"name": "r", "rule": "CalledWithResult(a, 5)"}]}
    found = lint(Procedure.from_dict(data, vocabulary=words))
    assert [finding.code for finding in found] == ["W509"], "its verdicts may come late, no more"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("odd()", "the open predicate 'odd' may look at the whole trace"),
        ("CalledWith(a, i = answer)", "the answer is only known at the end"),
        ("F(a & args.i = last(b).args.i)", "it compares data of different events"),
        ('forall x in args(a, "i"): CalledWith(b, i = x)', "its domain is still growing"),
        ("X later a", "it looks at other steps"),
    ],
)
def test_a_late_verdict_has_its_own_reason(rule: str, reason: str) -> None:
    (message,) = [each.message for each in found(rule) if each.code == "W509"]
    assert f"may come late: {reason}" in message


# ── names ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("G(READ -> F b)", []),
        ("Called({READ, b})", []),
        ("Called(a)", ["W506"]),
        ("CalledWith(b, READ = 1)", ["W506"]),
        ('CalledWith(b, x = "READ")', ["W506"]),
        ('forall READ in ["a"]: Called(READ)', ["W506"]),
    ],
)
def test_unused_groups(rule: str, expected: list[str]) -> None:
    assert codes(rule, groups={"READ": ["a"]}) == expected


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ("Called(a)", "any of the tools b, c"),
        ("Called({a, b})", "the tool c"),
        ('forall x in ["a", "b"]: Called(x)', "the tool c"),
        ("G(a -> F {b, c})", None),
        ("G(a -> F GROUP)", None),
    ],
)
def test_unused_tools(rule: str, named: str | None) -> None:
    groups = {"GROUP": ["b", "c"]} if "GROUP" in rule else {}
    findings = found(rule, tools=["a", "b", "c"], groups=groups)
    assert [f.message for f in findings] == ([f"No rule names {named}."] if named else [])
    assert all((f.code, f.severity) == ("W507", "note") for f in findings)


def test_a_variable_may_name_any_tool() -> None:
    rule = 'forall x in metrics("tools"): Called(x)'
    assert codes(rule, tools=["a", "b"]) == ["W509"]


# ── sample traces ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (["b", "c b"], ["W504"]),
        (["(empty)"], ["W504"]),
        (["b", "b a"], []),
        (["b a"], []),
        ([], []),
    ],
)
def test_rules_that_never_come_into_play(samples: list[str], expected: list[str]) -> None:
    assert codes("G(a -> O b)", samples=samples) == expected


def test_a_tool_that_goes_by_another_name() -> None:
    (finding,) = found("G(refnud -> O verify)", samples=["verify refund"])
    assert "refnud was never called" in finding.suggestion
    assert "did you mean 'refund'?" in finding.suggestion


QUANTIFIED = 'forall n in results(list, "ids[]"): CalledWith(get, id = n)'


@pytest.mark.parametrize(
    ("rule", "samples", "expected"),
    [
        (QUANTIFIED, ['list=>{"ids":[1]} get{"id":1}'], []),
        (QUANTIFIED, ['list=>{"id":[1]}', 'list=>{"ids":[1]}'], []),
        (
            QUANTIFIED,
            ['list=>{"id":[1],"n":1}'],
            [("warning", "'id[]'? The paths there are: id[], n.")],
        ),
        (QUANTIFIED, ["list"], [("note", "something to look into")]),
        (QUANTIFIED, ["get"], [("note", "something to look into")]),
        ('exists n in args(get, "no"): Called(get)', ['get{"id":1}'], [("warning", "are: id.")]),
        ('exists n in metrics("no"): Called(get)', ["get"], [("warning", "nothing in the metric")]),
        ('exists n in args(get, "a.c"): true', ['get{"a":{"b":1}}'], [("warning", "a, a.b.")]),
    ],
)
def test_paths_that_find_nothing(
    rule: str, samples: list[str], expected: list[tuple[str, str]]
) -> None:
    findings = [f for f in found(rule, samples=samples) if f.code == "W505"]
    assert [f.severity for f in findings] == [severity for severity, _ in expected]
    for finding, (_, text) in zip(findings, expected, strict=True):
        assert text in finding.suggestion


def test_samples_are_read_one_at_a_time() -> None:
    procedure = Procedure.from_dict({"constraints": [{"name": "r", "rule": "G(a -> F b)"}]})
    (finding,) = lint(procedure, (Trace() for _ in range(3)))
    assert finding.message == "None of the 3 sample traces brought this rule into play."


@pytest.mark.parametrize(
    ("fields", "samples", "expected"),
    [
        ({"tools": ["refund", "verify"]}, ["verify refund", "refnud refund"], ["W522"]),
        ({"tools": ["refund", "verify"]}, ["verify refund"], []),
        ({}, ["refnud refund verify"], []),
        ({"tools": ["refund", "verify"]}, ["refund final_answer"], []),
    ],
)
def test_tools_that_are_not_listed(
    fields: dict[str, Any], samples: list[str], expected: list[str]
) -> None:
    findings = found("G(refund -> O verify)", samples=samples, **fields)
    assert [finding.code for finding in findings] == expected
    assert all("did you mean 'refund'?" in finding.message for finding in findings)


def test_a_form_names_tools_that_are_not_listed() -> None:
    fields = {"tools": ["get_a", "pay"], "samples": ["get_b pay"]}
    assert codes('G(pay -> O like("get_*"))', **fields) == []


# ── order and form ────────────────────────────────────────────────────────────────────────


def test_findings_follow_the_rules() -> None:
    findings = found("Called(c)", "Before(a, b)", "G !c", tools=["a", "b", "c", "d"])
    assert [finding.constraints for finding in findings] == [("r1",), ("r0", "r2"), ()]
    assert findings[0].to_dict()["rewrite"] == "G(b -> O a)"
    assert "rewrite" not in findings[1].to_dict()


SIBLINGS = [
    ("G(a -> !earlier a)", "G(a -> length(sofar(a)) = 1)"),
    ("G(a -> !earlier b)", "G(a -> length(sofar(b)) = 0)"),
    ("G({a, b} -> !earlier {a, b})", "G({a, b} -> length(sofar({a, b})) = 1)"),
    ("G({a, b} -> !earlier a)", "G({a, b} -> !Y O a)"),
    ("G(call -> !earlier call(a, ok))", "G(call -> !Y O call(a, ok))"),
    ("G(a & earlier a -> earlier c)", "G(a & length(sofar(a)) > 1 -> earlier c)"),
    ("G(a & earlier b -> earlier c)", "G(a & length(sofar(b)) > 0 -> earlier c)"),
    (
        "G(a -> let x = args.i: !earlier call(a, i = x))",
        "G(a -> (let x = args.i: length(sofar(call(a, i = x))) = 1))",
    ),
    (
        "G(a -> let x = args.f.i: !earlier call(a, f.i = x, ok))",
        "G(a -> (let x = args.f.i: !Y O call(a, f.i = x, ok)))",
    ),
    (
        "G(a -> let x = args.j: !earlier (call(b, ok) & text contains x))",
        "G(a -> (let x = args.j: length(sofar(call(b, ok) & text contains x)) = 0))",
    ),
    (
        "G(a -> let x = args.j: !earlier call(a, i = x))",
        "G(a -> (let x = args.j: !Y O call(a, i = x)))",
    ),
    (
        "G({a, b} -> let x = args.i: !earlier (a & args.i > x))",
        "G({a, b} -> (let x = args.i: !Y O(a & args.i > x)))",
    ),
    ("G(a & last(b).result = 1 -> earlier c)", None),
]


@pytest.mark.parametrize(("rule", "rewrite"), SIBLINGS)
def test_a_prohibition_that_sees_siblings(rule: str, rewrite: str | None) -> None:
    (finding,) = found(rule)
    assert (finding.code, finding.rewrite) == ("W517", rewrite)
    assert "sofar" in finding.suggestion or rewrite is not None
    assert rewrite is None or set(codes(rewrite)) <= {"W533"}


@given(st.sampled_from([case for case in SIBLINGS if case[1]]), traces())
def test_the_rewrite_only_adds_siblings(case: tuple[str, str], sample: Trace) -> None:
    """If each call has its own turn and a value that identifies it, both say the same."""
    alone = Trace(
        [
            replace(call, step=i, args={"i": 1, "f": {"i": 1}, **call.args})
            for i, call in enumerate(sample)
        ]
    )
    rule, rewrite = map(parse, case)
    assert holds(rule, alone) is holds(rewrite, alone)
    if holds(rewrite, sample):
        assert holds(rule, sample), "it is stricter, never laxer"


ADVICE = [
    ('G(a -> !(last(b).result.s = "x"))', 'Write `last(b).result.s != "x"`'),
    ("G(a -> !(args.n > 100))", "Write `args.n <= 100`"),
    ("G(a -> !(last(b).result.s in [1]))", "Require the value"),
    ("G(a -> forall x in last(b).result.items: x.n < 5)", 'type(last(b).result.items) = "array"'),
]


@pytest.mark.parametrize(("rule", "advice"), ADVICE)
def test_what_to_write_so_that_nothing_found_is_not_enough(rule: str, advice: str) -> None:
    (finding,) = found(rule)
    assert finding.code == "W510"
    assert advice in finding.suggestion


@pytest.mark.parametrize("code", ["W501", "W502", "W508", "W509", "W510", "W515", "W516", "W517"])
def test_the_examples_of_the_codes(code: str) -> None:
    assert codes(CODES[code].wrong.partition("#")[0]) == [code]
    assert code not in codes(CODES[code].right, "CalledN(pay, >= 2)")


# ── what is proven is so ──────────────────────────────────────────────────────────────────

orders = st.sampled_from(["position", "step"])


@cases(60)
@given(formulas(depth=2), formulas(depth=2), orders, st.lists(traces(max_size=3), max_size=3))
def test_no_trace_refutes_a_finding(
    one: f.Formula, other: f.Formula, order: Any, samples: list[Trace]
) -> None:
    pair = [Constraint("one", one), Constraint("other", other)]
    subject = LintSubject(Procedure(pair, order=order), max_moves=500)
    findings = [
        *satisfiability.find_constant(subject),
        *satisfiability.find_contradictions(subject),
    ]
    for sample in (Trace(), *samples):
        value = {c.name: holds(c.formula, sample, order=order) for c in pair}
        for finding in findings:
            first, *rest = finding.constraints
            if finding.code == "W501":
                assert value[first] is False
            elif finding.code == "W502":
                assert value[first] is True
            else:
                assert not (value[first] and value[rest[0]])


@cases(60)
@given(formulas(depth=1), formulas(depth=2), orders, st.lists(traces(max_size=3), max_size=3))
def test_a_ban_says_the_same(
    left: f.Formula, right: f.Formula, order: Any, samples: list[Trace]
) -> None:
    rule = f.Always(f.Implies(left, right))
    procedure = Procedure([Constraint("rule", rule)], order=order)
    for finding in find_vacuous(LintSubject(procedure, max_moves=500)):
        assert finding.rewrite is not None
        ban = parse(finding.rewrite)
        for sample in (Trace(), *samples):
            assert holds(rule, sample, order=order) is holds(ban, sample, order=order)


# ── schemas of arguments ──────────────────────────────────────────────────────────────────

REFUND = {
    "type": "object",
    "properties": {
        "order": {"type": "string"},
        "amount": {"type": "number", "minimum": 0},
        "currency": {"enum": ["EUR", "USD"]},
        "to": {"$ref": "#/$defs/account"},
        "note": {"type": ["string", "number"]},
    },
    "required": ["order", "amount"],
    "additionalProperties": False,
    "$defs": {
        "account": {
            "type": "object",
            "properties": {"iban": {"type": "string"}},
            "additionalProperties": False,
        }
    },
}
SHIP = {"type": "object", "properties": {"amount": {"type": "string"}}}
TYPED: list[tuple[str, list[str]]] = [
    # W530: values that cannot occur
    ('G(refund -> args.amount <= "100")', ["W530"]),
    ("G(refund -> args.amount <= 100)", []),
    ("G(refund -> 100 >= args.amount)", []),
    ('G(refund -> "100" >= args.amount)', ["W530"]),
    ("G(refund -> args.order < 5)", ["W530"]),
    ('G(refund -> args.currency = "GBP")', ["W530"]),
    ('G(refund -> args.currency != "GBP")', ["W530"]),
    ('G(refund -> args.currency in ["GBP", "CHF"])', ["W530"]),
    ('G(refund -> args.currency in ["GBP", "EUR"])', []),
    ("G(refund -> args.amount = -1)", ["W530"]),
    ("G !call(refund, amount = -1)", ["W530"]),
    ('G !call(refund, currency = "EUR")', []),
    ('CalledWith(refund, currency = "GBP")', ["W530"]),
    ("G(refund -> let a = args.amount: a = true)", ["W530"]),
    ("G(refund -> args.to.iban = 5)", ["W530"]),
    ('G(verify -> last(refund).args.currency = "GBP")', ["W530"]),
    ("G({refund, ship} -> args.amount = true)", ["W530"]),
    ('G({refund, ship} -> args.amount = "5")', []),
    ('G({refund, verify} -> args.currency = "GBP")', []),
    ('G(verify -> args.currency = "GBP")', []),
    # W531: misspelt arguments
    ("G(refund -> args.amout <= 100)", ["W531"]),
    ('G(refund -> args.to.ibna = "DE1")', ["W531"]),
    ("G !call(refund, amout = 5)", ["W531"]),
    ("CalledWith(refund, amout = 5)", ["W531"]),
    ("G(verify -> F (refund & args.amout = 5))", ["W531"]),
    ("G(ship -> args.amout = 5)", []),
    # W532: required arguments
    ("CalledExactly(refund, amount = 5)", ["W532"]),
    ('CalledExactly(refund, amount = 5, order = "W7")', []),
    ("CalledWith(refund, amount = 5)", []),
    # W533: an order without a type
    ("G(verify & args.amount > 100 -> O refund)", ["W533"]),
    ("G(verify & !(args.amount <= 100) -> O refund)", []),
    ("G(verify -> args.amount <= 100)", []),
    ("G !(verify & args.amount > 100)", ["W533"]),
    ("G(refund & args.amount > 100 -> O verify)", []),
    ("G(refund & args.note > 100 -> O verify)", ["W533"]),
    ("G({refund, verify} & args.amount > 100 -> O ship)", ["W533"]),
    ("G(let a = args.amount: verify & a > 100 -> O ship)", ["W533"]),
    ("G(verify & (let a = args.to, a = a.x: a > 100) -> O ship)", ["W533"]),
    ("G(args.amount > 100 -> !refund)", []),
    ("G(args.amount > 100 -> !verify)", ["W533"]),
    ("G(!refund | O ship | !(args.amount > 100))", []),
    ("G(verify & args.amount = 100 -> O ship)", []),
]


@pytest.mark.parametrize(("rule", "expected"), TYPED, ids=[rule for rule, _ in TYPED])
def test_schemas_of_arguments(rule: str, expected: list[str]) -> None:
    tools = {"refund": REFUND, "ship": SHIP, "verify": None}
    own = {"W530", "W531", "W532", "W533"}
    assert [code for code in codes(rule, tools=tools) if code in own] == expected


# ── types ─────────────────────────────────────────────────────────────────────────────────


@given(formulas(), traces())
def test_no_trace_refutes_what_types_decide(formula: f.Formula, trace: Trace) -> None:
    for part in everything(formula):
        if not isinstance(part, f.Compare) or part.free:
            continue
        procedure = Procedure([Constraint("r", f.Eventually(part))])
        for finding in find_type_traps(LintSubject(procedure, ())):
            if "never true" in finding.message:
                assert not holds(f.Eventually(part), trace)


@pytest.mark.parametrize(
    "rule",
    [
        'F(last(a).text = "ok")',
        'F(last(a).result.status = "ok")',
        "G(a -> sum(sofar(a).args.x) <= 5)",
        'G(a -> args.date <= "2026-05-20")',
        'G(a -> args.id = "100")',
        'G(a -> lower(args.name) = "anna")',
        'G(a -> lower(args.names) = ["Anna"] | args.x = 1)',
        "G(a -> args.x + args.y = 5)",
        "G(a -> sofar(a).args.x = [1, 2])",
        r"G(a -> args.price ~ /\$5$/)",
        "G(a & !b)",
        "G(a | b)",
        "G({a, b} -> call(a, x = 1) | b)",
        '"get-order" -> F b',
        'G(a -> tool = "a")',
        "G(a -> length(args.items) = 5)",
        'G(a -> to_string(args.x) = "5")',
        "G(a -> last(b).args = args)",
        "G(a -> error = text)",
        'G(a -> starts_with(args.x, "y") = true)',
    ],
)
def test_types_raise_no_false_alarm(rule: str) -> None:
    assert not [code for code in codes(rule) if code.startswith("W54")]
