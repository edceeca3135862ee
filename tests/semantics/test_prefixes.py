"""On every prefix: doomed and safe are reported as soon as true, never sooner, never later.

What a monitor calls final is tried against all continuations up to a bound; what it leaves
open must come with a continuation either way, and the reference must agree with it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from random_formulas import Generator, all_sequences, trace_of_moves

from bylaw import Guard, Procedure, Trace, holds, parse, to_text
from bylaw.logic.formula import Formula
from bylaw.semantics.enforceability import enforceability
from bylaw.semantics.examples.reading_options import ReadingOptions
from bylaw.semantics.examples.shortest import difference, examples
from bylaw.semantics.machine.alphabet import Alphabet, Letter
from bylaw.semantics.machine.follower import Follower, PlainFollower
from bylaw.semantics.monitor import Monitor
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import MISSING, Call
from bylaw.vocabulary.view import Order

FORMULAS = 1000
"""For each order; together two thousand."""


@pytest.mark.slow
@pytest.mark.parametrize(("order", "bound"), [("position", 4), ("step", 3)])
def test_exact_on_prefixes(order: Order, bound: int) -> None:
    generator = Generator(seed=7)
    continuations = all_sequences(bound, order)
    counted = dict.fromkeys(Verdict, 0)
    for _ in range(FORMULAS):
        formula = generator.formula(generator.random.randint(1, 4))
        prefix = generator.prefix(4, order)
        monitor = Monitor(formula, order=order)
        for call in trace_of_moves(prefix).calls:
            monitor.step(call)
        counted[monitor.verdict] += 1
        told = f"{to_text(formula)} after {prefix}: {monitor.verdict}"
        assert monitor.exact, told
        possible: set[bool] = set()
        for more in continuations:
            possible.add(holds(formula, trace_of_moves(prefix, more), order=order))
            if len(possible) == 2:
                break
        if monitor.verdict.final:
            assert possible == {monitor.verdict is Verdict.SATISFIED}, told
        else:
            for goal in {True, False} - possible:
                way = trace_of_moves(prefix, _way(monitor, goal))
                assert holds(formula, way, order=order) is goal, told
    assert counted[Verdict.VIOLATED] >= 200, counted
    assert counted[Verdict.SATISFIED] >= 100, counted


def _way(monitor: Monitor, goal: bool) -> list[tuple[str, bool]]:
    """A continuation after which the formula comes out so."""
    engine = monitor._engine
    assert isinstance(engine, Follower | PlainFollower)
    machine = engine.machine
    path = engine.explorer.shortest(lambda s: machine.accepts(s) is goal, engine.now)
    assert path is not None, "the monitor left this open"
    return [(event.tool, new_step) for event, new_step in path if isinstance(event, Call)]


@pytest.mark.parametrize("order", ["position", "step"])
def test_under_steps_a_continuation_may_go_on_in_the_same_step(order: Order) -> None:
    monitor = Monitor(parse("InOrder(a, b) & CalledN(b, <= 1)"), order=order)
    for tool in ("a", "b"):
        monitor.step(Call(tool, step=0))
    assert (monitor.verdict is Verdict.VIOLATED) is (order == "step")


def test_ending_the_step_decides_what_may_still_come() -> None:
    rule = parse("CalledN(a, >= 1) -> Before(a, b)")
    monitor = Monitor(rule, order="step")
    monitor.step(Call("a", step=0))
    assert not monitor.verdict.final
    monitor.end_step()
    assert not monitor.verdict.final
    monitor.step(Call("b"))
    assert monitor.verdict is Verdict.SATISFIED


@pytest.mark.slow
@pytest.mark.parametrize(("order", "pairs"), [("position", 350), ("step", 150)])
def test_differences_against_brute_force(order: Order, pairs: int) -> None:
    generator = Generator(seed=11)
    sequences = [trace_of_moves(s) for s in all_sequences(3, order)]
    equivalent = 0
    for _ in range(pairs):
        old = generator.formula(generator.random.randint(1, 3))
        new = generator.formula(generator.random.randint(1, 3))
        if generator.random.random() < 0.3:
            same: list[Formula] = [~~old, old | old & new, (old >> new) >> old]
            new = generator.random.choice(same)
        found = difference(old, new, ReadingOptions(order=order))
        assert found.decided
        first = next(
            (t for t in sequences if holds(old, t, order=order) is not holds(new, t, order=order)),
            None,
        )
        told = f"{to_text(old)} against {to_text(new)}: {found.trace}, brute force {first}"
        if found.trace is None:
            equivalent += 1
            assert first is None, told
        else:
            verdicts = [holds(each, found.trace, order=order) for each in (old, new)]
            assert verdicts == [found.old_holds, not found.old_holds], told
            assert first is None or len(first) == len(found.trace), told
    assert equivalent >= 30


def _too_late(calls: str) -> str:
    doomed = f"after `{calls}` nothing can satisfy it any more"
    return f"{doomed}, but only a result can do that: too late to refuse a call"


ENFORCEABLE = {
    # rule: (is it, why)
    "F cite": (False, "no prefix can doom this: a later `cite` always rescues it"),
    "Called(cite)": (False, "no prefix can doom this: a later `cite` always rescues it"),
    "G(search -> F cite)": (False, "no prefix can doom this: a later `cite` always rescues it"),
    "InOrder(a, b)": (
        False,
        "no prefix can doom this: every prefix has a continuation that satisfies it",
    ),
    "true": (False, "no prefix can doom this: it holds whenever the trace ends"),
    "false": (True, "nothing can satisfy this: it is violated from the start"),
    "G !drop": (True, "after `drop` nothing can satisfy it any more"),
    "G(refund -> O verify)": (True, "after `refund` nothing can satisfy it any more"),
    "Before(a, b)": (True, "after `b` nothing can satisfy it any more"),
    "WithinSteps(a, b, 2)": (True, "after `a a a` nothing can satisfy it any more"),
    "BranchCalled(a, b)": (True, "after `b` nothing can satisfy it any more"),
    "CalledN(a, >= 2)": (
        False,
        "no prefix can doom this: every prefix has a continuation that satisfies it",
    ),
    "CalledN(a, <= 1000000)": (
        True,
        "after 1,000,001 calls nothing can satisfy it any more",
    ),
    # only results doom these: a call is decided before it has one
    "G !call(get, failed)": (True, _too_late("get")),
    "G !(get & result.left < 0)": (True, _too_late("get")),
    "G !(call(a, failed) & Y call(a, failed))": (True, _too_late("a a")),
    # another call dooms these, whatever comes of it
    "call(login, ok)": (True, "after `something_else` nothing can satisfy it any more"),
    "G(call(a, failed) -> WX call(a, ok))": (
        True,
        "after `a something_else` nothing can satisfy it any more",
    ),
    # a result dooms these, or a call does
    "G !call(get, failed) & G !drop": (True, "after `drop` nothing can satisfy it any more"),
    "G(call(a, failed) -> X b)": (True, "after `a a` nothing can satisfy it any more"),
    "G(commit -> O call(run, ok))": (True, "after `commit` nothing can satisfy it any more"),
    "G(pay -> result.id = last(get).result.id)": (
        True,
        "after `pay` nothing can satisfy it any more",
    ),
}


@pytest.mark.parametrize("rule", ENFORCEABLE)
def test_enforceable(rule: str) -> None:
    found = enforceability(parse(rule))
    assert (found.enforceable, found.reason) == ENFORCEABLE[rule]
    assert found.exact


@pytest.mark.parametrize(
    "rule",
    [
        *(rule for rule, (_, reason) in ENFORCEABLE.items() if reason.startswith("after `")),
        "G(pay -> args.id = last(get).result.id)",
        "G(pay -> result.id = args.id)",
        "G(call(a, failed) -> args.path ~ /^x/)",
        "G(pay -> !(result.id = last(get).args.id))",
        "G(pay -> let i = args.id: !earlier call(get, result.id = i))",
    ],
)
def test_a_gate_refuses_the_last_call_of_a_prefix_that_dooms(rule: str) -> None:
    """And where only a result dooms, it refuses none: the rule is lost."""
    found = enforceability(parse(rule))
    assert found.prefix
    guard = Guard(Procedure.from_dict({"constraints": [{"name": "r", "rule": rule}]}))
    allowed = []
    for event, _ in found.prefix:
        assert isinstance(event, Call)
        (decision,) = guard.propose([event])
        allowed.append(decision.allowed)
        if decision.allowed:
            result = None if event.result is MISSING else event.result
            guard.record(decision, result, error=event.error)
    assert allowed == [True] * (len(allowed) - 1) + [found.too_late]
    assert [event.action for event in guard.events] == ["lost" if found.too_late else "block"]


def test_calls_that_differ_only_in_results_are_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: Counter[str] = Counter()
    letters_of = Alphabet.letters_of

    def counted(alphabet: Alphabet, call: Call) -> dict[Letter, Call]:
        asked[call.tool] += 1
        return letters_of(alphabet, call)

    monkeypatch.setattr(Alphabet, "letters_of", counted)
    conditions = " & ".join(f"result.p{n} = 1" for n in range(6))
    assert enforceability(parse(f"G(call(a, ok) -> {conditions})")).too_late
    assert set(asked.values()) == {1}, asked


@pytest.mark.parametrize(
    ("rule", "differs"),
    [
        ("G(refund -> X cite)", True),
        ("G call", True),
        ("!X X true", True),
        ("G(refund -> O verify)", False),
        ("G(a -> F b)", False),
    ],
)
def test_to_see_messages_makes_a_difference_to_some_rules(rule: str, differs: bool) -> None:
    formula = parse(rule)
    found = difference(
        formula, formula, ReadingOptions(events="calls"), ReadingOptions(events="all")
    )
    assert found.decided
    assert (found.trace is not None) is differs
    if found.trace is not None:
        verdicts = [holds(formula, found.trace, events=events) for events in ("calls", "all")]
        assert verdicts == [found.old_holds, not found.old_holds]


def test_where_messages_may_begin_steps_nothing_is_claimed() -> None:
    formula = parse("G(a -> F b)")
    settings = ReadingOptions("step", "calls"), ReadingOptions("step", "all")
    assert not difference(formula, formula, *settings).decided


def test_a_message_dooms_too_late() -> None:
    found = enforceability(parse("G !says(user)"), events="all")
    assert found.enforceable
    assert found.too_late
    assert "only a result or a message can do that" in found.reason


EXAMPLES = {
    # rule: shortest trace that satisfies it with something checked, that violates it, that dooms it
    "G(search -> F cite)": ("search cite", "search", None),
    "G !pay": ("something_else", "pay", "pay"),
    "Before(a, b)": ("a b", "", "b"),
    "CalledN(pay, <= 1)": ("", "pay pay", "pay pay"),
    "X a": ("a a", "", "a b"),
    "true": ("", None, None),
    "false": (None, "", ""),
}


@pytest.mark.parametrize("rule", EXAMPLES)
def test_shortest_examples(rule: str) -> None:
    found = examples(parse(rule))
    satisfying, violating, dooming = (
        None if each is None else " ".join(call.tool for call in each)
        for each in (found.satisfying, found.violating, found.dooming)
    )
    wanted = EXAMPLES[rule]
    assert (satisfying, violating) == wanted[:2]
    assert (dooming is None) is (wanted[2] is None)
    assert dooming is None or len(dooming.split()) == len((wanted[2] or "").split())


def test_examples_and_differences_are_seen_as_marked() -> None:
    def marked(trace: Trace) -> Trace:
        bad = ("no", "never")
        return Trace([replace(c, error=c.error or "bad") if c.result in bad else c for c in trace])

    setting = ReadingOptions(marked=marked)
    no, never, yes = (parse(f'F call(t, result = "{word}", ok)') for word in ("no", "never", "yes"))
    assert examples(no).satisfying is not None
    assert examples(no, setting).satisfying is None
    assert examples(yes, setting) == examples(yes)
    failed = parse('F call(t, result in ["no", "fine"], failed)')
    shown = examples(failed, setting).satisfying
    assert shown is not None
    assert holds(failed, marked(shown))
    assert difference(no, never).trace is not None
    assert not difference(no, never, setting).decided


def test_a_large_count_costs_one_counter() -> None:
    monitor = Monitor(parse("CalledN(t, <= 1000000)"))
    for _ in range(2_000):
        monitor.step(Call("t"))
        assert monitor.verdict is Verdict.PRESUMABLY_SATISFIED
    assert monitor.exact


REFUTED = {
    # A rule that a narrow choice of sample calls would call certain, and a trace that is not.
    'G(call(t, i.k = 1) -> call(t, i = {"k": 1}))': Call("t", {"i": {"k": 1, "z": 2}}),
    "G something_else": Call("yet_another"),
    'G(t -> !call(t, i = "another value"))': Call("t", {"i": "another value"}),
    '!F call(t, result = "5")': Call("t", result='"5"'),
    'G(call(t, i.k = {"a": 1}) -> call(t, i.k.a = 2))': Call("t", {"i": {"k": {"a": 1}}}),
    "!CalledExactly(t, something_more = 1)": Call("t", {"something_more": 1}),
    # values between, above and below those that a rule compares with
    "Called(u) | !F(t & args.n > 200 & args.n < 200.3)": Call("t", {"n": 200.1}),
    "Called(u) | !F(t & args.n > 5 & args.n != 6 & args.n != 5.5)": Call("t", {"n": 7}),
    "Called(u) | !F(t & args.n > 1 & args.n < 2 & args.n != 1.5)": Call("t", {"n": 1.2}),
    "Called(u) | !F(t & args.n < -1e300)": Call("t", {"n": -1e301}),
    'Called(u) | !F(t & args.n > "" & args.n < "a")': Call("t", {"n": "A"}),
    'Called(u) | !F(t & args.n > "ab" & args.n < "aba")': Call("t", {"n": "ab."}),
}


@pytest.mark.parametrize("rule", REFUTED)
def test_nothing_is_certain_because_it_was_not_tried(rule: str) -> None:
    formula = parse(rule)
    monitor = Monitor(formula)
    assert monitor.verdict is not Verdict.SATISFIED
    monitor.step(REFUTED[rule])
    assert not monitor.verdict.holds_now
    assert not holds(formula, Trace([REFUTED[rule]]))


@pytest.mark.parametrize(
    ("rule", "doomed"),
    [
        ('forall x in args(open, "f"): G !call(delete, f = x)', True),
        ('forall x in results(list, "n[]"): G !call(delete, f = x)', True),
        ('forall x in args(open, "f"): F call(close, f = x)', False),
        ('exists x in args(open, "f"): G !call(delete, f = x)', False),
    ],
)
def test_a_universal_over_values_to_come_is_enforceable_if_an_instance_is(
    rule: str, doomed: bool
) -> None:
    assert enforceability(parse(rule)).enforceable is doomed
