"""The place where each rule is enforced: before a call, at the answer, or only afterwards.

A severity that is stated is a promise. A rule that only a result can break, say, cannot be enforced
by refusing calls, and its author should know before an agent runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from bylaw.enforcement.severity import Setting, severity_of
from bylaw.errors import Diagnostic, listing
from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.logic.walk import everything, tools_in
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.procedure import Constraint, Procedure, Severity
from bylaw.semantics.dooming import Enforceability, event_title
from bylaw.semantics.enforceability import enforceability
from bylaw.semantics.engines import engine_for
from bylaw.values import Json

EnforcementPlace: TypeAlias = Literal["before the call", "at the answer", "afterwards"]
"""The place where a rule is enforced: a call that would break it is refused; only an answer is,
while it is violated; or neither, and a violation is noticed when it has happened."""


@frozen
class RuleCoverage:
    """The place where one rule is enforced, and the reason."""

    name: str
    severity: Severity
    """The severity that acts: stated, replaced by a setting, or the default."""
    stated: bool
    """Does the author state it? Then it is a promise."""
    place: EnforcementPlace
    reason: str
    kept: bool
    """Can the gate do what the severity says? One that refuses nothing is always kept."""

    def to_dict(self) -> dict[str, Json]:
        """The coverage as JSON."""
        return {name: getattr(self, name) for name in self.__match_args__}


def coverage(procedure: Procedure, setting: Setting = "as-written") -> tuple[RuleCoverage, ...]:
    """The place where each rule is enforced, in the procedure's order."""
    analysis = procedure.derived(CoverageAnalysis)
    return tuple(analysis.of(index, setting) for index in range(len(procedure.constraints)))


# ── promises ──────────────────────────────────────────────────────────────────────────────


def find_broken_promises(procedure: Procedure) -> Iterator[Finding]:
    """W518: rules with a stated severity that cannot be kept."""
    stated = [i for i, rule in enumerate(procedure.constraints) if rule.severity is not None]
    pairs = zip(find_broken(procedure, stated), _unkept(procedure, stated), strict=True)
    for problem, constraint in pairs:
        message = f"{problem.message[:1].upper()}{problem.message[1:]}"
        yield Finding("W518", (constraint.name,), message, problem.help or "")


def _unkept(procedure: Procedure, rules: Sequence[int]) -> Iterator[RuleCoverage]:
    """Those among some rules whose severity cannot be kept. No other rule is analysed."""
    if rules:
        analysis = procedure.derived(CoverageAnalysis)
        yield from (rule for i in rules if not (rule := analysis.of(i, "as-written")).kept)


def find_broken(procedure: Procedure, rules: Sequence[int]) -> Iterator[Diagnostic]:
    """E216: the severities of some rules that cannot be kept, each with remedies."""
    for rule in _unkept(procedure, rules):
        remedies = " ".join(procedure.derived(CoverageAnalysis).remedies(rule.name))
        help = f'{remedies} Or make a gate that only scores it: Guard(…, unenforceable="score").'
        message = f"the severity {rule.severity} cannot be kept. {rule.reason}"
        yield Diagnostic("E216", message, help, where=f"constraint '{rule.name}'")


# ── analysis ──────────────────────────────────────────────────────────────────────────────


