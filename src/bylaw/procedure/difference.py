"""What an edit to a procedure changes, rule by rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Literal, TypeAlias

from bylaw.procedure.constraint import Constraint
from bylaw.procedure.difference_names import NameChange, changed_names
from bylaw.procedure.failure import reads_failure
from bylaw.procedure.procedure import Procedure
from bylaw.semantics.examples import Setting, difference
from bylaw.trace.trace import Trace
from bylaw.values import Json

Kind: TypeAlias = Literal["added", "removed", "changed", "equivalent", "undecided", "same"]
_Pair: TypeAlias = tuple[Procedure, Constraint]
_Value: TypeAlias = str | float | None


@dataclass(frozen=True, slots=True)
class _Field:
    """A field whose values are compared, beside the rules themselves."""

    subject: str
    """How a sentence about it begins."""
    of: Callable[[Procedure, Constraint], _Value]
    decides: bool = True
    """Does another value change a score, a report or a gate by itself? If not, it says how rules
    read traces, and whether they read them differently is found out."""


# Left out: `why` and `fix` are words, `tools` checks spelling, and `name` is what reports say.
_OF_RULES: Final = (
    _Field("`order`", lambda procedure, _: procedure.order, decides=False),
    _Field("`events`", lambda procedure, rule: procedure.events_of(rule), decides=False),
    _Field("The weight", lambda _, rule: rule.weight),
    _Field("The layer", lambda _, rule: rule.layer),
    _Field("The severity", lambda _, rule: rule.severity.value),
)
_OF_PROCEDURES: Final = (("`finish`", attrgetter("finish")),)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one rule, or of what the procedure says for all of them."""

    name: str
    kind: Kind
    old: Constraint | None = None
    new: Constraint | None = None
    trace: Trace | None = None
    """A shortest trace on which the two differ."""
    old_holds: bool | None = None
    note: str | None = None
    names: tuple[NameChange, ...] = ()
    """What the rule is written with and stands for something else now."""
    about: Literal["rule", "procedure"] = "rule"

    @property
    def matters(self) -> bool:
        """Can some trace be scored or reported differently, or a gate decide otherwise?"""
        return self.kind not in ("equivalent", "same")

    def to_dict(self) -> dict[str, Json]:
        """The change as JSON."""
        optional = {
            "old": self.old and self.old.rule,
            "new": self.new and self.new.rule,
            "names": [each.to_dict() for each in self.names] or None,
            "trace": None if self.trace is None else self.trace.to_record(),
            "old_holds": self.old_holds,
            "note": self.note,
        }
        found = {key: value for key, value in optional.items() if value is not None}
        return {"name": self.name, "about": self.about, "kind": self.kind, **found}


def compare(old: Procedure, new: Procedure) -> list[Change]:
    """Every rule of both procedures, and what became of it; the old one's order first.

    Before them, if there is something to tell, what changed for all rules together.
    """
    before = {constraint.name: constraint for constraint in old.constraints}
    after = {constraint.name: constraint for constraint in new.constraints}
    changes = []
    told = [_told(subject, of(old), of(new)) for subject, of in _OF_PROCEDURES]
    if note := " ".join(filter(None, told)):
        changes.append(Change(new.name, "changed", note=note, about="procedure"))
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            changes.append(Change(name, "removed", old=before[name]))
        elif name not in before:
            changes.append(Change(name, "added", new=after[name]))
        else:
            changes.append(_compared((old, before[name]), (new, after[name])))
    return changes


def _compared(old: _Pair, new: _Pair) -> Change:
    (_, before), (_, after) = pairs = (old, new)
    settings = [Setting(p.order, p.events_of(rule), p.vocabulary, p.marked) for p, rule in pairs]
    readings, decisive = (" ".join(_fields(old, new, decides=each)) for each in (False, True))
    failures = _failures(old[0], new[0]) if any(reads_failure(r.formula) for _, r in pairs) else ""
    kind: Kind
    if before.formula == after.formula and settings[0] == settings[1] and not failures:
        kind = "changed" if decisive else "same"
        return Change(before.name, kind, before, after, note=decisive or None)
    found = difference(before.formula, after.formula, *settings)
    verdict = ""
    if not found.decided:
        kind, verdict = "undecided", f"Whether they differ could not be decided: {found.reason}."
    elif found.trace is not None:
        kind = "changed"
    elif failures:
        kind = "undecided"
    elif decisive:
        kind, verdict = "changed", "They agree on every trace."
    else:
        kind = "equivalent"
    note = " ".join(filter(None, (verdict, failures, readings, decisive)))
    texts = [before.rule, after.rule]
    if failures:
        texts += [procedure.failed.rule for procedure, _ in pairs if procedure.failed]
    names = tuple(changed_names(old[0], new[0], texts))
    return Change(
        before.name, kind, before, after, found.trace, found.old_holds, note or None, names
    )


def _fields(old: _Pair, new: _Pair, *, decides: bool) -> Iterator[str]:
    """A sentence for each field that has another value."""
    for field in _OF_RULES:
        if field.decides is decides and (
            told := _told(field.subject, field.of(*old), field.of(*new))
        ):
            yield told


def _told(subject: str, before: _Value, after: _Value) -> str:
    """That a value was another one, if it was."""
    shown = [
        "not given" if each is None else each if isinstance(each, str) else f"{each:.15g}"
        for each in (before, after)
    ]
    return "" if before == after else f"{subject} was {shown[0]} and is now {shown[1]}."


def _failures(old: Procedure, new: Procedure) -> str:
    """That calls count as failed by another test, if they do."""
    before, after = (each.failed and each.failed.formula for each in (old, new))
    if before == after:
        return ""
    written = [f"`{each.failed.rule}`" if each.failed else None for each in (old, new)]
    same = f"`failed` is still {written[0]}, which stands for something else."
    return (
        f"How failure is told has changed: {_told('`failed`', *written) or same} "
        "A call that failed by only one of them may be judged differently."
    )
