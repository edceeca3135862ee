"""An independent reading of formulas: ltlf2dfa translates them, MONA builds their automata.

What was found out about the two, and is relied on here:

- ltlf2dfa knows every connective and future operator of Bylaw except `W`; `a W b` is handed
  over as `(a U b) | G a`. Its `X` is the strong next, its `WX` the weak one, its `R` and its
  constants mean what they mean here. It groups `U` and `R` in its own way, so every operand
  stands in parentheses.
- MONA's automata first read one letter that carries no event (it is there for Boolean
  variables): the run of a word starts behind it, and the state reached there is the verdict
  on the empty word.
- ltlf2dfa writes its program into its own package folder, where two processes would meet. Here
  the program, which is still its own, goes through a temporary file.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bylaw.logic import formula as f
from bylaw.logic.operators import BY_NODE
from bylaw.logic.terms import ToolName

LTLF2DFA = "2.0.0"
_SECONDS = 60


def missing() -> str | None:
    """The package that is missing for the comparison, or None if all are there."""
    wanted = []
    try:
        found = importlib.metadata.version("ltlf2dfa")
    except importlib.metadata.PackageNotFoundError:
        found = "none"
    if found != LTLF2DFA:
        wanted.append(f"pip install ltlf2dfa=={LTLF2DFA} (found: {found})")
    if shutil.which("mona") is None:
        wanted.append("the program 'mona' on the PATH (Debian, Ubuntu: apt install mona)")
    return " and ".join(wanted) or None


# ── translation ───────────────────────────────────────────────────────────────────────────


def translated(formula: f.Formula) -> str:
    """The formula in ltlf2dfa's syntax, every operand in parentheses."""
    match formula:
        case f.Truth(truth):
            return "true" if truth else "false"
        case f.EventAtom(ToolName(name), ()):
            return name
        case f.And(operands) | f.Or(operands):
            return f" {_symbol(formula)} ".join(f"({translated(part)})" for part in operands)
        case f.WeakUntil(left, right):
            a, b = translated(left), translated(right)
            return f"(({a}) U ({b})) | (G({a}))"
        case f.Implies(a, b) | f.Iff(a, b) | f.Until(a, b) | f.Release(a, b):
            return f"({translated(a)}) {_symbol(formula)} ({translated(b)})"
        case f.Not(a) | f.Next(a) | f.WeakNext(a) | f.Eventually(a) | f.Always(a):
            return f"{_symbol(formula)}({translated(a)})"
        case _:
            raise ValueError(f"ltlf2dfa has nothing for {formula!r}")


def _symbol(formula: f.Formula) -> str:
    return BY_NODE[type(formula)].symbol


@cache
def _parser() -> Any:
    from ltlf2dfa.parser.ltlf import LTLfParser

    return LTLfParser()


def mona_program(formula: f.Formula) -> str:
    """ltlf2dfa's translation into MONA's language."""
    from ltlf2dfa.base import MonaProgram

    return str(MonaProgram(_parser()(translated(formula))).mona_program())


# ── automata ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Automaton:
    """A deterministic automaton over letters in which at most one variable is true."""

    variables: tuple[str, ...]
    accepting: frozenset[int]
    moves: Mapping[int, Sequence[tuple[str, int]]]
    """For each state the guards, one of `0`, `1` and `X` per variable, and where they lead."""

    def accepts(self, word: Sequence[str]) -> bool:
        """Does it accept the events with these names? Names it does not know are no variable."""
        state = self._moved(0, "")
        for name in word:
            state = self._moved(state, name)
        return state in self.accepting

    def _moved(self, state: int, name: str) -> int:
        letter = ["1" if variable == name else "0" for variable in self.variables]
        (target,) = {
            target
            for guard, target in self.moves[state]
            if all(bit in ("X", value) for bit, value in zip(guard, letter, strict=True))
        }
        return target


def automaton(formula: f.Formula) -> Automaton:
    """MONA's automaton for ltlf2dfa's translation of the formula."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "formula.mona")
        program.write_text(mona_program(formula), encoding="utf-8")
        done = subprocess.run(
            ["mona", "-q", "-u", "-w", str(program)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    return read_automaton(done.stdout)


_TRANSITION = re.compile(r"State (\d+): ([01X]*) *-> state (\d+)")


def read_automaton(output: str) -> Automaton:
    """The automaton that MONA prints."""
    moves: dict[int, list[tuple[str, int]]] = {}
    for source, guard, target in _TRANSITION.findall(output):
        moves.setdefault(int(source), []).append((guard, int(target)))
    return Automaton(
        tuple(_line(output, "DFA for formula with free variables:").lower().split()),
        frozenset(map(int, _line(output, "Accepting states:").split())),
        moves,
    )


def _line(output: str, start: str) -> str:
    """The rest of the one line that starts so."""
    (rest,) = (line[len(start) :] for line in output.splitlines() if line.startswith(start))
    return rest
