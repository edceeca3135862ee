"""The reference semantics and an independent implementation agree on random formulas.

`BYLAW_ORACLE_FORMULAS` says on how many.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from oracle_formulas import SYMBOLS, atom, formulas, parts, size, symbols, trace, words
from oracle_harness import Automaton, automaton, missing

from bylaw.logic import formula as f
from bylaw.logic.formula import Formula
from bylaw.semantics.evaluation import holds
from bylaw.syntax.printer import to_text
from bylaw.trace.trace import Trace

COUNT = int(os.environ.get("BYLAW_ORACLE_FORMULAS", "150"))
SEED = 20250711
WORDS_BEYOND_TWO_EVENTS = 20

Meaning = Callable[[Formula, Trace], bool]
Word = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    formula: Formula
    word: Word
    ours: bool
    theirs: bool

    def __str__(self) -> str:
        events = " ".join(self.word) or "(no events)"
        return (
            f"{to_text(self.formula)}\n  on the trace: {events}\n"
            f"  Bylaw says {self.ours}, ltlf2dfa with MONA says {self.theirs}"
        )


@dataclass(frozen=True, slots=True)
class Case:
    """A formula, its automaton, and the words to compare them on."""

    formula: Formula
    automaton: Automaton
    words: Sequence[Word]

    def disagreements(self, meaning: Meaning) -> list[Disagreement]:
        found = []
        for word in self.words:
            ours, theirs = meaning(self.formula, trace(word)), self.automaton.accepts(word)
            if ours is not theirs:
                found.append(Disagreement(self.formula, word, ours, theirs))
        return found

    @property
    def is_contingent(self) -> bool:
        """Does the verdict depend on the events?"""
        return len({self.automaton.accepts(word) for word in self.words if word}) == 2


@pytest.fixture(scope="module")
def oracle() -> None:
    if what := missing():
        pytest.skip(f"NOT COMPARED WITH AN INDEPENDENT IMPLEMENTATION: it needs {what}")


@pytest.fixture(scope="module")
def cases(oracle: None) -> list[Case]:
    return [
        Case(formula, automaton(formula), words(WORDS_BEYOND_TWO_EVENTS, SEED + number))
        for number, formula in enumerate(formulas(COUNT, SEED))
    ]


@pytest.mark.oracle
def test_the_two_agree(cases: list[Case], capsys: pytest.CaptureFixture[str]) -> None:
    """On every formula and every trace, the empty one included."""
    found = [wrong for case in cases for wrong in case.disagreements(holds)]
    uses = Counter(symbol for case in cases for symbol in symbols(case.formula))
    with capsys.disabled():
        print(
            f"\noracle: {len(cases)} formulas, {sum(len(case.words) for case in cases)} traces, "
            f"{len(found)} disagreements; {sum(case.is_contingent for case in cases)} formulas "
            f"depend on the trace; uses: {', '.join(f'{s} {uses[s]}' for s in SYMBOLS)}"
        )
    assert not found, f"{len(found)} disagreements, the first:\n\n" + "\n\n".join(
        map(str, found[:5])
    )


@pytest.mark.oracle
def test_enough_is_compared(cases: list[Case]) -> None:
    """Distinct formulas of the promised sizes, every operator in a tenth of them, traces of
    length 0, 1, 2 and beyond for each; and most verdicts depend on the trace.
    """
    assert len({case.formula for case in cases}) == COUNT
    assert all(3 <= size(case.formula) <= 15 for case in cases)
    for symbol in SYMBOLS:
        assert sum(symbol in symbols(case.formula) for case in cases) >= COUNT // 10, symbol
    for case in cases:
        assert len(set(case.words)) >= 20
        assert {0, 1, 2} < {len(word) for word in case.words}
    assert sum(case.is_contingent for case in cases) >= 0.7 * COUNT


# ── the comparison can fail ───────────────────────────────────────────────────────────────

Rewriting = Callable[[Formula], Formula]


def _rewritten(formula: Formula, rewrite: Rewriting) -> Formula:
    """The formula with `rewrite` applied to each part, innermost first."""
    match formula:
        case f.And(operands) | f.Or(operands):
            inner: Formula = type(formula)(tuple(_rewritten(part, rewrite) for part in operands))
        case f.Implies(a, b) | f.Iff(a, b) | f.Until(a, b) | f.WeakUntil(a, b) | f.Release(a, b):
            inner = type(formula)(_rewritten(a, rewrite), _rewritten(b, rewrite))
        case f.Not(a) | f.Next(a) | f.WeakNext(a) | f.Eventually(a) | f.Always(a):
            inner = type(formula)(_rewritten(a, rewrite))
        case _:
            inner = formula
    return rewrite(inner)


MISREADINGS: dict[str, Rewriting] = {
    "X as WX": lambda g: f.WeakNext(g.operand) if isinstance(g, f.Next) else g,
    "WX as X": lambda g: f.Next(g.operand) if isinstance(g, f.WeakNext) else g,
    "F without now": lambda g: f.Next(g) if isinstance(g, f.Eventually) else g,
    "G without now": lambda g: f.WeakNext(g) if isinstance(g, f.Always) else g,
    "U as W": lambda g: f.WeakUntil(g.left, g.right) if isinstance(g, f.Until) else g,
    "W as U": lambda g: f.Until(g.left, g.right) if isinstance(g, f.WeakUntil) else g,
    "R with its operands swapped": lambda g: (
        f.Release(g.right, g.left) if isinstance(g, f.Release) else g
    ),
    "R that need not hold at its release": lambda g: (
        f.WeakUntil(g.right, g.left) if isinstance(g, f.Release) else g
    ),
    "-> as <->": lambda g: f.Iff(g.left, g.right) if isinstance(g, f.Implies) else g,
    "<-> as ->": lambda g: f.Implies(g.left, g.right) if isinstance(g, f.Iff) else g,
    "& as |": lambda g: f.Or(g.operands) if isinstance(g, f.And) else g,
    "| as &": lambda g: f.And(g.operands) if isinstance(g, f.Or) else g,
    "! ignored": lambda g: g.operand if isinstance(g, f.Not) else g,
}


@pytest.mark.oracle
@pytest.mark.parametrize("misreading", MISREADINGS)
def test_a_misreading_is_found(cases: list[Case], misreading: str) -> None:
    """Each operator, read slightly wrongly, disagrees with the independent implementation."""

    def wrong(formula: Formula, trace: Trace) -> bool:
        return holds(_rewritten(formula, MISREADINGS[misreading]), trace)

    assert any(case.disagreements(wrong) for case in cases)


# ── the empty trace ───────────────────────────────────────────────────────────────────────


def on_nothing(formula: Formula) -> bool:
    """The value on the empty trace, as the language defines it."""
    match formula:
        case f.Always() | f.WeakUntil() | f.Release() | f.WeakNext():
            return True
        case f.Eventually() | f.Until() | f.Next() | f.EventAtom():
            return False
        case f.Truth(truth):
            return truth
        case f.Not(a):
            return not on_nothing(a)
        case f.And(operands):
            return all(map(on_nothing, operands))
        case f.Or(operands):
            return any(map(on_nothing, operands))
        case f.Implies(a, b):
            return not on_nothing(a) or on_nothing(b)
        case f.Iff(a, b):
            return on_nothing(a) is on_nothing(b)
        case _:
            raise ValueError(f"no value is defined here for {formula!r}")


A, B = atom("a"), atom("b")
EMPTY_TRACE: dict[Formula, bool] = {
    A: False,
    f.Truth(True): True,
    f.Truth(False): False,
    f.Next(f.Truth(True)): False,
    f.WeakNext(f.Truth(False)): True,
    f.Eventually(f.Truth(True)): False,
    f.Always(f.Truth(False)): True,
    f.Until(A, f.Truth(True)): False,
    f.WeakUntil(f.Truth(False), f.Truth(False)): True,
    f.Release(f.Truth(False), f.Truth(False)): True,
    f.Not(A): True,
    f.And((f.Not(A), f.Not(B))): True,
    f.And((A, f.Not(B))): False,
    f.Or((A, f.Not(B))): True,
    f.Or((A, B)): False,
    f.Implies(A, B): True,
    f.Implies(f.Not(A), B): False,
    f.Iff(A, B): True,
    f.Iff(A, f.Not(B)): False,
}


@pytest.mark.parametrize("formula", EMPTY_TRACE, ids=to_text)
def test_empty_trace(formula: Formula) -> None:
    """A table of the facts, row by row."""
    assert holds(formula, trace(())) is EMPTY_TRACE[formula] is on_nothing(formula)


def test_the_table_of_the_empty_trace_is_complete() -> None:
    rows = {type(part) for formula in EMPTY_TRACE for part in parts(formula)}
    assert rows == {type(part) for formula in formulas(200, SEED) for part in parts(formula)}


def test_random_formulas_on_the_empty_trace() -> None:
    for formula in formulas(max(COUNT, 1000), SEED):
        assert holds(formula, trace(())) is on_nothing(formula), to_text(formula)


@pytest.mark.oracle
@pytest.mark.parametrize("formula", EMPTY_TRACE, ids=to_text)
def test_the_automaton_agrees_on_the_empty_trace(oracle: None, formula: Formula) -> None:
    """The state behind MONA's first letter is the verdict on the empty trace."""
    assert automaton(formula).accepts(()) is EMPTY_TRACE[formula]
