"""Means to measure the cost of an adapter: a run of calls, and clocks. See `adapters.py`."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from itertools import islice
from time import thread_time
from typing import Any, Final, TypeAlias

import gate_runs

from bylaw import Procedure

TURNS: Final = 50
PROCEDURE: Final = Procedure.from_dict(gate_runs.procedure(10).to_dict() | {"finish": "free"})


def _clock() -> float:
    """The time that it takes to ask for the time, which some machines are slow to tell."""
    begun = thread_time()
    for _ in range(10_000):
        thread_time()
    return (thread_time() - begun) / 10_000


CLOCK: Final = _clock()


class Costs:
    """The seconds that an adapter has taken, in one run."""

    def __init__(self) -> None:
        self.per_turn = 0.0
        self.per_run = 0.0
        self.without = 0.0
        """The seconds of the same run without a gate, if that is how they are compared."""

    def timed(self, function: Callable[..., Any], *, per_run: bool = False) -> Callable[..., Any]:
        """The function, with its time added here. Functions given to it last are not its own."""

        @functools.wraps(function)  # frameworks look at the parameters
        def run(*values: Any, **named: Any) -> Any:
            outside = 0.0
            given = list(values)
            if values and callable(values[-1]):

                @functools.wraps(values[-1])
                def handler(*inner: Any) -> Any:
                    nonlocal outside
                    begun = thread_time()
                    try:
                        return values[-1](*inner)
                    finally:
                        outside += thread_time() - begun + CLOCK

                given[-1] = handler
            begun = thread_time()
            try:
                return function(*given, **named)
            finally:
                taken = thread_time() - begun - outside - CLOCK
                if per_run:
                    self.per_run += taken
                else:
                    self.per_turn += taken

        return run

    def timed_async(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """As `timed`, for a coroutine function that no other work interrupts."""

        @functools.wraps(function)
        async def run(*values: Any, **named: Any) -> Any:
            begun = thread_time()
            try:
                return await function(*values, **named)
            finally:
                self.per_turn += thread_time() - begun - CLOCK

        return run


Run: TypeAlias = Callable[[Costs], None]
"""One run of TURNS turns."""


CALLS: Final = list(islice(gate_runs.session(1), TURNS))
"""The calls of a run, one a turn: they keep to the rules."""


def read_0(id: int, size: int) -> str:
    """Reads an item."""
    return "done"


def write_0(id: int, size: int) -> str:
    """Writes an item."""
    return "done"


def close_0(id: int, size: int) -> str:
    """Closes an item."""
    return "done"


TOOLS: Final = {each.__name__: each for each in (read_0, write_0, close_0)}


def coroutine(function: Callable[..., str]) -> Callable[..., Any]:
    """A tool that needs no thread: its time would count for neither."""

    @functools.wraps(function)
    async def run(id: int, size: int) -> str:
        return function(id, size)

    return run


def compared(plain: Callable[[], Any], gated: Callable[[], Any]) -> Run:
    """A run whose cost is the difference that the gate makes.

    It includes making the guard, and the work of the framework to call the hooks.
    """

    def taken(make: Callable[[], Any]) -> float:
        async def run() -> float:
            working = make()
            begun = thread_time()
            await working
            return thread_time() - begun

        return asyncio.run(run())

    def run(costs: Costs) -> None:
        costs.without = taken(plain)
        costs.per_turn += taken(gated)

    return run
