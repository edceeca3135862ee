"""Every occurrence of a violation, and not only the first.

A rule `G a` is broken at each event where `a` is false, `!F a` at each event where `a` is true. A
conjunction is broken by each of its parts that is false, and a universal by each of its values.
Rules of other forms are broken once, as a whole. Occurrences are found when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bylaw.errors import clipped
from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.logic.walk import substitute
from bylaw.scoring.narrate import Narrator
from bylaw.semantics.reasons import witness
from bylaw.semantics.verdict import FALSE
from bylaw.syntax.printer import to_text
from bylaw.trace.event import Message
from bylaw.values import Json, write_json
from bylaw.vocabulary.domains import distinct
from bylaw.vocabulary.view import View

MAX_LISTED: Final = 10
"""The number of occurrences that a line of text lists."""


@frozen
class Occurrence:
    """One violation of a rule."""

    narrator: Narrator
    part: f.Formula
    """The part of the rule that is false."""
    position: int | None
    """The event that breaks the rule, among those that it sees; None if no single event does."""
    values: tuple[tuple[str, Json], ...] = ()
    """The values of variables for which it is broken."""

    @property
    def call(self) -> int | None:
        """The call that breaks the rule, as an index; the number of calls stands for the answer."""
        if self.position is None or self.message is not None:
            return None
        numbers = self._view.call_numbers
        return numbers.get(self.position, len(numbers) + 1) - 1

    @property
    def message(self) -> int | None:
        """The message that breaks the rule, as an index into the trace's events."""
        at = self.position
        return at if at is not None and isinstance(self._view.events[at], Message) else None

    @property
    def detail(self) -> str:
        """The mistake here, in one sentence."""
        return self.narrator.sentence(self.part, self.position or 0, self.values)

    @property
    def witness(self) -> tuple[int, ...]:
        """The events to look at, as positions among those that the rule sees."""
        return witness(self.narrator.evaluation, (self.part, self.position or 0)).positions

    @property
    def _view(self) -> View:
        return self.narrator.view

    def label(self) -> str:
        """The place and the values, in a few words."""
        values = ", ".join(f"{x} = {clipped(write_json(value), 40)}" for x, value in self.values)
        if self.position is None:
            return f"with {values}" if values else f"`{clipped(to_text(self.part), 60)}`"
        mark = self._view.mark(self.position)
        return f"{mark} with {values}" if values else mark

    def to_dict(self, *, detail: bool) -> dict[str, Json]:
        """The occurrence as JSON, with its sentence if `detail`."""
        places = {"call": self.call, "message": self.message}
        place: dict[str, Json] = {name: at for name, at in places.items() if at is not None}
        return place | {"detail": self.detail} if detail else place


def occurrences(narrator: Narrator) -> Iterator[Occurrence]:
    """The occurrences of a violation, in the order of the rule's parts, then of the events."""
    evaluation = narrator.evaluation
    pending: list[tuple[f.Formula, tuple[tuple[str, Json], ...]]] = [(evaluation.formula, ())]
    n = len(evaluation.view)
    while pending:
        formula, values = pending.pop()
        match formula:
            case f.And(operands):
                broken = [part for part in operands if evaluation.at(part, 0) is FALSE]
                pending += [(part, values) for part in reversed(broken)]
            case f.ForAll(variable, domain, body):
                found = distinct(evaluation.elements(domain, 0).values)
                instances = [(substitute(body, variable, value), value) for value in found]
                pending += [
                    (part, (*values, (variable, value)))
                    for part, value in reversed(instances)
                    if evaluation.at(part, 0) is FALSE
                ]
            case f.Always(operand):
                row = evaluation.row(operand)
                for at in range(n):
                    if row[at] is FALSE:
                        yield Occurrence(narrator, operand, at, values)
            case f.Not(f.Eventually(operand)):
                row = evaluation.row(operand)
                for at in range(n):
                    if row[at].is_true:
                        yield Occurrence(narrator, f.Not(operand), at, values)
            case _:
                yield Occurrence(narrator, formula, None, values)


def summary(found: Sequence[Occurrence], most: int = MAX_LISTED) -> str:
    """`Broken 3 times: at calls #3, #7, #9.`; empty for a rule that is broken once or not."""
    if len(found) < 2:
        return ""
    calls = [each.call for each in found if not each.values]
    answer = len(found[0].narrator.view.call_numbers)
    numbers = sorted(at + 1 for at in calls if at is not None and at < answer)
    if len(numbers) == len(found):
        where = f"at calls {', '.join(f'#{number}' for number in numbers[:most])}"
    else:
        where = "; ".join(each.label() for each in found[:most])
    more = f" and {len(found) - most:,} more" if len(found) > most else ""
    return f"Broken {len(found):,} times: {where}{more}."
