"""Plain functions behind a gate: how arguments, results and failures are translated."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib import import_module
from typing import Any

import pytest
from declared import declared

from bylaw import UsageError
from bylaw.enforcement.decision import ConstraintViolationError
from bylaw.enforcement.guard import Guard
from bylaw.plain import as_json
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call
from bylaw.values import problem


def _guard(rule: str, severity: str = "SOFT_BLOCK", **options: Any) -> Guard:
    constraint = {"name": "rule", "rule": rule, "severity": severity}
    return Guard(Procedure.from_dict({"bylaw": 1, "constraints": [constraint]}), **options)


def pay(amount: int, to: str = "shop", *notes: str, **more: Any) -> str:
    """Pays."""
    return f"{amount} to {to}"


@pytest.mark.parametrize(
    ("values", "named", "rule"),
    [
        ((5,), {}, "call(pay, amount = 5)"),
        ((), {"amount": 5}, "call(pay, amount = 5)"),
        ((5, "bank"), {}, 'call(pay, amount = 5, to = "bank")'),
        ((5, "bank", "a", "b"), {}, 'pay & args.notes = ["a", "b"]'),
        ((5,), {"when": "now"}, 'call(pay, when = "now")'),
    ],
)
def test_rules_see_arguments_by_name(
    values: tuple[Any, ...], named: dict[str, Any], rule: str
) -> None:
    tools = _guard(f"G({rule})").wrap({"pay": pay})
    tools["pay"](*values, **named)
    refusing = _guard(f"G(!({rule}))").wrap({"pay": pay})
    with pytest.raises(ConstraintViolationError, match="Not executed"):
        refusing["pay"](*values, **named)


def test_rules_see_defaults() -> None:
    refusing = 'G !call(pay, to = "shop")'
    with pytest.raises(ConstraintViolationError):
        _guard(refusing).wrap({"pay": pay})["pay"](5)
    (result,) = _guard(refusing).run_turn({"pay": pay}, [Call("pay", {"amount": 5})])
    assert result["violation_type"] == "block"


def test_a_call_that_python_would_not_make_is_not_proposed() -> None:
    guard = _guard("G !pay")
    with pytest.raises(TypeError):
        guard.wrap({"pay": pay})["pay"]()
    assert guard.turn == 0


def test_a_wrapped_tool_looks_like_the_tool() -> None:
    async def later() -> None:
        """Later."""

    tools = _guard("G !other").wrap({"pay": pay, "later": later})
    assert tools["pay"].__name__ == "pay"
    assert inspect.signature(tools["pay"]) == inspect.signature(pay)
    assert inspect.iscoroutinefunction(tools["later"])


def test_results_that_are_not_json_reach_the_caller_unchanged_and_rules_as_text() -> None:
    guard = _guard('G(pay -> last(today).result = "2026-01-02")')
    tools = guard.wrap({"today": lambda: date(2026, 1, 2), "pay": pay})
    assert tools["today"]() == date(2026, 1, 2)
    tools["pay"](5)


def test_a_failure_is_recorded_and_raised() -> None:
    def fetch() -> None:
        raise FileNotFoundError("gone")

    guard = _guard("G(pay -> last(call(fetch, failed)).error ~ /^FileNotFoundError: gone$/)")
    tools = guard.wrap({"fetch": fetch, "pay": pay})
    with pytest.raises(FileNotFoundError, match="gone"):
        tools["fetch"]()
    tools["pay"](5)


def test_an_awaitable_result_is_recorded_once_awaited() -> None:
    async def fetch(name: str) -> str:
        await asyncio.sleep(0)
        return f"the {name}"

    guard = _guard('G(pay -> last(fetch).result = "the file")')
    tools = guard.wrap({"fetch": functools.partial(fetch, "file"), "pay": pay})

    async def run() -> None:
        await tools["fetch"]()
        tools["pay"](5)

    asyncio.run(run())


# ── one call of a wrapped tool at a time ─────────────────────────────────────────────────────


def test_a_wrapped_tool_refuses_to_be_entered_by_another_task() -> None:
    async def fetch(number: int) -> int:
        await asyncio.sleep(0)
        return number

    async def run() -> list[Any]:
        tools = _guard("G !other").wrap({"fetch": fetch})
        first = await asyncio.gather(*map(tools["fetch"], range(3)), return_exceptions=True)
        return [*first, await tools["fetch"](3)]

    ran, *turned_away, later = asyncio.run(run())
    assert (ran, later) == (0, 3)
    for error in turned_away:
        assert isinstance(error, UsageError)
        assert "fetch is called while another call of a wrapped tool runs" in str(error)


def test_a_wrapped_tool_refuses_to_be_entered_by_another_thread() -> None:
    inside, leave = threading.Event(), threading.Event()

    def verify() -> str:
        inside.set()
        leave.wait(5)
        return "verified"

    paid: list[int] = []
    tools = _guard("G(pay -> earlier verify)").wrap({"verify": verify, "pay": paid.append})
    with ThreadPoolExecutor(1) as pool:
        verifying = pool.submit(tools["verify"])
        assert inside.wait(5)
        with pytest.raises(UsageError, match="Use `run_turn` for several at once"):
            tools["pay"](5)
        leave.set()
        assert verifying.result() == "verified"
    assert paid == []
    tools["pay"](5)
    assert paid == [5]


def test_two_wraps_of_a_guard_have_one_entrance() -> None:
    async def fetch() -> str:
        await asyncio.sleep(0)
        return "fetched"

    async def run() -> list[Any]:
        guard = _guard("G !other")
        calls = [guard.wrap({"fetch": fetch})["fetch"]() for _ in range(2)]
        return await asyncio.gather(*calls, return_exceptions=True)

    first, second = asyncio.run(run())
    assert first == "fetched"
    assert isinstance(second, UsageError)


def test_a_wrapped_tool_may_call_another_one_but_not_two_at_once() -> None:
    async def fetch(number: int) -> int:
        await asyncio.sleep(0)
        return number

    async def both() -> list[Any]:
        calls = [tools["fetch"](1), tools["fetch"](2)]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    async def in_a_thread() -> Any:
        return await asyncio.to_thread(tools["pay"], 5)

    every: dict[str, Any] = {"fetch": fetch, "both": both, "in_a_thread": in_a_thread, "pay": pay}
    tools = _guard("G !other").wrap(every)
    first, second = asyncio.run(tools["both"]())
    assert first == 1
    assert isinstance(second, UsageError)
    assert asyncio.run(tools["in_a_thread"]()) == "5 to shop"


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failed_call_leaves_the_entrance_free(failure: type[BaseException]) -> None:
    def fetch() -> None:
        raise failure

    tools = _guard("G !other").wrap({"fetch": fetch, "pay": pay})
    with pytest.raises(failure):
        tools["fetch"]()
    assert tools["pay"](5) == "5 to shop"


def test_asking_a_person_does_not_hold_up_other_tasks() -> None:
    async def fetch() -> str:
        return "fetched"

    async def run() -> str:
        loop = asyncio.get_running_loop()

        def ask(*_: Any) -> bool:  # a person who answers in the same loop
            return asyncio.run_coroutine_threadsafe(asyncio.sleep(0, True), loop).result(5)

        guard = _guard("G !fetch", "ASK", ask=ask)
        (result,) = await guard.run_turn_async({"fetch": fetch}, [Call("fetch")])
        return str(result)

    assert asyncio.run(run()) == "fetched"


def test_run_turn_returns_the_outcome_of_each_call() -> None:
    def fetch() -> None:
        raise FileNotFoundError("gone")

    calls = [Call("pay", {"amount": 5}), Call("pay", {"amount": 50}), Call("fetch"), Call("fly")]
    guard = _guard("G(pay -> args.amount < 10)")
    paid, refused, failed, unknown = guard.run_turn({"pay": pay, "fetch": fetch}, calls)
    assert paid == "5 to shop"
    assert refused["error"] == "ConstraintViolationError"
    assert refused["violation_type"] == "block"
    assert failed == {"error": "FileNotFoundError: gone"}
    assert unknown == {"error": "LookupError: there is no tool 'fly'"}


def test_an_unknown_tool_has_failed() -> None:
    guard = _guard("G(pay -> earlier call(fly, failed))")
    guard.run_turn({}, [Call("fly")])
    assert guard.run_turn({"pay": pay}, [Call("pay", {"amount": 5})]) == ["5 to shop"]


class _Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (None, None),
        ({"a": [1, 2.5, "x", True]}, {"a": [1, 2.5, "x", True]}),
        ((1, 2), [1, 2]),
        ({1, 2}, [1, 2]),
        ({1: "a"}, {"1": "a"}),
        ({"at": date(2026, 1, 2)}, {"at": "2026-01-02"}),
        ([b"x"], ["b'x'"]),
        (float("nan"), "nan"),
        (_Unprintable(), "<_Unprintable>"),
        ([_Unprintable()], ["<_Unprintable>"]),
    ],
)
def test_python_values_as_rules_see_them(value: Any, seen: Any) -> None:
    assert as_json(value) == seen
    assert problem(as_json(value)) is None


def test_values_without_end_have_one() -> None:
    inside: dict[Any, Any] = {}
    inside |= {1: inside, 2: [inside, inside]}
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    for value in (inside, deep, [deep, date.min]):
        assert problem(as_json(value)) is None


@pytest.mark.parametrize(
    ("adapter", "package", "extra"),
    [(each.module, each.package, each.extra) for each in declared() if each.package],
)
def test_a_missing_framework_names_the_command(
    adapter: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name == package or name.startswith(f"{package}."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, f"bylaw.adapters.{adapter}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'bylaw\[{extra}\]'"):
        import_module(f"bylaw.adapters.{adapter}")
