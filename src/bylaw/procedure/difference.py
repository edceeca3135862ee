"""What an edit to a procedure changes, rule by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from bylaw.procedure.constraint import Constraint
from bylaw.procedure.failure import reads_failure
from bylaw.procedure.procedure import Procedure
from bylaw.semantics.examples import Setting, difference
from bylaw.trace.trace import Trace
from bylaw.values import Json

Kind: TypeAlias = Literal["added", "removed", "changed", "equivalent", "undecided", "same"]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one rule."""

    name: str
    kind: Kind
    old: Constraint | None = None
    new: Constraint | None = None
    trace: Trace | None = None
    """A shortest trace on which the two differ."""
    old_holds: bool | None = None
    note: str | None = None

    @property
    def matters(self) -> bool:
        """Can some trace be scored differently?"""
        return self.kind in ("added", "removed", "changed", "undecided") or bool(self.note)

    def to_dict(self) -> dict[str, Json]:
        """The change as JSON."""
        optional = {
            "old": self.old and self.old.rule,
            "new": self.new and self.new.rule,
            "trace": None if self.trace is None else self.trace.to_record(),
            "old_holds": self.old_holds,
            "note": self.note,
        }
        found = {key: value for key, value in optional.items() if value is not None}
        return {"name": self.name, "kind": self.kind, **found}


def compare(old: Procedure, new: Procedure) -> list[Change]:
    """Every rule of both procedures, and what became of it; the old one's order first."""
    before = {constraint.name: constraint for constraint in old.constraints}
    after = {constraint.name: constraint for constraint in new.constraints}
    changes = []
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            changes.append(Change(name, "removed", old=before[name]))
        elif name not in before:
            changes.append(Change(name, "added", new=after[name]))
        else:
            changes.append(_compared(old, new, before[name], after[name]))
    return changes


def _compared(old: Procedure, new: Procedure, before: Constraint, after: Constraint) -> Change:
    pairs = ((old, before), (new, after))
    settings = [Setting(p.order, p.events_of(rule), p.vocabulary, p.marked) for p, rule in pairs]
    note = _weights(before, after)
    kind: Kind
    failures = _failures(old, new) if any(reads_failure(rule.formula) for _, rule in pairs) else ""
    if before.formula == after.formula and settings[0] == settings[1] and not failures:
        return Change(before.name, "changed" if note else "same", before, after, note=note)
    found = difference(before.formula, after.formula, *settings)
    if not found.decided:
        told = f"Whether they differ could not be decided: {found.reason}."
        return Change(before.name, "undecided", before, after, note=f"{told} {failures}".strip())
    if failures:
        note = f"{failures} {note}" if note else failures
        kind = "undecided" if found.trace is None else "changed"
        return Change(before.name, kind, before, after, found.trace, found.old_holds, note)
    if found.equivalent:
        told = "They agree on every trace."
        kind = "changed" if note else "equivalent"
        return Change(before.name, kind, before, after, note=f"{told} {note}" if note else None)
    return Change(before.name, "changed", before, after, found.trace, found.old_holds, note)


def _failures(old: Procedure, new: Procedure) -> str:
    """That calls count as failed by another test, if they do."""
    before, after = (each.failed and each.failed.formula for each in (old, new))
    if before == after:
        return ""
    rules = [f"`{each.failed.rule}`" if each.failed else "not given" for each in (old, new)]
    return (
        f"How failure is told has changed: `failed` was {rules[0]} and is now {rules[1]}. "
        "A call that failed by only one of them may be judged differently."
    )


def _weights(before: Constraint, after: Constraint) -> str | None:
    if before.weight == after.weight:
        return None
    return f"The weight was {before.weight:g} and is now {after.weight:g}."
