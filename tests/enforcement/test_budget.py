"""A call that cannot be decided within the budget is refused; nothing hangs, nothing passes.

Each attack would take minutes to days without a budget, or fill the memory, or the refusal.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from bylaw import BylawError, Call, Guard, Procedure, UsageError

MANY = list(range(3_000))
LONG = "a" * 900_000


def _guard(rule: str, severity: Any = "SOFT_BLOCK", **settings: Any) -> Guard:
    file: dict[str, Any] = {"constraints": [{"name": "rule", "rule": rule, "severity": severity}]}
    for key in ("failed", "events"):
        if key in settings:
            file[key] = settings.pop(key)
    return Guard(
        Procedure.from_dict(file), soft_block_limit=10_000, unenforceable="score", **settings
    )


# ── too much work ─────────────────────────────────────────────────────────────────────────

# what it is, the rule, the arguments of the call `pay`
WORK: list[tuple[str, str, dict[str, Any]]] = [
    ("a loop in a loop", "forall x in args.a: forall y in args.a: x <= y + 4000", {"a": MANY}),
    ("a count in a loop", "forall x in args.a: count(y in args.a: y < x) >= 0", {"a": MANY}),
    ("a search in a loop", "forall x in args.a: x in args.b", {"a": MANY, "b": MANY[::-1]}),
    (
        "a text in a loop",
        "forall x in args.a: !(args.t contains x)",
        {"a": ["b"] * 9_000, "t": LONG},
    ),
    (
        "a comparison in a loop",
        "forall x in args.a: args.b = args.c",
        {
            "a": MANY,
            "b": [MANY],
            "c": [MANY],
        },
    ),
    (
        "members in a loop",
        "forall x in args.a: length(args.b.k) >= 0",
        {
            "a": MANY,
            "b": [{"k": 1}] * 3_000,
        },
    ),
    ("a list in a loop", "forall x in args.a: length(sort(args.a)) > 0", {"a": MANY}),
    (
        "a copy in a loop",
        "forall x in args.a: length(reverse(args.b)) > 0",
        {
            "a": MANY,
            "b": [[[1]] * 2_000],
        },
    ),
    ("long separators", "length(join(args.s, args.a)) >= 0", {"s": LONG, "a": ["x"] * 30_000}),
    ("long replacements", 'length(replace(args.s, "a", args.s)) >= 0', {"s": LONG}),
    (
        "long replacements by a group",
        r'length(replace(args.s, "(a+)(b?)", args.n)) >= 0',
        {
            "s": "a" * 200_000,
            "n": r"\1" * 1_000,
        },
    ),
    ("an expression in a loop", "forall x in args.a: !(args.t ~ /(a*)*b/)", {"a": MANY, "t": LONG}),
    (
        "expressions of the agent's",
        "forall x in args.a: !(args.t ~ x)",
        {
            "a": [f"(a|{number})*b" for number in range(500)],
            "t": "a" * 300_000,
        },
    ),
    ("an expression that forgets", r"!(args.t ~ /(a|b)*a(a|b){200}c/)", {"t": "aabab" * 100_000}),
    (
        "texts as JSON in a loop",
        'forall x in args.a: type(decode(args.t)) = "array"',
        {
            "a": MANY,
            "t": "[" + "1," * 40_000 + "1]",
        },
    ),
    (
        "keys in a loop",
        'forall x in args.a: to_string(args.b) != ""',
        {
            "a": MANY,
            "b": {str(number): number for number in range(3_000)},
        },
    ),
    (
        "unique in a loop",
        "forall x in args.a: length(unique(args.b)) > 0",
        {
            "a": MANY,
            "b": [[number] for number in range(3_000)],
        },
    ),
]


@pytest.mark.parametrize(("rule", "arguments"), [w[1:] for w in WORK], ids=[w[0] for w in WORK])
def test_a_call_that_takes_too_much_work_is_refused(rule: str, arguments: dict[str, Any]) -> None:
    guard = _guard(f"G(pay -> {rule})")
    (decision,) = guard.propose([Call("pay", arguments)])
    assert decision.action == "block"
    assert "could not be decided (it takes more than the budget of 1,000,000 steps)" in (
        decision.message
    )
    assert len(decision.message) < 500
    # The refused call has left nothing behind, and others are judged as before.
    small = {
        key: value[:2] if isinstance(value, list | str) else value
        for key, value in arguments.items()
    }
    assert guard.propose([Call("other")])[0].allowed
    again = guard.propose([Call("pay", small)])[0]
    assert "budget" not in again.message


def test_the_budget_can_be_set() -> None:
    rule = "forall x in args.a: forall y in args.a: x + y < 38"
    arguments = {"a": list(range(20))}
    assert (
        "budget of 100 steps"
        in _guard(f"G(pay -> {rule})", max_work=100).propose([Call("pay", arguments)])[0].message
    )
    for settings in ({"max_work": None}, {}):
        message = (
            _guard(f"G(pay -> {rule})", **settings).propose([Call("pay", arguments)])[0].message
        )
        assert "budget" not in message
        assert "break it for good" in message


@pytest.mark.parametrize("setting", ["max_work", "max_text"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "1", True])
def test_a_budget_is_a_whole_number(setting: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"{setting} cannot be"):
        _guard("G(pay -> O get)", **{setting: value})


def test_the_same_call_is_decided_the_same_way_every_time() -> None:
    """Steps are counted, so caches and the speed of the machine do not matter."""
    rule = "G(pay -> forall x in args.a: args.t ~ /(a|b)*c/)"
    for size in (10, 100):
        arguments = {"a": MANY[:size], "t": "ab" * 10_000 + "c"}
        first, second = (
            [
                _guard(rule, max_work=steps).propose([Call("pay", arguments)])[0].allowed
                for steps in (10_000, 100_000, 1_000_000)
            ]
            for _ in range(2)
        )
        assert first == second


SEVERITIES = {"HARD_STOP": "stop", "SOFT_BLOCK": "block", "ASK": "ask", "BLOCK_AND_WARN": "warn"}


@pytest.mark.parametrize(("severity", "action"), SEVERITIES.items())
def test_the_severity_of_the_rule_acts(severity: str, action: str) -> None:
    rule = "G(pay -> forall x in args.a: forall y in args.a: x <= y + 4000)"
    guard = _guard(rule, severity, max_work=10_000)
    assert guard.propose([Call("pay", {"a": MANY})])[0].action == action


def test_a_tolerated_rule_keeps_nobody_waiting() -> None:
    rule = "G(pay -> forall x in args.a: forall y in args.a: x <= y + 4000)"
    guard = _guard(rule, "TOLERATE", max_work=10_000)
    assert guard.propose([Call("pay", {"a": MANY})])[0].allowed
    assert guard.finish().score is None


# ── events that are kept ──────────────────────────────────────────────────────────────────


def test_a_memory_of_combinations_is_not_built() -> None:
    """Each pair of an `a` and a `b` would be a key of the memory."""
    rule = "G(pay -> let i = args.i, j = args.j: earlier (get & i in args.a & j in args.b))"
    guard = _guard(rule)
    assert guard.propose([Call("get", {"a": MANY, "b": MANY})])[0].allowed
    (decision,) = guard.propose([Call("pay", {"i": 1, "j": 1})])
    assert "budget" in decision.message


def test_a_search_through_texts_ends() -> None:
    rule = "G(pay -> let i = args.i: earlier (get & text contains i))"
    guard = _guard(rule, max_work=1_000)
    for _ in range(40):
        guard.record(guard.propose([Call("get")])[0], "x" * 2_000)
    (decision,) = guard.propose([Call("pay", {"i": "y"})])
    assert "budget of 1,000 steps" in decision.message
    assert guard.propose([Call("pay", {"i": "x"})])[0].allowed


def test_a_trace_that_is_read_as_a_whole_ends() -> None:
    """The rule is about data and the future, so that it is evaluated on all events so far."""
    rule = "G(get -> let i = args.i: F (done & args.i > i))"
    guard = _guard(rule, max_work=2_000)
    decisions = [guard.propose([Call("get", {"i": number})])[0] for number in range(400)]
    assert decisions[0].allowed
    assert "budget of 2,000 steps" in decisions[-1].message


def test_values_that_wait_for_a_call_take_no_more_work_as_they_grow() -> None:
    guard = _guard("G(get -> let i = args.i: F call(done, i = i))", max_work=100)
    decisions = [guard.propose([Call("get", {"i": number})])[0] for number in range(400)]
    assert all(decision.allowed for decision in decisions)


def test_values_without_end_are_refused() -> None:
    rule = 'forall x in args(list, "ids[]"): G(call(open, id = x) -> O call(check, id = x))'
    guard = _guard(rule, max_work=5_000)
    assert guard.propose([Call("list", {"ids": MANY[:1_000]})])[0].allowed
    assert "budget" in guard.propose([Call("list", {"ids": MANY})])[0].message
    assert not guard.propose([Call("open", {"id": 7})])[0].allowed
    assert guard.propose([Call("open", {"id": 2_000})])[0].allowed


# ── results ───────────────────────────────────────────────────────────────────────────────

# what it is, the rule, the result of `verify`
RESULTS: list[tuple[str, str, Any]] = [
    (
        "evidence that takes too long",
        "G(pay -> O (verify & exists x in result.a: exists y in result.a: x = y + 4000))",
        {"a": MANY},
    ),
    ("evidence that is too large", "G(pay -> O call(verify, ok))", {"a": LONG + LONG}),
    ("evidence of too many parts", "G(pay -> O call(verify, ok))", [0] * 1_000_001),
    (
        "a prohibition that takes too long",
        "G(pay -> !O (verify & forall x in result.a: forall y in result.a: x != y + 4000))",
        {"a": MANY},
    ),
    ("a prohibition that is too large", "G(pay -> !O call(verify, ok))", {"a": LONG + LONG}),
    ("evidence that may have failed", "G(pay -> O call(verify, ok))", {"b": MANY}),
    ("a prohibition that may have failed", "G(pay -> !O call(verify, ok))", {"b": MANY}),
    (
        "values that take too long",
        'forall x in results(verify, "a[]"): G(call(pay, id = x) -> O call(check, id = x))',
        {"a": list(range(60_000))},
    ),
]
FAILED = "exists x in result.b: exists y in result.b: x = y + 4000"


@pytest.mark.parametrize(("rule", "result"), [r[1:] for r in RESULTS], ids=[r[0] for r in RESULTS])
def test_a_result_that_cannot_be_judged_stays_unknown(rule: str, result: Any) -> None:
    """Permissions wait for it, and prohibitions count on it."""
    guard = _guard(rule, failed=FAILED, max_work=100_000)
    (verified,) = guard.propose([Call("verify")])
    guard.record(verified, result)
    assert not guard.awaiting
    (decision,) = guard.propose([Call("pay", {"id": 0})])
    assert decision.action == "block"
    assert [violation.kind for violation in decision.violations] == ["early"]
    guard.restore(json.loads(json.dumps(guard.save())))
    assert not guard.propose([Call("pay", {"id": 0})])[0].allowed
    assert guard.propose([Call("other")])[0].allowed


def test_a_refund_whose_result_is_too_large_is_counted() -> None:
    guard = _guard("G(refund -> !Y O call(refund, ok))")
    (first,) = guard.propose([Call("refund")])
    guard.record(first, LONG + LONG)
    assert not guard.propose([Call("refund")])[0].allowed


def test_an_error_that_is_too_large_is_unknown_too() -> None:
    guard = _guard("G(refund -> !Y O call(refund, ok))")
    (first,) = guard.propose([Call("refund")])
    guard.record(first, None, error=LONG + LONG)
    assert not guard.propose([Call("refund")])[0].allowed


# ── messages ──────────────────────────────────────────────────────────────────────────────


def test_a_message_that_takes_too_long_ends_the_run() -> None:
    rule = r"G(says(user) -> forall x in find(text, /\d/): forall y in find(text, /\d/): x = y)"
    guard = _guard(rule, events="all", max_work=10_000)
    guard.say("user", "1" * 400)
    assert guard.stopped
    assert guard.propose([Call("pay")])[0].action == "stop"


def test_a_message_that_is_too_large_is_an_error() -> None:
    guard = _guard("G(pay -> O (says(user) & text ~ /yes/))", events="all")
    with pytest.raises(UsageError, match="the message has more than 1,000,000 characters"):
        guard.say("user", "yes" + LONG + LONG)
    assert not guard.stopped
    assert not guard.propose([Call("pay")])[0].allowed


# ── too much text ─────────────────────────────────────────────────────────────────────────


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


# what it is, the call, the reason
TEXTS: list[tuple[str, Call, str]] = [
    ("one long text", Call("pay", {"t": LONG + LONG}), "more than 1,000,000 characters"),
    ("many texts", Call("pay", {"t": ["a" * 1_001] * 1_000}), "more than 1,000,000 characters"),
    ("long keys", Call("pay", {"k": {LONG + LONG: 1}}), "more than 1,000,000 characters"),
    ("a long key", Call("pay", {LONG + LONG: 1}), "more than 1,000,000 characters"),
    ("many parts", Call("pay", {"a": [0] * 1_000_001}), "more than 1,000,000 parts"),
    ("shared parts", Call("pay", {"a": [[[0] * 1_000] * 1_000] * 1_000}), "1,000,000 parts"),
    ("a long id", Call("pay", id=LONG), "its id has more than 256 characters"),
    ("a long agent", Call("pay", agent=LONG), "its agent's name has more than 256"),
    ("a long name", Call(LONG), "its tool's name has more than 256 characters"),
]


@pytest.mark.parametrize(("call", "reason"), [t[1:] for t in TEXTS], ids=[t[0] for t in TEXTS])
def test_a_call_that_is_too_large_is_refused(call: Call, reason: str) -> None:
    guard = _guard("G(pay -> O get)", "BLOCK_AND_WARN")
    for _ in range(2):  # nobody can insist on it
        other, decision = guard.propose([Call("get"), call])
        assert other.allowed
        assert decision.action == "block"
        assert "could not be decided within the budget" in decision.message
        assert reason in decision.message
        assert len(decision.message) < 600
        assert not decision.violations
        assert dict(decision.call.args) == {}


def test_what_is_nested_too_deeply_is_an_error() -> None:
    with pytest.raises(UsageError, match="nests more than 200 deep"):
        _guard("G(pay -> O get)").propose([Call("pay", {"a": _nested(100_000)})])


def test_the_limit_on_text_can_be_set() -> None:
    guard = _guard("G(pay -> O get)", max_text=20)
    assert guard.propose([Call("get", {"text": "x" * 16})])[0].allowed
    assert not guard.propose([Call("get", {"text": "x" * 17})])[0].allowed
    guard = _guard("G(pay -> O get)", max_text=None)
    assert guard.propose([Call("get", {"text": LONG + LONG})])[0].allowed


def test_a_baseline_refuses_nothing() -> None:
    rule = "G(pay -> forall x in args.a: x >= 0)"
    guard = _guard(rule, setting="baseline", max_work=10, max_text=10)
    (decision,) = guard.propose([Call("pay", {"a": MANY, "t": "x" * 100})])
    guard.record(decision, "x" * 100)
    guard.say("user", "x" * 100)
    assert decision.allowed
    assert guard.finish().score == 1.0


# ── the text of a refusal ─────────────────────────────────────────────────────────────────


def test_a_refusal_is_short() -> None:
    guard = _guard("G(pay -> O get)", hints="open")
    name = "n" * 256
    decisions = guard.propose([Call("pay", {"t": LONG}), Call(name, {"t": LONG})])
    assert len(decisions[0].message) < 1_000
    stopped = _guard("G(pay -> O get)", "HARD_STOP")
    for decision in stopped.propose([Call("pay", {"t": LONG}), Call(name, {"t": LONG})]):
        assert decision.action == "stop"
        assert len(decision.message) < 1_000


def test_the_reason_of_a_function_that_failed_is_short() -> None:
    from bylaw import Vocabulary

    vocabulary = Vocabulary()

    @vocabulary.predicate
    def fails(trace: Any, at: int, metrics: Any) -> bool:
        """It repeats what it was given."""
        raise ValueError(trace.events[at].args["t"])

    constraints = [{"name": "rule", "rule": "G(pay -> fails)", "severity": "SOFT_BLOCK"}]
    procedure = Procedure.from_dict({"constraints": constraints}, vocabulary=vocabulary)
    guard = Guard(procedure, unenforceable="score")
    (decision,) = guard.propose([Call("pay", {"t": LONG})])
    assert not decision.allowed
    assert len(decision.message) < 1_000


def test_an_error_about_a_call_is_short() -> None:
    with pytest.raises(BylawError) as caught:
        _guard("G(pay -> O get)").propose([Call("pay", {"t": object(), "u": LONG})])
    assert len(str(caught.value)) < 1_000
