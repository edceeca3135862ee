"""A procedure on many traces: in columns where that can be done, else trace by trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.batch.chunks import Chunk
from bylaw.batch.scores import CODES, SATISFIED, VACUOUS, VIOLATED
from bylaw.columnar.evaluation import Evaluation
from bylaw.columnar.row import Row
from bylaw.columnar.subject import Subject
from bylaw.columnar.support import alone_because, settled
from bylaw.logic.formula import FromMetrics
from bylaw.logic.walk import everything, sees_answer
from bylaw.procedure.constraint import Constraint
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import Views, evaluation_of
from bylaw.trace.trace import Events, Trace


@dataclass(frozen=True)
class Rule:
    """A constraint, and how it is judged."""

    constraint: Constraint
    events: Events
    answer: bool
    """Does it see the final answer as an event?"""
    alone: str | None
    """Why traces have to be judged one by one, if they have to."""

    @classmethod
    def of(cls, constraint: Constraint, procedure: Procedure) -> Rule:
        """How a constraint of a procedure is judged."""
        formula = constraint.formula
        return cls(
            constraint,
            procedure.events_of(constraint),
            sees_answer(formula),
            alone_because(formula, procedure.vocabulary),
        )

    @cached_property
    def same_when_empty(self) -> bool:
        """Do all traces without events come out alike?"""
        parts = everything(self.constraint.formula)
        return self.alone is None and not any(isinstance(part, FromMetrics) for part in parts)


class Judging:
    """Judges chunks by one procedure."""

    def __init__(self, procedure: Procedure) -> None:
        self.procedure: Final = procedure
        self.rules: Final = tuple(Rule.of(each, procedure) for each in procedure.constraints)
        self._when_empty: dict[str, int] = {}

    def outcomes(self, chunk: Chunk) -> tuple[NDArray[np.int8], Counter[str]]:
        """The outcome of each trace and constraint, as a code; and how many were judged alone."""
        found = np.empty((len(chunk), len(self.rules)), dtype=np.int8)
        alone: Counter[str] = Counter()
        asked = _Asked(self.procedure, chunk)
        for column, rule in enumerate(self.rules):
            over, there = asked.evaluation(rule.events, rule.answer)
            open_ = np.ones(len(chunk), dtype=np.bool_)
            if len(there) and rule.alone is None:
                found[there, column] = _codes(over.start(rule.constraint.formula))
                open_[there] = False
            elif len(there) and (idle := settled(rule.constraint.formula, over)) is not None:
                found[there[idle], column] = VACUOUS
                open_[there[idle]] = False
            if rule.alone is None:
                found[open_, column] = [
                    self._empty(asked, rule, number) for number in np.flatnonzero(open_).tolist()
                ]
            else:
                numbers = np.flatnonzero(open_).tolist()
                found[numbers, column] = [asked.alone(rule, number) for number in numbers]
                alone[rule.constraint.name] += len(numbers)
        return found, alone

    def _empty(self, asked: _Asked, rule: Rule, number: int) -> int:
        """The outcome of a trace in which the rule sees no event."""
        if not rule.same_when_empty:
            return asked.alone(rule, number)
        name = rule.constraint.name
        if name not in self._when_empty:
            judged = evaluation_of(Trace(), self.procedure, rule.constraint)
            self._when_empty[name] = CODES[judged.outcome]
        return self._when_empty[name]


def _codes(row: Row) -> NDArray[np.int8]:
    codes = np.where(row.true, np.int8(SATISFIED), np.int8(VIOLATED))
    if row.vacuous is not None:
        codes[row.vacuous] = VACUOUS
    return codes


class _Asked:
    """A chunk as the rules of a procedure see it; what is made for one serves the next."""

    def __init__(self, procedure: Procedure, chunk: Chunk) -> None:
        self._procedure = procedure
        self._chunk = chunk
        self._seen: dict[tuple[Events, bool], tuple[Evaluation, NDArray[np.intp]]] = {}
        self._traces: dict[int, Trace] = {}
        self._views: dict[int, Views] = {}

    def evaluation(self, events: Events, answer: bool) -> tuple[Evaluation, NDArray[np.intp]]:
        """The evaluation over those traces that have an event, and which those are."""
        key = (events, answer)
        if key not in self._seen:
            columns, there = self._chunk.columns(events, answer)
            procedure = self._procedure
            over = Evaluation(Subject(columns, procedure.order, procedure.vocabulary))
            self._seen[key] = over, there
        return self._seen[key]

    def alone(self, rule: Rule, number: int) -> int:
        """The outcome of one trace, judged by itself."""
        trace = self._traces.get(number)
        if trace is None:
            trace = self._traces[number] = self._chunk.trace(number)
        views = self._views.setdefault(number, {})
        return CODES[evaluation_of(trace, self._procedure, rule.constraint, views).outcome]
