"""Random formulas about time, agents and usage, by a plain generator that is fast."""

from __future__ import annotations

from random import Random

from bylaw import parse
from bylaw.logic.formula import Formula

_BOUNDS = ("0 s", "0.1 s", "0.3 s", "1 s", "3 s", "5 s", "11 s", "1 h")
_FUNCTIONS = ("sum", "max", "min", "length", "unique")
_FIELDS = ("start", "end", "duration", "agent", "usage.tokens", "args.i", "result.i", "step")
_ZONES = ("UTC", "Europe/Berlin", "America/New_York")


class TimedFormulas:
    """Formulas on the events of `timed_traces`."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def formula(self, depth: int) -> Formula:
        """A formula of about this depth, with something about time in it."""
        choice = self._random.choice
        body, other = self._timed(depth), self._text(depth - 1)
        return parse(choice([f"G({other} -> {body})", f"G {body}", f"F {body}", body]))

    def _text(self, depth: int, variable: str = "") -> str:
        random, choice = self._random, self._random.choice
        if depth <= 0:
            return self._atom(variable)
        kind = random.randrange(10)
        if kind < 3:
            return self._timed(depth, variable)
        if kind < 5:
            operator = choice(["!", "O ", "F ", "H ", "G ", "Y ", "X ", "earlier "])
            return f"({operator}{self._text(depth - 1, variable)})"
        if kind < 8:
            symbol = choice(["&", "|", "->", "<->", "U", "S"])
            return f"({self._text(depth - 1, variable)} {symbol} {self._text(depth - 1, variable)})"
        if variable:
            return self._atom(variable)
        if kind == 8:
            return f"(let v = {choice(_FIELDS)}: {self._text(depth - 1, 'v')})"
        domain = f"{self._events(depth - 1)}.{choice(_FIELDS)}"
        return f"({choice(['forall', 'exists'])} v in {domain}: {self._text(depth - 1, 'v')})"

    def _timed(self, depth: int, variable: str = "") -> str:
        choice = self._random.choice
        if self._random.random() < 0.6:
            operator = choice(["O", "earlier", "F", "later"])
            return f"({operator} {self._text(depth - 1, variable)} within {choice(_BOUNDS)})"
        events = self._events(depth - 1, variable)
        bound = choice(["1", "3", "[0]", "start", "args.i"])
        return choice(
            [
                f"length({events}) <= {choice([0, 1, 2])}",
                f"{choice(_FUNCTIONS)}({events}.{choice(_FIELDS)}) {choice(['<=', '='])} {bound}",
                f"{events}[{choice([0, -1])}].{choice(_FIELDS)} = {choice(_FIELDS)}",
            ]
        )

    def _events(self, depth: int, variable: str = "") -> str:
        choice = self._random.choice
        condition = self._text(depth, variable) if self._random.random() < 0.4 else choice("abc")
        window = choice(["", *(f", {each}" for each in _BOUNDS)])
        return f"sofar({condition}{window})"

    def _atom(self, variable: str) -> str:
        choice = self._random.choice
        compared = f"{choice(_FIELDS)} {choice(['=', '<=', '>', '!='])} {choice(_FIELDS)}"
        atoms = ["a", "b", "call(a, ok)", "call(b, failed)", "call(a, i = 1)", "says(user)"]
        atoms += [compared, f"last({choice('ab')}).{choice(_FIELDS)} = {choice(_FIELDS)}"]
        atoms += [f"hour(start, {choice(_ZONES)!r}) = 1".replace("'", '"')]
        if variable:
            atoms += [f"call(a, i = {variable})", f"{choice(_FIELDS)} = {variable}"] * 3
        return choice(atoms)
