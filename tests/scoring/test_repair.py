"""A repair makes its rules hold, and no cheaper edits do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notation import trace
from random_cases import cases
from strategies import data_traces, formulas, traces

from bylaw import Call, Constraint, Message, Procedure, Trace, Vocabulary, holds
from bylaw.logic.formula import Formula
from bylaw.scoring import repair as module
from bylaw.scoring.edits import Repair
from bylaw.scoring.repair import repair, repair_procedure
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.machine import Machine
from bylaw.vocabulary.view import Order

REPAIRED = [
    # rule, trace, cost, edits
    ("G(refund -> O verify)", "lookup refund", 1, "Insert verify {} before call #2 (refund)."),
    ("G(refund -> O verify)", "verify refund", 0, ""),
    ("CalledN(pay, <= 1)", "pay . pay", 1, "Delete call #3 (pay)."),
    ("G !drop", "a drop b drop", 2, "Delete call #2 (drop). Delete call #4 (drop)."),
    ("G(search -> F cite)", ". search .", 1, "Insert cite {} at the end."),
    ("Before(a, b)", "b . a", 1, "Insert a {} before call #1 (b)."),
    ("InOrder(a, b, c)", "c b a", 2, "Insert b {} at the end. Insert c {} at the end."),
    ("CalledN(a, = 2)", "(empty)", 2, "Insert a {} at the end. Insert a {} at the end."),
    ("BranchCalled(a, b)", "a b", 1, "Delete call #2 (b)."),
    ("F X true", "a", 1, "Insert any other call at the end."),
    ("CalledWith(pay, amount = 5)", ".", 1, 'Insert pay {"amount": 5} at the end.'),
    (
        "G(lookup -> call(id = 7))",
        'a b lookup{"id":8}',
        0.5,
        'Replace call #3: lookup {"id": 7} instead of lookup {"id": 8}.',
    ),
    (  # what the rule does not ask for stays
        "CalledWith(pay, amount = 5)",
        'pay{"to":1,"amount":6}',
        0.5,
        'Replace call #1: pay {"to": 1, "amount": 5} instead of pay {"to": 1, "amount": 6}.',
    ),
    (
        "CalledExactly(pay, amount = 5)",
        'pay{"to":"ada","amount":5}',
        0.5,
        'Replace call #1: pay {"amount": 5} instead of pay {"to": "ada", "amount": 5}.',
    ),
    (
        "G !call(pay, amount = 6)",
        'pay{"amount":6}',
        0.5,
        'Replace call #1: pay {"amount": "another value"} instead of pay {"amount": 6}.',
    ),
    (  # any tool will do, so it is the same one
        "G call(id = 1)",
        'lookup{"id":2}',
        0.5,
        'Replace call #1: lookup {"id": 1} instead of lookup {"id": 2}.',
    ),
    (
        "CalledWith({a, b}, i = 1)",
        'b{"i":2}',
        0.5,
        'Replace call #1: b {"i": 1} instead of b {"i": 2}.',
    ),
    ("G (a | b)", "a c b", 1, "Delete call #2 (c)."),
    ("a & X b & X X c & X X WX false", "a d c", 1, "Replace call #2: b {} instead of d {}."),
    ("F call(pay, ok)", ".", 1, "Insert pay {} that succeeds at the end."),
    ("F call(pay, ok)", 'pay!"no money"', 1, "Insert pay {} that succeeds at the end."),
    ("F call(pay, failed)", ".", 1, "Insert pay {} that fails at the end."),
    (
        'F call(pay, result = "done")',
        'pay=>"open"',
        1,
        'Insert pay {} with the result "done" at the end.',
    ),
    ("G !call(pay, failed)", 'pay pay!"no money"', 1, "Delete call #2 (pay)."),
    (  # to leave the payment out is plainer than to wish for another answer
        'G(pay -> O call(check, result = "fine"))',
        'check=>"bad" pay',
        1,
        "Delete call #2 (pay).",
    ),
    (  # other arguments, and whatever the tool returned stays
        'G call(look, id = 7, result = "x")',
        'look{"id":8}=>"x"',
        0.5,
        'Replace call #1: look {"id": 7} instead of look {"id": 8}.',
    ),
    (
        'G call(look, id = 7, result = "x")',
        'look{"id":8}=>"y"',
        1,
        "Delete call #1 (look).",
    ),
    ("Before(search, final_answer)", "search", 1, "Give a final answer."),
    ("Before(search, final_answer)", 'a "42"', 1, "Insert search {} at the end."),
    ("G !final_answer", 'a "42"', 1, "Give no final answer."),
    ('F call(final_answer, answer = "42")', 'a "41"', 0.5, 'Give the final answer "42" instead.'),
    ('F call(final_answer, answer = "42")', "a", 1, 'Give the final answer "42".'),
    ('G !call(final_answer, answer = "42")', '"42"', 0.5, "Give another final answer."),
    ("X a", '"42"', 2, "Insert a {} at the end. Insert a {} at the end."),
]


def procedure_of(*rules: str | Formula, order: Order = "position") -> Procedure:
    constraints = [Constraint(f"c{i}", _formula(rule)) for i, rule in enumerate(rules)]
    return Procedure(constraints, order=order)


def _formula(rule: str | Formula) -> Formula:
    if isinstance(rule, str):
        return Procedure.from_dict({"constraints": [{"name": "c", "rule": rule}]})["c"].formula
    return rule


@pytest.mark.parametrize("order", ["position", "step"])
@pytest.mark.parametrize(("rule", "shown", "cost", "sentences"), REPAIRED)
def test_repaired(rule: str, shown: str, cost: float, sentences: str, order: Order) -> None:
    procedure = procedure_of(rule, order=order)
    found = repair(trace(shown), procedure, "c0")
    assert found is not None
    assert (found.cost, " ".join(found.sentences())) == (cost, sentences)
    assert found.exact
    assert holds(procedure["c0"].formula, found.apply(trace(shown)), order=order)


WITH_RESULTS = [
    # rule, trace, cost, edits
    (
        "F call(pay, ok)",
        'pay!"no money"',
        0.5,
        "Replace call #1: pay {} that succeeds instead of pay {} that fails.",
    ),
    (
        'F call(pay, result = "done")',
        'pay=>"open"',
        0.5,
        'Replace call #1: pay {} with the result "done" instead of pay {} with the result "open".',
    ),
    (
        'G(pay -> O call(check, result = "fine"))',
        'check=>"bad" pay',
        0.5,
        (
            'Replace call #1: check {} with the result "fine" '
            'instead of check {} with the result "bad".'
        ),
    ),
    (
        'G call(look, id = 7, result = "x")',
        'look{"id":8}=>"y"',
        0.5,
        (
            'Replace call #1: look {"id": 7} with the result "x" '
            'instead of look {"id": 8} with the result "y".'
        ),
    ),
]


@pytest.mark.parametrize(("rule", "shown", "cost", "sentences"), WITH_RESULTS)
def test_results_are_edited_if_asked_for(
    rule: str, shown: str, cost: float, sentences: str
) -> None:
    found = repair(trace(shown), procedure_of(rule), "c0", edit_results=True)
    assert found is not None
    assert (found.cost, " ".join(found.sentences())) == (cost, sentences)
    assert found == repair_procedure(trace(shown), procedure_of(rule), edit_results=True)


@cases(200)
@given(formulas(3), data_traces(max_size=6), st.sampled_from(["position", "step"]))
def test_no_repair_changes_what_a_tool_returned(
    formula: Formula, subject: Trace, order: Order
) -> None:
    """A replacing call of the same tool returns what the replaced call returned."""
    procedure = procedure_of(formula, order=order)
    found, freer = (
        repair(subject, procedure, "c0", edit_results=allowed) for allowed in (False, True)
    )
    for edit in found.edits if found else ():
        if edit.kind == "replace" and edit.original and edit.original.tool == edit.call.tool:
            assert edit.call.result == edit.original.result
            assert edit.call.error == edit.original.error
    if found is not None:
        assert holds(formula, found.apply(subject), order=order)
        assert freer is not None
        assert not freer.exact or freer.cost <= found.cost


NEVER = ["false", "Called(a) & !Called(a)", "G X true & F a", "call(final_answer, answer = 42)"]


@pytest.mark.parametrize("rule", NEVER)
def test_what_can_never_hold_has_no_repair(rule: str) -> None:
    assert repair(trace('a b "42"'), procedure_of(rule), "c0") is None
    assert repair_procedure(trace('a b "42"'), procedure_of("true", rule)) is None


def test_rules_that_exclude_each_other_have_no_repair() -> None:
    assert repair_procedure(trace("a"), procedure_of("Called(a)", "G !a")) is None


# ── steps and messages ───────────────────────────────────────────────────────────────────────


def test_an_inserted_call_is_a_step_of_its_own() -> None:
    procedure = procedure_of("Before(a, b)", order="step")
    found = repair(trace("[a b] c"), procedure, "c0")
    assert found is not None
    assert found.sentences() == ["Insert a {} before call #1 (a)."]
    steps = [(call.tool, call.step) for call in found.apply(trace("[a b] c"))]
    assert steps == [("a", 0), ("a", 1), ("b", 1), ("c", 2)]


def test_an_insertion_inside_a_step_parts_it() -> None:
    procedure = procedure_of("X c")
    found = repair(trace("[a b] d"), procedure, "c0")
    assert found is not None
    steps = [(call.tool, call.step) for call in found.apply(trace("[a b] d"))]
    assert steps == [("a", 0), ("c", 1), ("b", 2), ("d", 3)]


def test_a_deletion_leaves_its_neighbours_in_one_step() -> None:
    procedure = procedure_of("G !x", "Before(a, b)", order="step")
    found = repair_procedure(trace("[a x b]"), procedure)
    assert found is not None
    assert found.cost == 2
    assert all(
        holds(c.formula, found.apply(trace("[a x b]")), order="step") for c in procedure.constraints
    )


def test_messages_stay_and_text_stays_with_its_calls() -> None:
    said = Trace([Message("user", "hi"), Message("assistant", "so"), Call("refund")], name="x")
    found = repair(said, procedure_of("Before(verify, refund)"), "c0")
    assert found is not None
    mended = found.apply(said)
    kinds = [getattr(event, "tool", None) or event.role for event in mended.events]  # type: ignore[union-attr]  # a message
    assert kinds == ["user", "verify", "assistant", "refund"]
    assert [event.step for event in mended.events] == [0, 1, 2, 2]
    assert mended.name == "x"


def test_messages_have_places_where_rules_see_them() -> None:
    said = Trace([Message("user", "hi"), Call("a"), Message("user", "and?")])
    rules = [{"name": "c", "rule": "X X X b"}]
    procedure = Procedure.from_dict({"events": "all", "constraints": rules})
    found = repair(said, procedure, "c")
    assert found is not None
    assert holds(procedure["c"].formula, found.apply(said), events="all")
    assert found.cost == 1


AMONG_MESSAGES = [
    # rule, events ("<user" is a message), the edit, its place among the events
    ("G(a -> X b)", "a <user b", "after call #1 (a), right before the user message (event #2)", 1),
    ("X X b", "a <user <user c", "after call #1 (a), right before the user message (event #3)", 2),
    ("b", "<user a", "right before the user message (event #1)", 0),
    ("X X b", "a <user", "at the end", None),
    ("X b", "a <user", "after call #1 (a), right before the user message (event #2)", 1),
    ("G(a -> Y b)", "<user a", "before call #1 (a)", None),
]


@pytest.mark.parametrize(("rule", "shown", "where", "event"), AMONG_MESSAGES)
def test_a_call_among_messages_has_a_place_between_them(
    rule: str, shown: str, where: str, event: int | None
) -> None:
    events = [Message("user", "hm") if e == "<user" else Call(e) for e in shown.split()]
    rules = [{"name": "c", "rule": rule}]
    found = repair(Trace(events), Procedure.from_dict({"events": "all", "constraints": rules}), "c")
    assert found is not None
    assert found.sentences() == [f"Insert b {{}} {where}."]
    assert found.edits[0].to_dict().get("event") == event


# ── where the search cannot go ───────────────────────────────────────────────────────────────


def test_a_rule_without_a_machine_is_mended_by_search() -> None:
    rule = 'forall n in results(list, "@"): CalledWith(pay, n = n)'
    kept, lost = trace('list=>1 pay{"n":1}'), trace("list=>1")
    mended = repair(lost, procedure_of(rule), "c0")
    assert mended is not None
    assert mended.sentences() == ['Insert pay {"n": 1} at the end.']
    assert not mended.exact
    both = repair_procedure(lost, procedure_of(rule, "Called(a)"))
    assert both is not None
    assert len(both.edits) == 2
    assert repair(kept, procedure_of(rule), "c0") == Repair(())
    found = repair_procedure(kept, procedure_of(rule, "Called(a)"))
    assert found is not None
    assert found.sentences() == ["Insert a {} at the end."]
    without = repair_procedure(kept, procedure_of(rule, "CalledN(pay, = 0)"))
    assert without is not None
    assert {edit.kind for edit in without.edits} == {"delete"}


def test_failure_is_told_as_the_procedure_does() -> None:
    rules = [{"name": "fetched", "rule": "F call(fetch, ok)"}]
    procedure = Procedure.from_dict({"failed": "text ~ /^Error/", "constraints": rules})
    timed_out = Trace([Call("fetch", result="Error: timeout")])
    for found in (
        repair(timed_out, procedure, "fetched"),
        repair_procedure(timed_out, procedure),
    ):
        assert found is not None
        assert found.cost == 1
        mended = procedure.marked(found.apply(timed_out))
        assert holds(procedure["fetched"].formula, mended)


def test_a_function_that_fails_gives_no_repair() -> None:
    vocabulary = Vocabulary()

    @vocabulary.predicate
    def broken(trace: Trace, at: int, metrics: object) -> bool:
        raise KeyError("invoice")

    rules = [{"name": "c", "rule": "broken"}]
    procedure = Procedure.from_dict({"constraints": rules}, vocabulary=vocabulary)
    assert repair(trace("a"), procedure, "c") is None


RULES = ("Before(a, b)", "CalledN(b, = 1)", "InOrder(a, b, c)", "G(c -> O d)", "F final_answer")


@pytest.mark.parametrize("moves", [module.MAX_MOVES, 2_000])
def test_past_the_budget_a_repair_is_an_upper_bound(
    monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    subject, procedure = trace("b x x c b x x"), procedure_of(*RULES)
    monkeypatch.setattr(module, "MAX_MOVES", moves)
    found = repair_procedure(subject, procedure)
    assert found is not None
    assert found.exact is (moves > 2_000)
    assert found.cost == 4 if found.exact else found.cost >= 4
    assert all(holds(each.formula, found.apply(subject)) for each in procedure.constraints)


def test_a_repair_as_json() -> None:
    found = repair(trace("a refund"), procedure_of("G(refund -> Y call(verify, id = 1))"), "c0")
    assert found is not None
    assert found.to_dict() == {
        "cost": 1.0,
        "exact": True,
        "edits": [{"kind": "insert", "index": 1, "tool": "verify", "arguments": {"id": 1}}],
        "sentences": ['Insert verify {"id": 1} before call #2 (refund).'],
    }


# ── nothing is cheaper: every edit script is tried ───────────────────────────────────────────

ORDERS: list[Order] = ["position", "step"]
Slot = tuple[Call, int | None]
"""A call, and the step it had; None if it is inserted."""


@cases(100)
@given(formulas(3), traces(max_size=6), st.sampled_from(ORDERS))
def test_the_repaired_trace_satisfies_the_rule(
    formula: Formula, subject: Trace, order: Order
) -> None:
    found = repair(subject, procedure_of(formula, order=order), "c0")
    if found is not None:
        assert holds(formula, found.apply(subject), order=order)
        assert bool(found.edits) is not holds(formula, subject, order=order)


SMALL = [
    "Before(a, b)",
    "After(b, a)",
    "InOrder(a, b, a)",
    "InstanceBefore(a, 1, b, 0)",
    "AllBefore([a, b], c)",
    "CalledN(a, <= 1)",
    "CalledN(b, = 2)",
    "WithinSteps(a, b, 1)",
    "BranchCalled(a, b)",
    "G !a",
    "G(a -> X b)",
    "G(b -> Y a)",
    "G(a -> F c)",
    "X X c",
    "a U b",
    "WX WX false",
    "Before(a, final_answer)",
    "G !final_answer",
    "F(b & X final_answer)",
]
small_rules = st.lists(st.sampled_from(SMALL), min_size=1, max_size=3)
small_formulas = st.lists(formulas(2, quantifiers=False), min_size=1, max_size=2)


@st.composite
def small_traces(draw: st.DrawFn) -> Trace:
    tools = draw(st.lists(st.sampled_from("aabbc"), max_size=3))
    steps = sorted(draw(st.lists(st.integers(0, 1), min_size=len(tools), max_size=len(tools))))
    calls = [Call(tool, step=step) for tool, step in zip(tools, steps, strict=True)]
    return Trace(calls, answer=draw(st.sampled_from([None, "x"])))


@cases(400)
@given(small_rules, small_traces(), st.sampled_from(ORDERS))
def test_no_cheaper_edits_make_named_rules_hold(
    rules: list[str], subject: Trace, order: Order
) -> None:
    check_minimal([_formula(rule) for rule in rules], subject, order)


@cases(60)
@given(small_formulas, traces(max_size=3), st.sampled_from(ORDERS))
def test_no_cheaper_edits_make_random_rules_hold(
    rules: list[Formula], subject: Trace, order: Order
) -> None:
    check_minimal(rules, subject, order)


def check_minimal(rules: Sequence[Formula], subject: Trace, order: Order) -> None:
    """The repair makes every rule hold, and no edits do that cost less (and less than 2)."""
    found = repair_procedure(subject, procedure_of(*rules, order=order))
    pool = samples(rules, order, subject)
    below = 2 if found is None else min(2.0, found.cost)
    if found is not None:
        assert found.exact
        assert all(holds(rule, found.apply(subject), order=order) for rule in rules)
    if len(pool) <= 16:
        for cheaper in edited(subject, pool, below - 0.5):
            assert not all(holds(rule, cheaper, order=order) for rule in rules)


def samples(rules: Sequence[Formula], order: Order, subject: Trace) -> list[Call]:
    """The calls that the rules' alphabets show, for every tool in sight."""
    try:
        shown = [s.event for rule in rules for s in Machine(rule, order).alphabet.samples]
    except Unsupported:
        return []
    calls = [event for event in shown if isinstance(event, Call)]
    tools = {call.tool for call in (*calls, *subject.calls)} - {"final_answer"}
    pool = [Call(t, c.args, c.result, error=c.error) for c in calls for t in sorted(tools)]
    return [call for i, call in enumerate(pool) if call not in pool[:i]]


