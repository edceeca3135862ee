"""A placeholder for the value of a quantified variable, in the machine of its body."""

from __future__ import annotations

from typing import Any, Final

from bylaw.frozen import replace
from bylaw.logic import formula as f
from bylaw.logic.terms import Apply, At, Counted, Literal, ToolName
from bylaw.logic.walk import everything
from bylaw.semantics.machine.closure import Unsupported
from bylaw.trace.event import MISSING
from bylaw.values import Json, identity
from bylaw.vocabulary.predicate import Probe

SLOT: Final = "\ue000the value of the variable\ue000"


def constants_in(body: f.Formula) -> list[Json]:
    """The constants in the body, and the parts of those constants."""
    found: list[Json] = []
    for part in everything(body):
        if isinstance(part, ToolName):
            found.append(part.name)
        elif isinstance(part, Literal):
            found += _parts(part.value)
    return list({identity(value): value for value in found}.values())


def _parts(value: Json) -> list[Json]:
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return [value, *(part for item in inner for part in _parts(item))]


def computes_with(body: f.Formula, variable: str) -> bool:
    """Does the body read or compute something from the variable? A placeholder has no parts."""
    computed = (At, Apply, Counted, f.Found)
    return any(isinstance(part, computed) and variable in part.free for part in everything(body))


def has_slot(probe: Probe) -> bool:
    if isinstance(probe.tool, ToolName) and probe.tool.name == SLOT:
        return True
    written = [p.text for c in probe.conditions for p in everything(c) if isinstance(p, Literal)]
    if any(SLOT.encode("unicode_escape").decode() in text for text in written):
        raise Unsupported("its quantified variable occurs in a comparison")
    literals = [p.expected for p in probe.patterns if not isinstance(p, f.OutcomeIs)]
    texts = [each.text for each in (*literals, probe.result) if isinstance(each, Literal)]
    return any(SLOT.encode("unicode_escape").decode() in text for text in texts)


def filled_probe(probe: Probe, value: Json) -> Probe:
    """The probe with the value in place of the variable."""
    tool = probe.tool
    if isinstance(tool, ToolName) and tool.name == SLOT:
        if not isinstance(value, str) or not value:
            return Probe(ToolName(SLOT))  # matches nothing
        tool = ToolName(value)
    patterns = tuple(
        p if isinstance(p, f.OutcomeIs) else type(p)(p.path, _filled_literal(p.expected, value))
        for p in probe.patterns
    )
    result = None if probe.result is None else _filled_literal(probe.result, value)
    return replace(probe, tool=tool, patterns=patterns, result=result)


def _filled_literal(literal: Any, value: Json) -> Literal:
    return Literal.of(filled(literal.value, value))


def filled(template: Json, value: Json) -> Json:
    if template == SLOT and isinstance(template, str):
        return value
    if isinstance(template, list):
        return [filled(item, value) for item in template]
    if isinstance(template, dict):
        return {key: filled(item, value) for key, item in template.items()}
    return template


def values_at_slot(template: Json, actual: Any) -> list[Json]:
    """The parts of a value at the places where the template has the variable."""
    if actual is MISSING:
        return []
    if isinstance(template, str) and template == SLOT:
        return [actual]
    if isinstance(template, list) and isinstance(actual, list) and len(template) == len(actual):
        return [v for t, a in zip(template, actual, strict=True) for v in values_at_slot(t, a)]
    if isinstance(template, dict) and isinstance(actual, dict):
        return [v for k, t in template.items() if k in actual for v in values_at_slot(t, actual[k])]
    return []


class NoQuantifier(Unsupported):
    """There are no instances to follow: some other engine must follow the formula, or none can."""


def prenex(formula: f.Formula) -> f.Quantifier:
    """The outermost quantifier, with a negation before it pushed inside."""
    match formula:
        case f.ForAll(_, f.FromArgs() | f.FromResults(), _) as found:
            return found
        case f.Exists(_, f.FromArgs() | f.FromResults(), _) as found:
            return found
        case f.Not(f.ForAll(x, domain, body)):
            return prenex(f.Exists(x, domain, f.Not(body)))
        case f.Not(f.Exists(x, domain, body)):
            return prenex(f.ForAll(x, domain, f.Not(body)))
        case _:
            raise NoQuantifier("it does not begin with a quantifier over arguments or results")
