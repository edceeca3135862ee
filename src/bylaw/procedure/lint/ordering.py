"""W508: orderings that also demand a call. `Before(a, b)` is false if `b` is never called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, Tool, ToolName, ToolSet
from bylaw.logic.walk import tools_in
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.lint.finding import Finding, Importance
from bylaw.procedure.lint.prover import Prover, conjuncts
from bylaw.procedure.lint.subject import LintSubject
from bylaw.syntax.printer import to_text, tool_text
from bylaw.trace.event import MISSING
from bylaw.vocabulary.patterns import whole_number


@dataclass(frozen=True, slots=True)
class Ordering:
    """A predicate about the order of calls, and the calls without which it is false."""

    formula: f.TracePredicate
    earlier: tuple[Tool, ...]
    """The tools that come first; empty if `G(b -> O a)` cannot express the ordering."""
    later: Tool
    times: int = 1
    """The number of calls of `later` that the predicate needs."""

    @classmethod
    def of(cls, part: f.Formula) -> Ordering | None:
        """The formula as an ordering, or None if it is not one."""
        if not isinstance(part, f.TracePredicate):
            return None
        match part.name, part.operands:
            case ("Before", (ToolName() | ToolSet() as first, ToolName() | ToolSet() as second)):
                return cls(part, (first,), second)
            case ("After", (ToolName() | ToolSet() as second, ToolName() | ToolSet() as first)):
                return cls(part, (first,), second)
            case ("AllBefore", (f.ToolList(tools), ToolName() | ToolSet() as goal)):
                return cls(part, tools, goal)
            case ("WithinSteps", (ToolName() | ToolSet() as first, _, _)):
                return cls(part, (), first)
            # Repetitions of one tool have no order: they only demand calls.
            case ("InOrder", (f.ToolList(tools),)) if len(set(tools)) > 1:
                last = tools[-1]
                if isinstance(last, ToolName | ToolSet):
                    return cls(part, (), last, tools.count(last))
            case (
                "InstanceBefore",
                (
                    ToolName() | ToolSet() as first,
                    Literal() as n,
                    ToolName() | ToolSet() as second,
                    Literal() as m,
                ),
            ):
                index = whole_number(m.value)
                alone = whole_number(n.value) == index == 0
                return None if index is MISSING else cls(part, (first,) * alone, second, index + 1)
        return None

    @property
    def demanded(self) -> f.TracePredicate:
        """A formula for the calls that it demands."""
        if self.times == 1:
            return f.TracePredicate("Called", (self.later,))
        count = f.Count(">=", Literal.of(self.times))
        return f.TracePredicate("CalledN", (self.later, count))

    @property
    def absence(self) -> str:
        """The traces that violate it because a call is missing, as part of a sentence."""
        if self.later == ToolName(FINAL_ANSWER):
            return "when no final answer is given"
        tool = tool_text(self.later)
        if self.times == 1:
            return f"when {tool} is never called"
        return f"when {tool} is called fewer than {self.times} times"

    def without_demand(self, prover: Prover) -> f.Formula:
        """The ordering alone: `G(b -> O a)` if that is equivalent, otherwise an implication.

        It is not equivalent under `order: step`, or if a tool stands on both sides.
        """
        conditional = f.Implies(self.demanded, self.formula)
        past = [f.Once(f.EventAtom(tool)) for tool in dict.fromkeys(self.earlier)]
        if not past:
            return conditional
        needed = past[0] if len(past) == 1 else f.And(tuple(past))
        plain = f.Always(f.Implies(f.EventAtom(self.later), needed))
        return plain if prover.same(plain, conditional) else conditional


def find_demands(subject: LintSubject) -> Iterator[Finding]:
    """W508: orderings that a trace violates because the later call is missing.

    Nothing is reported if another rule demands that call. Other orderings do not count as such a
    rule, or two traps would hide each other; nor do rules that can never hold, because they imply
    anything.
    """
    prover = subject.prover
    able = [each.formula for each in subject.constraints if not prover.never(each.formula)]
    parts = [part for formula in able for part in conjuncts(formula)]
    others = [part for part in parts if Ordering.of(part) is None]
    for constraint in subject.constraints:
        traps: list[Ordering] = []
        gentler: list[f.Formula] = []
        for part in conjuncts(constraint.formula):
            ordering = Ordering.of(part)
            if ordering is not None and _is_trap(ordering, others, prover):
                traps.append(ordering)
                gentler.append(ordering.without_demand(prover))
            else:
                gentler.append(part)
        if traps:
            violated = [f"`{to_text(trap.formula)}` is violated {trap.absence}" for trap in traps]
            # Most runs end with an answer, so demanding one may be intended.
            intended = all(trap.later == ToolName(FINAL_ANSWER) for trap in traps)
            message, advice = (
                "; ".join(violated) + ".",
                "To accept traces without that call, write:",
            )
            rewrite = to_text(gentler[0] if len(gentler) == 1 else f.And(tuple(gentler)))
            severity: Importance = "note" if intended else "warning"
            yield Finding("W508", (constraint.name,), message, advice, rewrite, severity)


def _is_trap(ordering: Ordering, others: Sequence[f.Formula], prover: Prover) -> bool:
    """Does the ordering demand a call that no other rule demands?"""
    absent = f.Not(ordering.demanded)
    if not prover.never(ordering.formula, absent) or prover.never(ordering.formula):
        return False
    if prover.always(f.Implies(ordering.demanded, ordering.formula)):
        return False  # the ordering only demands the call
    # A rule that demands a call names its tool: otherwise calls of a tool that no rule names
    # could take their place.
    names = set(tools_in(ordering.later))
    return not any(names & set(tools_in(other)) and prover.never(other, absent) for other in others)
