"""A tool that raises anything has failed; a stream is recorded at its end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from bylaw import Call, Guard, Procedure
from bylaw.enforcement.decision import ConstraintViolationError


class Loud(BaseException):
    """An exception that is no `Exception`."""


class Mute(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise ValueError


RAISED: list[BaseException] = [
    ValueError("no"),
    TimeoutError("slow"),
    asyncio.CancelledError(),
    KeyboardInterrupt(),
    SystemExit(1),
    GeneratorExit(),
    StopIteration("over"),
    StopAsyncIteration(),
    MemoryError(),
    RecursionError(),
    Loud(),
    Mute(),
]
PAID = "G(refund -> O call(pay, ok))"
FAILED = "G(refund -> O call(pay, failed))"


def _guard(rule: str) -> Guard:
    constraint = {"name": "rule", "rule": rule, "severity": "BLOCK_AND_WARN"}
    return Guard(Procedure.from_dict({"finish": "free", "constraints": [constraint]}))


def _outcome(guards: list[Guard]) -> str:
    """The outcome of the call of `pay`: one guard wants a success, and one a failure."""
    decided = [guard.propose([Call("refund")])[0] for guard in guards]
    early = "too early" in decided[0].message
    found = {(True, False): "ok", (False, True): "failed", (False, False): "unknown"}
    outcome = found[decided[0].allowed, decided[1].allowed]
    assert early is (outcome == "unknown")
    return outcome


def _guards() -> list[Guard]:
    return [_guard(PAID), _guard(FAILED)]


# ── exceptions ────────────────────────────────────────────────────────────────────────────


def _raising(error: BaseException) -> Callable[[], Any]:
    def pay() -> None:
        raise error

    return pay


def _raising_later(error: BaseException) -> Callable[[], Any]:
    async def pay() -> None:
        await asyncio.sleep(0)
        raise error

    return pay


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_a_tool_that_raises_has_failed(error: BaseException) -> None:
    guards = _guards()
    for guard in guards:
        with pytest.raises(type(error)):
            guard.wrap({"pay": _raising(error)})["pay"]()
        assert guard.awaiting == []
    assert _outcome(guards) == "failed"


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_a_turn_that_is_broken_off_has_no_open_calls(error: BaseException) -> None:
    guards = _guards()
    for guard in guards:
        tools = {"pay": _raising(error), "other": lambda: "done"}
        calls = [Call("other"), Call("pay"), Call("other")]
        if isinstance(error, Exception):
            assert type(error).__name__ in guard.run_turn(tools, calls)[1]["error"]
        else:
            with pytest.raises(type(error)):
                guard.run_turn(tools, calls)
        assert guard.awaiting == []
    assert _outcome(guards) == "failed"


def _driven(coroutine: Any) -> None:
    """Runs a coroutine without a loop, which would handle some exceptions itself."""
    while True:
        coroutine.send(None)


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_a_coroutine_that_raises_has_failed(error: BaseException) -> None:
    if isinstance(error, (StopIteration, StopAsyncIteration)):
        pytest.skip("Python turns it into a RuntimeError")
    guards = _guards()
    for guard in guards:
        pay = guard.wrap({"pay": _raising_later(error)})["pay"]()
        with pytest.raises(type(error)):
            _driven(pay)
        assert guard.awaiting == []
    assert _outcome(guards) == "failed"


async def _hang() -> None:
    await asyncio.sleep(60)


def test_a_call_that_is_cancelled_or_too_slow_has_failed() -> None:
    guards = _guards()

    async def run(guard: Guard) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(guard.wrap({"pay": _hang})["pay"](), 0.01)

    for guard in guards:
        asyncio.run(run(guard))
    assert _outcome(guards) == "failed"


@pytest.mark.parametrize("at_once", [True, False])
def test_a_turn_that_is_cancelled_has_no_open_calls(at_once: bool) -> None:
    guards = _guards()

    async def run(guard: Guard) -> None:
        calls = [Call("pay"), Call("other"), Call("pay")]
        turn = guard.run_turn_async({"pay": _hang, "other": lambda: "done"}, calls)
        task = asyncio.create_task(turn)
        for _ in range(1 if at_once else 5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for guard in guards:
        asyncio.run(run(guard))
        assert guard.awaiting == []
    assert _outcome(guards) == "failed"


def test_a_tool_that_cancels_itself_does_not_cancel_its_siblings() -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    async def slow() -> str:
        await asyncio.sleep(0.01)
        return "done"

    guard = _guard(PAID)
    calls = [Call("pay"), Call("slow")]
    failed, done = asyncio.run(guard.run_turn_async({"pay": cancelled, "slow": slow}, calls))
    assert (failed, done) == ({"error": "CancelledError"}, "done")


def test_a_call_that_was_given_up_has_failed_whatever_comes_later() -> None:
    guards = _guards()
    for guard in guards:

        def pay(guard: Guard = guard) -> str:
            (decision,) = guard.awaiting
            guard.abandon(decision)  # elsewhere, somebody lost patience
            return "paid after all"

        pay.__defaults__ = (guard,)
        assert guard.wrap({"pay": lambda: pay()})["pay"]() == "paid after all"
    assert _outcome(guards) == "failed"


class Unprintable:
    def __str__(self) -> str:
        raise Loud


def test_a_result_that_breaks_off_its_own_conversion_has_failed() -> None:
    guards = _guards()
    for guard in guards:
        with pytest.raises(Loud):
            guard.wrap({"pay": Unprintable})["pay"]()
    assert _outcome(guards) == "failed"


def test_what_the_tool_does_to_its_result_later_is_not_seen() -> None:
    orders = [{"paid": 20}]
    guard = _guard('G(refund -> last(pay).result = [{"paid": 20}])')
    tools = guard.wrap({"pay": lambda: orders, "refund": lambda: "done"})
    result = tools["pay"]()
    assert result is orders
    orders[0]["paid"] = 1000
    orders.clear()
    assert tools["refund"]() == "done"


# ── streams ───────────────────────────────────────────────────────────────────────────────


def _yielding(error: BaseException | None = None) -> Callable[[], Iterator[Any]]:
    def pay() -> Iterator[Any]:
        yield 1
        yield {2}
        if error is not None:
            raise error

    return pay


def _yielding_later(error: BaseException | None = None) -> Callable[[], AsyncIterator[Any]]:
    async def pay() -> AsyncIterator[Any]:
        yield 1
        await asyncio.sleep(0)
        yield {2}
        if error is not None:
            raise error

    return pay


def _exhausted(stream: Any) -> None:
    assert list(stream) == [1, {2}]


def _closed(stream: Any) -> None:
    assert next(stream) == 1
    stream.close()


def _dropped(stream: Any) -> None:
    next(stream)
    del stream
    gc.collect(1)  # the stream is young


def _failing(stream: Any) -> None:
    with pytest.raises(ValueError, match="late"):
        list(stream)


def _thrown(stream: Any) -> None:
    next(stream)
    with pytest.raises(KeyError):
        stream.throw(KeyError("from outside"))


STREAMS: dict[str, tuple[BaseException | None, Callable[[Any], None], str]] = {
    "exhausted": (None, _exhausted, "ok"),
    "failing late": (ValueError("late"), _failing, "failed"),
    "thrown into": (None, _thrown, "failed"),
    "closed early": (None, _closed, "unknown"),
    "dropped": (None, _dropped, "unknown"),
}


def _wrapped(guard: Guard, tool: Callable[[], Any]) -> Any:
    return guard.wrap({"pay": tool})["pay"]()


def _returned(guard: Guard, tool: Callable[[], Any]) -> Any:
    return guard.wrap({"pay": lambda: tool()})["pay"]()


def _of_a_turn(guard: Guard, tool: Callable[[], Any]) -> Any:
    (result,) = guard.run_turn({"pay": tool}, [Call("pay")])
    return result


@pytest.mark.parametrize("start", [_wrapped, _returned, _of_a_turn])
@pytest.mark.parametrize("case", STREAMS)
def test_a_generator(case: str, start: Callable[..., Any]) -> None:
    error, use, outcome = STREAMS[case]
    guards = _guards()
    for guard in guards:
        use(start(guard, _yielding(error)))
    assert _outcome(guards) == outcome


def test_a_generator_is_decided_when_it_is_wanted() -> None:
    guard = _guard("G !pay")
    stream = _wrapped(guard, _yielding())
    assert guard.turn == 0
    with pytest.raises(ConstraintViolationError):
        next(stream)


def test_the_result_of_a_generator_is_what_it_yielded() -> None:
    guard = _guard("G(refund -> last(pay).result = [1, [2]])")
    _exhausted(_wrapped(guard, _yielding()))
    assert guard.propose([Call("refund")])[0].allowed


def test_a_generator_is_spoken_to_as_before() -> None:
    def pay() -> Any:
        got = [(yield "first")]
        try:
            got.append((yield "second"))
        except KeyError as error:
            got.append(error.args[0])
        return got

    stream = _wrapped(_guard(PAID), pay)
    assert next(stream) == "first"
    assert stream.send("a") == "second"
    with pytest.raises(StopIteration) as end:
        stream.throw(KeyError("b"))
    assert end.value.value == ["a", "b"]


ASYNC_STREAMS = {
    "exhausted": (None, "all", "ok"),
    "failing late": (ValueError("late"), "all", "failed"),
    "cancelled": (None, "cancel", "failed"),
    "closed early": (None, "close", "unknown"),
}


@pytest.mark.parametrize("start", [_wrapped, _returned])
@pytest.mark.parametrize("case", ASYNC_STREAMS)
def test_an_asynchronous_generator(case: str, start: Callable[..., Any]) -> None:
    error, use, outcome = ASYNC_STREAMS[case]
    guards = _guards()

    async def run(guard: Guard) -> None:
        stream = start(guard, _yielding_later(error))
        assert await anext(stream) == 1
        if use == "close":
            await stream.aclose()
        elif use == "cancel":
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        elif error is None:
            assert [item async for item in stream] == [{2}]
        else:
            with pytest.raises(ValueError, match="late"):
                [item async for item in stream]

    for guard in guards:
        asyncio.run(run(guard))
    assert _outcome(guards) == outcome