class CoverageAnalysis:
    """The events that can break the rules of a procedure. Each rule is analysed once, on demand."""

    def __init__(self, procedure: Procedure) -> None:
        self._procedure: Final = procedure
        self._tools: Final = [
            frozenset(tools_in(rule.formula)) - {FINAL_ANSWER} for rule in procedure.constraints
        ]
        self._found: Final[dict[str, Enforceability]] = {}

    def of(self, index: int, setting: Setting) -> RuleCoverage:
        """The place where a rule is enforced in a setting."""
        constraint = self._procedure.constraints[index]
        severity = severity_of(constraint, setting)
        found = self._enforceability(constraint.name)
        partners = self._partners(index, setting) if severity != "TOLERATE" else []
        place = self._place(found, constraint)
        late = place == "afterwards" and not (severity == "HARD_STOP" and found.too_late)
        return RuleCoverage(
            constraint.name,
            severity,
            setting == "as-written" and constraint.severity is not None,
            place,
            " ".join(
                [
                    *self._sentences(found, partners, severity, constraint),
                    *self._caution(index, found),
                ]
            ),
            severity == "TOLERATE" or not late,
        )

    def remedies(self, name: str) -> Iterator[str]:
        """The remedies for a severity that cannot be kept, as sentences."""
        found = self._enforceability(name)
        if self._procedure[name].across is not None:
            yield "Write it about what precedes each call: G(tool -> …)."
        elif found.doomed_by == "time":
            yield "Write `finish: met`, or state HARD_STOP: the run ends then."
        elif found.too_late:
            yield "Write it about calls and their arguments, or state HARD_STOP: the run ends then."
        elif found.breaks_unseen:
            parts = everything(self._procedure[name].formula)
            if any(isinstance(part, f.OpenPredicate) for part in parts):
                yield "If false verdicts of the predicate are final, register it as such."
            yield "Write it about what precedes each call: G(tool -> …)."
        else:
            yield "Write `finish: met`."
        yield "Or leave the severity out."

    def _enforceability(self, name: str) -> Enforceability:
        found = self._found.get(name)
        if found is None:
            procedure, constraint = self._procedure, self._procedure[name]
            found = self._found[name] = enforceability(
                constraint.formula,
                order=procedure.order,
                events=procedure.events_of(constraint),
                vocabulary=procedure.vocabulary,
                examples=False,
            )
        return found

    def _partners(self, index: int, setting: Setting) -> list[str]:
        """The enforced rules that name one of the rule's tools."""
        return [
            other.name
            for number, other in enumerate(self._procedure.constraints)
            if number != index
            and other.across == self._procedure.constraints[index].across
            and severity_of(other, setting) != "TOLERATE"
            and not self._tools[index].isdisjoint(self._tools[number])
        ]

    # ── places and reasons ───────────────────────────────────────────────────────────────

    def _place(self, found: Enforceability, rule: Constraint) -> EnforcementPlace:
        if found.doomed_by == "call":
            return "before the call"
        met = self._asks_at_answer(rule)
        lost = found.breaks_unseen or found.doomed_by == "result"
        obligation = found.can_be_unmet and not lost
        if found.doomed_by == "answer" or (obligation and met) or _always_holds(found):
            return "at the answer"
        return "afterwards"

    def _asks_at_answer(self, rule: Constraint) -> bool:
        """Must the rule be met when a run ends? A rule across runs has no end."""
        return self._procedure.finish == "met" and rule.across is None

    def _sentences(
        self, found: Enforceability, partners: list[str], severity: Severity, rule: Constraint
    ) -> Iterator[str]:
        met = self._asks_at_answer(rule)
        match found.doomed_by:
            case "call" if found.prefix:
                shown = " ".join(event_title(event) for event, _ in found.prefix)
                last = f"the last of `{shown}`" if len(found.prefix) > 1 else f"`{shown}`"
                yield f"The gate refuses a call that would break it for good, such as {last}."
            case "call":
                yield f"The gate refuses a call that would break it for good: {found.reason}."
            case "answer":
                yield "The gate refuses an answer that would break it."
            case "result":
                yield "Only a result or a message can break it, and then it is too late to refuse."
                if severity == "HARD_STOP":
                    yield "The run ends then."
            case "time":
                yield "It is lost when its deadline passes, and no refusal can prevent that."
                if severity == "HARD_STOP":
                    yield "The run ends then."
            case None if found.breaks_unseen:
                yield f"A call can break it unnoticed: {found.undecided}."
            case None if found.undecided:
                yield f"It is decided at the end: {found.undecided}."
            case None if _always_holds(found):
                yield "Every run satisfies it."
            case None:
                yield "No call can break it for good."
        if rule.across is not None:
            yield f"It judges all runs with the same {rule.across} together."
        if found.can_be_lost and found.doomed_by != "result":
            yield "A result can also break it, after the call has run."
        if partners and found.can_be_unmet and not found.undecided:
            others = listing(partners, 3)
            yield f"The gate refuses a call after which it could not be met together with {others}."
        if found.can_be_unmet and not (found.doomed_by == "answer" and met):
            if met:
                yield "The gate refuses an answer while it is violated."
            elif rule.across is not None:
                yield "A run may finish while it is violated: other runs may still meet it."
            else:
                yield "The agent may finish while it is violated (finish: free)."

    def _caution(self, index: int, found: Enforceability) -> Iterator[str]:
        """Does it say of more calls than necessary that they are too early?"""
        procedure, rule = self._procedure, self._procedure.constraints[index]
        settings = procedure.order, procedure.events_of(rule), procedure.vocabulary
        if found.doomed_by == "call" and engine_for(rule.formula, *settings, {}, {}).cautious:
            yield "It waits for every outstanding result that it reads, even if none can matter."


def _always_holds(found: Enforceability) -> bool:
    return found.doomed_by is None and not found.can_be_unmet
