"""The difference between two versions of a procedure, rule by rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Literal, TypeAlias

from bylaw.errors import listing
from bylaw.procedure.failure import reads_failure
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.semantics.examples.reading_options import ReadingOptions
from bylaw.semantics.examples.shortest import difference
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json

ChangeKind: TypeAlias = Literal["added", "removed", "changed", "equivalent", "undecided", "same"]
_RuleOf: TypeAlias = tuple[Procedure, Constraint]
_Scalar: TypeAlias = str | float | None


@dataclass(frozen=True, slots=True)
class _ComparedField:
    """A field of a constraint, or of its procedure, whose values are compared."""

    subject: str
    """The subject of a sentence about it."""
    of: Callable[[Procedure, Constraint], _Scalar]
    decides: bool = True
    """Does another value by itself change a score, a report or a gate? If not, the field says how
    a rule reads traces, and the two rules are compared on traces."""


# Not compared: `why` and `fix` are prose, `name` appears in reports.
_OF_RULES: Final = (
    _ComparedField("`order`", lambda procedure, _: procedure.order, decides=False),
    _ComparedField("`events`", lambda procedure, rule: procedure.events_of(rule), decides=False),
    _ComparedField("`across`", lambda _, rule: rule.across and f"labels.{rule.across}"),
    _ComparedField("The weight", lambda _, rule: rule.weight),
    _ComparedField("The layer", lambda _, rule: rule.layer),
    _ComparedField("The severity", lambda _, rule: rule.effective_severity),
)
_OF_PROCEDURES: Final = tuple((f"`{name}`", attrgetter(name)) for name in ("unlisted", "finish"))


@dataclass(frozen=True, slots=True)
class NameChange:
    """A group, a constant or a definition before and after, as a procedure file writes it."""

    name: str
    old: str | None
    """None if the old procedure does not have the name; `new` likewise."""
    new: str | None

    def to_dict(self) -> dict[str, Json]:
        """The change as JSON."""
        found = {"name": self.name, "old": self.old, "new": self.new}
        return {key: value for key, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ProcedureChange:
    """The comparison of one rule, or of the fields that concern the whole procedure."""

    name: str
    kind: ChangeKind
    old: Constraint | None = None
    new: Constraint | None = None
    trace: Trace | None = None
    """A trace on which the two rules differ."""
    shortest: bool = True
    """Is the trace a shortest one? Not if a search found it."""
    old_holds: bool | None = None
    note: str | None = None
    names: tuple[NameChange, ...] = ()
    """The names in the rule whose meaning changed."""
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
            "shortest": None if self.trace is None else self.shortest,
            "note": self.note,
        }
        found = {key: value for key, value in optional.items() if value is not None}
        return {"name": self.name, "about": self.about, "kind": self.kind, **found}


def compare(
    old: Procedure, new: Procedure, *, run_functions: bool = False
) -> list[ProcedureChange]:
    """A comparison for every rule of either procedure, those of the old one first.

    A change of a field that concerns the whole procedure precedes them. With `run_functions`, a
    search may run registered functions on traces that it generates.
    """
    before = {constraint.name: constraint for constraint in old.constraints}
    after = {constraint.name: constraint for constraint in new.constraints}
    changes = []
    sentences = [_sentence(subject, of(old), of(new)) for subject, of in _OF_PROCEDURES]
    sentences += _tool_sentences(old, new)
    if note := " ".join(filter(None, sentences)):
        changes.append(ProcedureChange(new.name, "changed", note=note, about="procedure"))
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            changes.append(ProcedureChange(name, "removed", old=before[name]))
        elif name not in before:
            changes.append(ProcedureChange(name, "added", new=after[name]))
        else:
            changes.append(_compared((old, before[name]), (new, after[name]), run_functions))
    return changes


def _compared(old: _RuleOf, new: _RuleOf, run_functions: bool) -> ProcedureChange:
    (_, before), (_, after) = pairs = (old, new)
    settings = [
        ReadingOptions(
            p.order, p.events_of(rule), p.vocabulary, p.marked, tuple(p.tools or ()), run_functions
        )
        for p, rule in pairs
    ]
    readings, decisive = (" ".join(_fields(old, new, decides=each)) for each in (False, True))
    failures = _failures(old[0], new[0]) if any(reads_failure(r.formula) for _, r in pairs) else ""
    kind: ChangeKind
    if before.formula == after.formula and settings[0] == settings[1] and not failures:
        kind = "changed" if decisive else "same"
        return ProcedureChange(before.name, kind, before, after, note=decisive or None)
    found = difference(before.formula, after.formula, *settings)
    verdict = ""
    if not found.decided:
        kind, verdict = "undecided", f"Could not decide whether they differ: {found.reason}."
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
    return ProcedureChange(
        before.name,
        kind,
        before,
        after,
        found.trace,
        found.shortest,
        found.old_holds,
        note or None,
        names,
    )


def _fields(old: _RuleOf, new: _RuleOf, *, decides: bool) -> Iterator[str]:
    """A sentence for each field whose value changed."""
    for field in _OF_RULES:
        if field.decides is decides:
            yield from filter(None, [_sentence(field.subject, field.of(*old), field.of(*new))])


def _sentence(subject: str, before: _Scalar, after: _Scalar) -> str:
    """A sentence about a value that changed; empty if it did not."""
    shown = [
        "not given" if each is None else each if isinstance(each, str) else f"{each:.15g}"
        for each in (before, after)
    ]
    return "" if before == after else f"{subject} was {shown[0]} and is now {shown[1]}."


def _tool_sentences(old: Procedure, new: Procedure) -> Iterator[str]:
    """Sentences about tools that a gate no longer accepts, newly accepts, or checks otherwise."""
    before, after = old.tools, new.tools
    if before is None or after is None:
        if before is not after:
            yield f"Tools {'are now' if before is None else 'are no longer'} listed."
        return
    for change, names in (
        ("no longer lists", [name for name in before if name not in after]),
        ("now lists", [name for name in after if name not in before]),
    ):
        if names:
            yield f"`tools` {change} {listing(names)}."
    schemas = (old.schemas.get(name) == new.schemas.get(name) for name in before)
    changed = [n for n, same in zip(before, schemas, strict=True) if not same and n in after]
    if changed:
        yield f"The schema of the arguments has changed: {listing(changed)}."


def _failures(old: Procedure, new: Procedure) -> str:
    """A sentence about the procedure's test for failed calls; empty if it did not change."""
    before, after = (each.failed and each.failed.formula for each in (old, new))
    if before == after:
        return ""
    written = [f"`{each.failed.rule}`" if each.failed else None for each in (old, new)]
    same = f"`failed` is still {written[0]}, but its definition has changed."
    return (
        f"The test for failed calls has changed: {_sentence('`failed`', *written) or same} "
        "A call that fails only one of the tests may be judged differently."
    )


