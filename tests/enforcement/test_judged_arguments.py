"""A tool runs with exactly what was judged: arguments, names and parameters."""

from __future__ import annotations

import asyncio
import copy
import enum
import inspect
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Iterator
from datetime import date
from types import MappingProxyType
from typing import Any

import pytest
from one_rule import procedure as _procedure
from one_rule import small_payments as _guard

from bylaw import Call, Guard, UsageError, Vocabulary
from bylaw.plain import as_json

# ── arguments ─────────────────────────────────────────────────────────────────────────────


class Liar(int):
    """Compares as it likes."""

    def __lt__(self, other: object) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Word(str):
    """Equals what it likes."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("pay")


class Shifty(dict[str, Any]):
    """Unpacks differently each time."""

    def __iter__(self) -> Iterator[str]:
        return iter(["amount"])

    def __getitem__(self, key: str) -> Any:
        return 5

    def items(self) -> Any:
        return {"amount": 5}.items()


class Level(enum.IntEnum):
    LOW = 5


class Real(float):
    """A number of another type."""


Point = namedtuple("Point", "x y")  # as users write it


def _within_itself() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _wide(levels: int) -> Any:
    value: Any = [1]
    for _ in range(levels):
        value = [value, value]
    return value


NOT_JSON: dict[str, tuple[Any, str]] = {
    "a subclass of int": (Liar(500), "Liar is not a JSON type"),
    "an enumeration": (Level.LOW, "Level is not a JSON type"),
    "a subclass of float": (Real(5.0), "Real is not a JSON type"),
    "a subclass of str": (Word("5"), "Word is not a JSON type"),
    "a subclass of dict": (Shifty(amount=500), "Shifty is not a JSON type"),
    "an ordered mapping": (OrderedDict(a=1), "OrderedDict is not a JSON type"),
    "a mapping with defaults": (defaultdict(int, a=1), "defaultdict is not a JSON type"),
    "a view of a mapping": (MappingProxyType({"a": 1}), "mappingproxy is not a JSON type"),
    "a named tuple": (Point(1, 2), "Point is not a JSON type"),
    "not a number": (float("nan"), "nan is not a JSON number"),
    "an infinity": (float("inf"), "inf is not a JSON number"),
    "too many digits": (10**5000, "a number has too many digits"),
    "a complex number": (1j, "complex is not a JSON type"),
    "bytes": (b"5", "bytes is not a JSON type"),
    "a set": ({5}, "set is not a JSON type"),
    "a date": (date(2026, 1, 2), "date is not a JSON type"),
    "a class": (int, "type is not a JSON type"),
    "a key that is a number": ({1: "a"}, "a key is not a string but int"),
    "a key of a subclass": ({Word("a"): 1}, "a key is not a string but Word"),
    "a value within itself": (_within_itself(), "it nests more than 200 deep"),
    "a deep value": (_deep(201), "it nests more than 200 deep"),
    "deep inside": ([{"a": [Liar(5)]}], "Liar is not a JSON type"),
}
PROPOSALS: dict[str, Callable[[Guard, Any], Any]] = {
    "propose": lambda guard, value: guard.propose([Call("pay", {"amount": value})]),
    "propose_async": lambda guard, value: asyncio.run(
        guard.propose_async([Call("pay", {"amount": value})])
    ),
    "run_turn": lambda guard, value: guard.run_turn(
        {"pay": lambda amount: amount}, [Call("pay", {"amount": value})]
    ),
    "wrap": lambda guard, value: guard.wrap({"pay": lambda amount: amount})["pay"](value),
}


@pytest.mark.parametrize("how", PROPOSALS)
@pytest.mark.parametrize("value", NOT_JSON)
def test_an_argument_that_is_not_plain_json_is_refused(value: str, how: str) -> None:
    guard = _guard("G !other")
    given, reason = NOT_JSON[value]
    before = guard.save()
    with pytest.raises(UsageError, match=r"the arguments of 'pay' are not JSON") as refused:
        PROPOSALS[how](guard, given)
    assert reason in str(refused.value)
    assert guard.save() == before, "nothing was decided"


@pytest.mark.parametrize("value", NOT_JSON)
def test_a_bad_argument_of_a_later_call_takes_the_turn_back(value: str) -> None:
    guard = _guard("CalledN(pay, <= 1)")
    bad = Call("pay", {"amount": NOT_JSON[value][0]})
    with pytest.raises(UsageError, match="not JSON"):
        guard.propose([Call("pay"), Call("pay"), bad])
    assert [d.action for d in guard.propose([Call("pay")])] == ["allow"]


def test_a_value_of_endless_parts_is_refused() -> None:
    ran: list[Any] = []
    guard = _guard("CalledN(pay, <= 1)")
    (result,) = guard.run_turn({"pay": ran.append}, [Call("pay", {"object": _wide(64)})])
    assert "it has more than 1,000,000 parts" in result["message"]
    assert ran == []
    assert [d.action for d in guard.propose([Call("pay")])] == ["allow"]


@pytest.mark.parametrize("value", [_deep(190), (1, [2, (3,)]), {"a": [None, True, 1.5, "\ud800"]}])
def test_other_values_are_rebuilt(value: Any) -> None:
    (decision,) = _guard("G !other").propose([Call("pay", {"amount": value})])
    assert decision.call.args == {"amount": as_json(value)}
    assert decision.call.args["amount"] is not value


class Disguised(Call):
    """A call that shows the gate another tool."""


@pytest.mark.parametrize(
    "call",
    [
        Call(Word("refund"), {}),
        Call(None, {}),  # type: ignore[arg-type]  # the mistake
        Call("pay", [1]),  # type: ignore[arg-type]  # the mistake
        Call("pay", MappingProxyType({"amount": 5})),
        Call("pay", Shifty(amount=500)),
        Call("pay", {}, id=7),  # type: ignore[arg-type]  # the mistake
        Call("pay", {}, id=Word("7")),
        Call("pay", {}, agent=Word("boss")),
        Disguised("pay"),
        {"tool": "pay"},
        "pay",
    ],
)
def test_a_call_that_is_not_plain_is_refused(call: Any) -> None:
    guard = _guard()
    with pytest.raises(UsageError):
        guard.propose([Call("lookup"), call])
    assert guard.turn == 0


def test_a_tool_is_named_by_a_plain_string() -> None:
    guard = _guard()
    for run in (guard.wrap, lambda tools: guard.run_turn(tools, [Call("pay")])):
        with pytest.raises(UsageError, match="a tool cannot be named"):
            run({Word("pay"): print})


def test_arguments_are_copied_before_anything_is_decided() -> None:
    """The caller, a person who is asked, and the tool change theirs."""
    seen: list[Any] = []
    items: list[Any] = [1]

    def ask(call: Call, _: object) -> bool:
        with pytest.raises(TypeError, match="cannot be changed"):
            call.args["items"].append(3)
        return True

    def pay(items: list[Any]) -> None:
        seen.append(list(items))
        items.append("x")

    guard = Guard(_procedure("G(pay -> args.items = [9])", "ASK"), ask=ask)
    wrapped = guard.wrap({"pay": pay})["pay"]
    wrapped(items)
    items.append(2)
    assert seen == [[1]]
    (event,) = guard.events
    assert event.to_dict()["arguments"] == {"items": [1]}


def test_a_decision_that_is_changed_changes_nothing() -> None:
    guard = _guard('G(pay -> last(lookup).args.id = "a")')
    lookup, pay = Call("lookup", {"id": "b"}), Call("pay", {"amount": 5})
    (looked,) = guard.propose([lookup])
    looked.call.args["id"] = "a"  # type: ignore[index]  # the mistake
    guard.record(looked, "found")
    assert guard.propose([pay])[0].action == "block"
    (event,) = guard.events
    refused = guard.propose([pay])[0]
    refused.call.args["amount"] = 1  # type: ignore[index]  # the mistake
    assert event.call.args == {"amount": 5}


# ── parameters ────────────────────────────────────────────────────────────────────────────


def positional(amount: Any, /, **more: Any) -> Any:
    return amount, more


def defaulted(amount: Any = 500, to: Any = ("shop",), *, memo: Any = None) -> Any:
    return amount, to, memo


def variadic(amount: Any, *notes: Any, **more: Any) -> Any:
    return amount, notes, more


def opaque(amount: Any, connection: Any = object()) -> Any:  # noqa: B008  # as users write it
    return amount, type(connection)


SEEN: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any, Any]] = {
    "by position": (positional, (5,), {}, {"amount": 5}, (5, {})),
    "more of it": (positional, (5,), {"a": 1}, {"amount": 5, "a": 1}, (5, {"a": 1})),
    "more, named so": (positional, (5,), {"more": 1}, {"amount": 5, "more": 1}, (5, {"more": 1})),
    "defaults": (
        *(defaulted, (), {}),
        {"amount": 500, "to": ["shop"], "memo": None},
        (500, ["shop"], None),
    ),
    "some defaults": (
        *(defaulted, (), {"memo": "x"}),
        {"amount": 500, "to": ["shop"], "memo": "x"},
        (500, ["shop"], "x"),
    ),
    "no rest": (variadic, (5,), {}, {"amount": 5}, (5, (), {})),
    "a rest": (variadic, (5, "a"), {}, {"amount": 5, "notes": ["a"]}, (5, ("a",), {})),
    "a default that is no JSON": (opaque, (5,), {}, {"amount": 5}, (5, object)),
}


@pytest.mark.parametrize("case", SEEN)
def test_rules_see_what_the_tool_receives(case: str) -> None:
    tool, values, keywords, seen, received = SEEN[case]
    judged: list[Any] = []
    guard = _spying(judged)
    assert guard.wrap({"pay": tool})["pay"](*values, **keywords) == received
    assert guard.run_turn({"pay": tool}, [Call("pay", seen)]) == [received]
    assert judged == [seen, seen]


def _spying(judged: list[Any]) -> Guard:
    """A guard with a rule that looks at the arguments."""
    vocabulary = Vocabulary()

    @vocabulary.predicate(false_is_final=True)
    def look(trace: Any, at: int, metrics: Any) -> bool:
        if at + 1 == len(trace) and (not judged or len(judged) < len(trace)):
            judged.append(copy.deepcopy(trace[at].args))
        return True

    return Guard(_procedure("G(pay -> look())", vocabulary=vocabulary))


@pytest.mark.parametrize(
    ("tool", "values", "keywords"),
    [
        (positional, (5,), {"amount": 500}),
        (variadic, (5,), {"notes": "x"}),
        (variadic, (5, "a"), {"notes": "x"}),
    ],
)
def test_a_name_that_could_mean_two_arguments_is_refused(
    tool: Any, values: Any, keywords: Any
) -> None:
    guard = _guard()
    with pytest.raises(UsageError, match="can mean two parameters"):
        guard.wrap({"pay": tool})["pay"](*values, **keywords)
    assert guard.turn == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "wrong"),
    [
        (positional, {}, "TypeError"),
        (variadic, {"amount": 5, "notes": "abc"}, "is not a list"),
        (variadic, {"notes": ["a"]}, "the argument 'amount' of 'pay' is missing"),
        (defaulted, {"total": 5}, "unexpected keyword argument 'total'"),
        (lambda: 0, {"amount": 5}, "unexpected keyword argument 'amount'"),
    ],
)
def test_a_call_that_does_not_fit_has_failed(tool: Any, arguments: Any, wrong: str) -> None:
    guard = _guard("G(other -> earlier call(pay, failed))")
    (result,) = guard.run_turn({"pay": tool, "other": list}, [Call("pay", arguments)])
    assert wrong in result["error"]
    assert guard.run_turn({"other": lambda: "ran"}, [Call("other")]) == ["ran"]


def test_a_tool_without_readable_parameters_is_refused() -> None:
    class Strange:
        __signature__ = "none"

        def __call__(self) -> None: ...

    with pytest.raises(UsageError, match="the parameters of the tool 'pay' cannot be read"):
        _guard().wrap({"pay": Strange()})


def test_nothing_public_leads_from_a_wrapped_tool_to_the_tool() -> None:
    def pay(amount: int, memo: str = "x") -> str:
        """Pays."""
        return "paid"

    async def later(amount: int) -> str:
        return "paid"

    def stream(amount: int) -> Iterator[int]:
        yield amount

    tools: dict[str, Any] = {"pay": pay, "later": later, "stream": stream}
    for name, wrapped in _guard().wrap(tools).items():
        tool = tools[name]
        assert not hasattr(wrapped, "__wrapped__")
        assert tool not in [*vars(wrapped).values(), inspect.unwrap(wrapped)]
        assert inspect.signature(wrapped) == inspect.signature(tool)
        assert (wrapped.__name__, wrapped.__doc__) == (tool.__name__, tool.__doc__)
        assert wrapped.__annotations__["amount"] is int
    assert inspect.iscoroutinefunction(_guard().wrap(tools)["later"])
    assert inspect.isgeneratorfunction(_guard().wrap(tools)["stream"])
