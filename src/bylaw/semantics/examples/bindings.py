"""Reading a draft as a rule reads it, with values for the rule's variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeAlias, TypeVar

from bylaw.errors import SpecError
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import sees_answer, substitute
from bylaw.semantics.evaluation import Evaluation, view_of
from bylaw.semantics.examples.draft import Draft, DraftEvent
from bylaw.semantics.examples.reading_options import ReadingOptions
from bylaw.semantics.verdict import Value
from bylaw.trace.event import MISSING, Missing
from bylaw.trace.trace import Trace
from bylaw.values import Json
from bylaw.vocabulary.possible import PartlyKnown

_Option = TypeVar("_Option")
_AnyNode = TypeVar("_AnyNode", bound=Node)


@dataclass(slots=True)
class DraftVariable:
    """A variable that stands for the value of a term at an event, or for an element of a domain."""

    source: t.Term | f.Domain
    event: DraftEvent | None
    scope: Bindings
    element: Json | Missing = MISSING
    """The element, if the source is a domain."""


Bindings: TypeAlias = Mapping[str, DraftVariable]
"""The variables in scope."""


@dataclass(slots=True)
class DraftReader:
    """A draft as one rule sees it."""

    draft: Draft
    formula: f.Formula
    setting: ReadingOptions
    random: Random
    boldness: float = 0.0
    """The probability of a random choice; otherwise the first option is taken."""
    _of: Trace | None = field(default=None, init=False)
    _known: Evaluation | None = field(default=None, init=False)
    _values: dict[int, tuple[DraftVariable, Json | Missing]] = field(
        default_factory=dict, init=False
    )
    """The values of variables on the draft as it is now."""
    _sees_answer: bool = field(init=False)

    def __post_init__(self) -> None:
        self._sees_answer = sees_answer(self.formula)  # asked for every event

    def pick(self, options: Sequence[_Option]) -> _Option:
        """One of the options; the plainest comes first."""
        return options[0] if self.random.random() >= self.boldness else self.random.choice(options)

    @property
    def evaluation(self) -> Evaluation:
        """The rule on the draft as it is now."""
        trace = self.draft.trace
        if self._known is None or self._of is not trace:
            setting = self.setting
            view = view_of(
                self.formula,
                setting.seen(trace),
                setting.order,
                setting.events,
                setting.vocabulary,
            )
            self._of, self._known = trace, Evaluation(self.formula, view)
            self._values.clear()
        return self._known

    @property
    def visible(self) -> list[DraftEvent]:
        """The events that the rule sees."""
        return self.draft.visible(self.setting.events, self._sees_answer)

    def position(self, event: DraftEvent | None) -> int:
        """The position of an event; that after the last one if the rule does not see it."""
        seen = self.visible
        return seen.index(event) if event in seen else len(seen)

    # ── values ───────────────────────────────────────────────────────────────────────────

    def value_of(self, binding: DraftVariable) -> Json | Missing:
        """The value that a variable has now."""
        source = binding.source
        if isinstance(source, f.Listed | f.Found | f.Extracted | f.FromArgs | f.FromResults):
            return binding.element
        if isinstance(source, f.FromMetrics):
            return binding.element
        if self._of is not self.draft.trace or id(binding) not in self._values:
            found = self.read(source, binding.event, binding.scope)
            self._values[id(binding)] = binding, found
        return self._values[id(binding)][1]

    def closed(self, part: _AnyNode, scope: Bindings) -> _AnyNode:
        """The part with its variables' values; an undefined one is left without."""
        for name in sorted(part.free):
            if name in scope and (value := self.value_of(scope[name])) is not MISSING:
                part = substitute(part, name, value)
        return part

    def truth(self, formula: f.Formula, event: DraftEvent | None, scope: Bindings) -> Value:
        """The value of a part at an event."""
        return self.evaluation.at(self.closed(formula, scope), self.position(event))

    def read(self, term: t.Term, event: DraftEvent | None, scope: Bindings) -> Any:
        """The value of a term at an event, or MISSING."""
        at = self.position(event)
        try:
            found = self.evaluation.read(self.closed(term, scope), at)
        except (SpecError, IndexError):
            return MISSING
        return MISSING if isinstance(found, PartlyKnown) else found

    def elements(self, domain: f.Domain, event: DraftEvent | None, scope: Bindings) -> list[Json]:
        """The values of a domain at an event."""
        try:
            found = self.evaluation.elements(self.closed(domain, scope), self.position(event))
        except (SpecError, IndexError):
            return []
        return list(found.known)

    def where(self, condition: f.Formula, event: DraftEvent | None) -> list[DraftEvent]:
        """The events up to this one where a condition without variables holds."""
        row = self.evaluation.row(condition)
        upto = self.visible[: self.position(event) + 1]
        return [each for each, value in zip(upto, row, strict=False) if value.is_true]


NOTHING: Final[Bindings] = {}
"""No variables."""