def edited(subject: Trace, pool: Sequence[Call], budget: float) -> Iterator[Trace]:
    """Every trace that edits within the budget make of this one."""
    if budget < 0:
        return
    answers = {None: 1.0, "an answer": 1.0, "a": 1.0, "b": 1.0}
    if subject.answer is not None:
        answers = {text: 0.5 if text is not None else 1.0 for text in answers}
    answers[subject.answer] = 0.0
    for (slots, left), (answer, cost) in product(
        _scripts(subject.calls, pool, budget), answers.items()
    ):
        if cost <= left:
            yield Trace(_stepped(slots), answer=answer, metrics=subject.metrics)


def _scripts(
    calls: Sequence[Call], pool: Sequence[Call], budget: float
) -> Iterator[tuple[list[Slot], float]]:
    if budget >= 1:
        for call in pool:
            for rest, left in _scripts(calls, pool, budget - 1):
                yield [(call, None), *rest], left
    if not calls:
        yield [], budget
        return
    first, *others = calls
    choices: list[tuple[list[Slot], float]] = [([(first, first.step)], 0), ([], 1)]
    choices += [([(c, first.step)], 0.5 if c.tool == first.tool else 1) for c in pool]
    for slots, cost in choices:
        if cost <= budget:
            for rest, left in _scripts(others, pool, budget - cost):
                yield [*slots, *rest], left


def _stepped(slots: Sequence[Slot]) -> list[Call]:
    calls: list[Call] = []
    number, last = -1, None
    for call, step in slots:
        number += step is None or step != last
        last = step
        calls.append(Call(call.tool, call.args, call.result, number, call.error))
    return calls