# ── names ─────────────────────────────────────────────────────────────────────────────────

_WORD = re.compile(r"(?<!\.)\b[^\W\d]\w*")
"""A name, possibly inside a text; a word after a dot is a key."""
_NameInField: TypeAlias = tuple[str, str]
"""A name and the field that declares it: a group and a constant may share a name."""


def changed_names(old: Procedure, new: Procedure, texts: Iterable[str]) -> Iterator[NameChange]:
    """The names whose meaning changed, among those that the texts of rules use."""
    before, after = (dict(_declarations(each)) for each in (old, new))
    used = _used(texts, [*before.items(), *after.items()])
    for key in dict.fromkeys([*before, *after]):
        if key[0] in used and before.get(key) != after.get(key):
            yield NameChange(key[0], before.get(key), after.get(key))


def _declarations(procedure: Procedure) -> Iterator[tuple[_NameInField, str]]:
    """Each name of the procedure, as its file declares it."""
    for name, members in procedure.groups.items():
        yield (name, "groups"), f"{name}: [{', '.join(members)}]"
    for name, value in procedure.constants.items():
        yield (name, "constants"), f"{name}: {write_json(value)}"
    for head, text in procedure.define.items():
        # Folded, so that other line breaks are not a change.
        yield (head.partition("(")[0].strip(), "define"), " ".join(f"{head}: {text}".split())


def _used(texts: Iterable[str], declared: Iterable[tuple[_NameInField, str]]) -> set[str]:
    """The words of the texts, and of the groups and definitions that they use."""
    meanings: dict[str, list[str]] = {}
    for (name, field), text in declared:
        if field != "constants":  # a text inside a constant is data, not a name
            meanings.setdefault(name, []).append(text)
    used: set[str] = set()
    pending = list(texts)
    while pending:
        for word in set(_WORD.findall(pending.pop())) - used:
            used.add(word)
            pending += meanings.get(word, [])
    return used
