"""`sh(git, push, option = "--force")`: an event that runs such a shell command.

It is written for `exists command in shell(args): command.program = "git" & …`, and the printer
writes that formula as `sh(…)` again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.operators import is_plain
from bylaw.values import write_json

ShellCondition: TypeAlias = tuple[str, str, t.Term]
"""A condition: the key as it is written, the relation and the value."""

LISTS: Final = {
    "option": "options",
    "word": "words",
    "operand": "operands",
    "path": "paths",
    "runs": "runs",
    "reads": "reads",
    "writes": "writes",
    "via": "via",
    "fed_by": "fed_by",
    "inside": "within",
    "dynamic": "dynamic",
}
"""Keys of which some member must fit, and the fields that they read."""
TEXTS: Final = {name: name for name in ("kind", "program", "subcommand", "why", "detail", "source")}
"""Keys whose value must fit."""
KEYS: Final = {**LISTS, **TEXTS}

_DOMAIN: Final = f.Found(t.Apply("shell", (t.Reading("args"),)))
_COMMAND, _EACH = "command", "each"
_ANY_UNKNOWN: Final = f.Truth(True)


def shell_atom(conditions: Sequence[ShellCondition], *, dynamic: bool = False) -> f.Exists:
    """Some command of the event meets all conditions; `dynamic`: and has an unknown word."""
    free = {name for _, _, value in conditions for name in value.free}
    command, each = (_fresh(name, free) for name in (_COMMAND, _EACH))
    parts: list[f.Formula] = []
    for key, relation, value in conditions:
        field = t.path_term(t.Variable(command), KEYS[key])
        if key in LISTS:
            compared = f.Compare(relation, t.Variable(each), value)
            parts.append(f.Exists(each, f.Found(field), compared))
        else:
            parts.append(f.Compare(relation, field, value))
    if dynamic:
        field = t.path_term(t.Variable(command), "dynamic")
        parts.append(f.Exists(each, f.Found(field), _ANY_UNKNOWN))
    if not parts:
        kind = t.path_term(t.Variable(command), "kind")
        parts.append(f.Compare("=", kind, t.Literal.of("command")))
    return f.Exists(command, _DOMAIN, parts[0] if len(parts) == 1 else f.And(tuple(parts)))


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


# ── back to text ──────────────────────────────────────────────────────────────────────────

_FIELDS: Final = {field: key for key, field in KEYS.items()}


def shell_text(
    formula: f.Exists, compared: Callable[[str, t.Term], str], bound: Collection[str]
) -> str | None:
    """`sh(…)`, if `shell_atom` makes the formula; `compared` writes a relation and its value.

    Programs named like one of the `bound` variables are quoted.
    """
    if formula.domain != _DOMAIN:
        return None
    body = formula.body
    conditions: list[ShellCondition] = []
    dynamic = False
    for part in body.operands if isinstance(body, f.And) else (body,):
        match part:
            case f.Compare(relation, t.At(t.Variable(), t.Literal() as field), value):
                pass
            case f.Exists(_, f.Found(t.At(t.Variable(), field)), f.Truth(True)):
                dynamic = True
                continue
            case f.Exists(
                _,
                f.Found(t.At(t.Variable(), t.Literal() as field)),
                f.Compare(relation, t.Variable(), value),
            ):
                pass
            case _:
                return None
        key = _FIELDS.get(field.value) if isinstance(field.value, str) else None
        if key is None:
            return None
        conditions.append((key, relation, value))
    if conditions == [("kind", "=", t.Literal.of("command"))]:
        return "sh()" if shell_atom(()) == formula else None
    if shell_atom(conditions, dynamic=dynamic) != formula:
        return None
    return _written(conditions, dynamic, compared, {*bound, "opaque", "dynamic"})


def _written(
    conditions: list[ShellCondition],
    dynamic: bool,
    compared: Callable[[str, t.Term], str],
    quoted: Collection[str],
) -> str:
    leading: list[str] = []
    rest = list(conditions)
    if rest and rest[0] == ("kind", "=", t.Literal.of("opaque")):
        leading.append("opaque")
        rest.pop(0)
    else:
        for key in ("program", "subcommand"):
            name = _names(rest[0], quoted) if rest and rest[0][0] == key else None
            if name is None:
                break
            leading.append(name)
            rest.pop(0)
    written = [f"{key} {compared(relation, value)}" for key, relation, value in rest]
    return f"sh({', '.join([*leading, *written, *(['dynamic'] if dynamic else [])])})"


def _names(condition: ShellCondition, quoted: Collection[str]) -> str | None:
    """`git` or `{rm, unlink}`, if the condition names programs."""
    match condition:
        case (_, "=", t.Literal() as value) if isinstance(value.value, str):
            return _name(value.value, quoted)
        case (_, "in", t.Literal() as value) if (
            isinstance(value.value, list)
            and value.value
            and all(isinstance(each, str) for each in value.value)
        ):
            return "{" + ", ".join(_name(each, quoted) for each in value.value) + "}"
        case _:
            return None


def _name(name: str, quoted: Collection[str]) -> str:
    return name if is_plain(name) and name not in quoted else write_json(name)
