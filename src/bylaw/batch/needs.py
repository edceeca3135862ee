"""What rules read of a record: the rest of it need not be decoded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bylaw.batch.judging import Rule
from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import Last, Reading
from bylaw.logic.walk import everything
from bylaw.procedure.procedure import Procedure
from bylaw.vocabulary.patterns import forms_of, names_of
from bylaw.vocabulary.tracker import Probe

_OF_ARGUMENTS: Final = (f.ArgumentIs, f.Arguments, f.FromArgs)
_OF_RESULTS: Final = (f.ResultIs, f.OutcomeIs, f.FromResults)
_OF_STEPS: Final = (f.Earlier, f.Later)
_FIELDS: Final = {
    "args": "arguments",
    "result": "results",
    "text": "results",
    "error": "results",
    "step": "steps",
}


@dataclass(frozen=True, slots=True)
class Needs:
    """The parts of a record that matter."""

    arguments: bool = False
    results: bool = False
    """Results and errors."""
    steps: bool = False
    messages: bool = False
    metrics: bool = False
    arguments_of: frozenset[str] | None = None
    """The tools whose arguments matter; None for all of them."""

    @property
    def places_messages(self) -> bool:
        """Does it matter where messages stand? They count as events, or open steps."""
        return self.steps or self.messages

    @classmethod
    def of(cls, procedure: Procedure, rules: Iterable[Rule]) -> Needs:
        """What the rules of a procedure read."""
        listed = list(rules)
        formulas = [rule.constraint.formula for rule in listed]
        if procedure.failed is not None:
            formulas.append(procedure.failed.formula)
        read = _fields(part for formula in formulas for part in everything(formula))
        return cls(
            "arguments" in read,
            "results" in read,
            "steps" in read or procedure.order == "step",
            any(rule.events == "all" for rule in listed),
            "metrics" in read,
            _tools_with_arguments(formulas),
        )

    def __or__(self, other: Needs) -> Needs:
        """What either needs."""
        tools = None
        if self.arguments_of is not None and other.arguments_of is not None:
            tools = self.arguments_of | other.arguments_of
        return Needs(
            self.arguments or other.arguments,
            self.results or other.results,
            self.steps or other.steps,
            self.messages or other.messages,
            self.metrics or other.metrics,
            tools,
        )


@lru_cache(maxsize=4096)
def read_by(probe: Probe) -> frozenset[str]:
    """The parts of a call that a probe reads, beside its tool."""
    asked = (*probe.patterns, *probe.conditions)
    read = _fields(part for node in asked for part in everything(node))
    read |= {"arguments"} if probe.exactly else set()
    return frozenset(read | {"results"} if probe.result is not None else read)


def _fields(parts: Iterable[Node]) -> set[str]:
    read: set[str] = set()
    for part in parts:
        match part:
            case Reading(field) if field in _FIELDS:
                read.add(_FIELDS[field])
            case f.TracePredicate("CalledWithResult"):
                read.add("results")
            case Last():  # which is an event with all its fields
                read |= {"arguments", "results", "steps"}
            case f.FromMetrics():
                read.add("metrics")
            case _ if isinstance(part, _OF_ARGUMENTS):
                read.add("arguments")
            case _ if isinstance(part, _OF_RESULTS):
                read.add("results")
            case _ if isinstance(part, _OF_STEPS):
                read.add("steps")
    return read


def _tools_with_arguments(formulas: Iterable[f.Formula]) -> frozenset[str] | None:
    """The tools whose arguments formulas read, where it is plain which those are."""
    names: set[str] = set()
    for part in (part for formula in formulas for part in everything(formula)):
        match part:
            case f.Event(tool, patterns) if any(isinstance(p, f.ArgumentIs) for p in patterns):
                asked = tool
            case f.TracePredicate("CalledWith" | "CalledExactly" | "CalledWithResult", operands):
                asked = operands[0]  # type: ignore[assignment]  # the predicates' first parameter
            case f.FromArgs(tool):
                asked = tool
            case Reading("args") | Last():
                return None
            case _:
                continue
        if asked is None or asked.free or forms_of(asked):
            return None
        names |= set(names_of(asked))
    return frozenset(names)
