"""Random procedures whose rules have many forms, and an exact search for a common continuation.

The search follows each rule by its own machine through events that are written out here, so it
shares nothing with the gate's joint test but the machines. It is exact because the events
distinguish everything that the rules do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from random import Random

from bylaw import Call
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.machine.machine import Machine, Move
from bylaw.trace.event import MISSING
from bylaw.vocabulary.view import Order

States = tuple[int, ...]
MAX_STATES = 50_000

FORMS = (
    "Called({a})",
    "CalledN({a}, {op} {n})",
    "CalledWith({a}, x = {x})",
    "InstanceBefore({a}, {i}, {b}, {j})",
    "BranchCalled({a}, {b})",
    "InOrder({a}, {b}, {c})",
    "WithinSteps({a}, {b}, {n})",
    "AllBefore([{a}, {b}], {c})",
    "CalledN({{{a}, {b}}}, <= {n})",
    'CalledN({{like("*")}}, <= 3)',
    'CalledN({{{a}, like("o*")}}, <= {n})',
    "G({a} -> F {b})",
    "G({a} -> X {b})",
    "G({a} -> WX {b})",
    "G({a} -> X X {b})",
    "G({a} -> X !{b})",
    "G({a} -> !X call)",
    "G(call -> F {a})",
    "G({a} -> O {b})",
    "G({a} -> (!{b} U {c}))",
    "G({a} -> G !{b})",
    "G({a} & Y {b} -> X {c})",
    "!{a} W {b}",
    "!{a} U {b}",
    "F {a}",
    "F({a} & X {b})",
    "(F {a}) -> (F {b})",
    "{a} | {b}",
    "G({a} -> F call({b}, x = {x}))",
    "G({a} -> args.x < {x})",
    "G({a} -> args.x >= {x})",
    "G(args.x = {x} -> F {b})",
    "G(args.x < {x})",
    "F({a} & args.x > {x})",
    "G({a} -> F final_answer)",
    "G(final_answer -> O {a})",
    "!final_answer W {a}",
    "F(final_answer & O {a})",
)


def random_rules(random: Random, tools: str, forms: Sequence[str] = FORMS) -> list[str]:
    """Two to five rules about these tools."""

    def rule() -> str:
        a, b, c = (random.choice(tools) for _ in range(3))
        n, x = random.randint(0, 2), random.randint(0, 2)
        i, j = random.randint(0, 1), random.randint(0, 1)
        op = random.choice(["=", "<=", ">=", "!="])
        return random.choice(forms).format(a=a, b=b, c=c, n=n, x=x, i=i, j=j, op=op)

    return [rule() for _ in range(random.randint(2, 5))]


OUTCOME_FORMS = (
    "G(call({a}, ok) -> F {b})",
    "G(call({a}, failed) -> G !{b})",
    "G(call({a}, failed) -> X {b})",
    "G({a} -> O call({b}, ok))",
    "G({a} -> !O call({b}, failed))",
    "!{a} W call({b}, ok)",
    "F call({a}, ok)",
    "G({a} -> F {b})",
    "G({a} -> X {b})",
    "!{a} W {b}",
    "CalledN({a}, <= 1)",
    "CalledN({a}, >= 2)",
    "InOrder({a}, {b}, {c})",
)
"""Forms of rules that depend on the outcomes of calls, and others."""


def outcomes(tools: str) -> list[Call]:
    """Calls that succeeded, calls that failed, and calls without a result."""
    names = (*tools, "other")
    return [
        Call(name, result=result, error=error)
        for name in names
        for result, error in (("done", None), (MISSING, "failed"), (MISSING, None))
    ]


def events(tools: str) -> list[Call]:
    """Calls that distinguish everything that the rules do; `other` is a tool that they do not name.

    The last one is the answer.
    """
    values = (None, -1, 0, 1, 2, 3, "text")
    found = [
        Call(tool, {} if x is None else {"x": x})
        for tool in (*tools, "other", "zzz")
        for x in values
    ]
    return [*found, Call(FINAL_ANSWER, {"answer": "done"})]


class ExactProduct:
    """The rules of a procedure, each with its machine, and their states after some calls."""

    def __init__(self, machines: Sequence[Machine], order: Order, tools: str) -> None:
        self.machines = machines
        self.states: States = tuple(machine.start for machine in self.machines)
        by_step = order == "step"
        self._moves: dict[tuple[Move, ...], tuple[Call, bool]] = {}
        for call in (*events(tools), *outcomes(tools)):
            final = call.tool == FINAL_ANSWER
            for new_step in (True, False) if by_step and not final else (True,):
                moves = tuple((m.alphabet.letter(call), new_step, final) for m in self.machines)
                self._moves.setdefault(moves, (call, new_step))

    def after(self, call: Call, new_step: bool) -> States:
        """The states after one more call."""
        return tuple(
            machine.advance(state, (machine.alphabet.letter(call), new_step, False))
            for machine, state in zip(self.machines, self.states, strict=True)
        )

    def continuation(self, states: States) -> list[tuple[Call, bool]] | None:
        """A shortest common continuation once the step has ended; None if there is none.

        Raises MemoryError if there are too many states.
        """
        ended = zip(self.machines, states, strict=True)
        start = tuple(machine.end_step(state) for machine, state in ended)
        came_from: dict[States, tuple[States, tuple[Call, bool]] | None] = {start: None}
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            if self._accepted(here):
                return list(self._path(came_from, here))
            if len(came_from) > MAX_STATES:
                raise MemoryError
            for event, there in self._onward(here):
                if there not in came_from:
                    came_from[there] = here, event
                    waiting.append(there)
        return None

    def _accepted(self, states: States) -> bool:
        pairs = zip(self.machines, states, strict=True)
        return all(machine.accepts(state) for machine, state in pairs)

    def _onward(self, states: States) -> Iterator[tuple[tuple[Call, bool], States]]:
        pairs = list(zip(self.machines, states, strict=True))
        if any(machine.configurations[state].ended for machine, state in pairs):
            return
        for moves, event in self._moves.items():
            there = tuple(m.advance(s, move) for (m, s), move in zip(pairs, moves, strict=True))
            if event[0].tool != FINAL_ANSWER or self._accepted(there):
                yield event, there

    def _path(
        self, came_from: dict[States, tuple[States, tuple[Call, bool]] | None], states: States
    ) -> Iterator[tuple[Call, bool]]:
        link = came_from[states]
        if link is not None:
            yield from self._path(came_from, link[0])
            yield link[1]
