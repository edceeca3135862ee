"""From formula to JSON: the flat form that `json_form` describes and reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.operators import BOUNDED, BY_NODE
from bylaw.logic.walk import subformulas
from bylaw.values import Json
from bylaw.vocabulary.predicates import PREDICATES

VERSION: Final = 1


def to_json(formula: f.Formula) -> dict[str, Json]:
    """The JSON that `from_json` reads back as this formula."""
    return {"bylaw": VERSION, "formula": _written(numbered_parts(formula))}


def table_of(formulas: Sequence[f.Formula]) -> dict[str, Json]:
    """The JSON that `read_table` reads back as these formulas. They share their parts."""
    numbers = numbered_parts(*formulas)
    return {"parts": _written(numbers), "formulas": [numbers[each] for each in formulas]}


def numbered_parts(*formulas: f.Formula) -> dict[f.Formula, int]:
    """The numbers of the parts in the JSON form; the operands of a part come before it."""
    numbers: dict[f.Formula, int] = {}
    for formula in formulas:
        for part in _innermost_first(formula):
            numbers.setdefault(part, len(numbers))
    return numbers


def _written(numbers: Mapping[f.Formula, int]) -> list[Json]:
    writer = _PartWriter(numbers)
    return [writer.part(part) for part in numbers]


def _innermost_first(formula: f.Formula) -> Iterator[f.Formula]:
    order: list[f.Formula] = []
    pending = [formula]
    while pending:
        current = pending.pop()
        order.append(current)
        pending.extend(subformulas(current))
    return reversed(order)


class _PartWriter:
    """Writes one part. `numbers` are the numbers of all parts."""

    def __init__(self, numbers: Mapping[f.Formula, int]) -> None:
        self.numbers = numbers

    def part(self, formula: f.Formula) -> Json:
        match formula:
            case f.Truth(holds):
                return {"truth": holds}
            case f.EventAtom(tool, patterns):
                content: dict[str, Json] = {} if tool is None else {"tool": self.tool(tool)}
                where = {"where": list(map(self.pattern, patterns))} if patterns else {}
                return {"event": content | where}
            case f.Says(role):
                return {"says": role}
            case f.Compare(symbol, left, right):
                return {"compare": [self.term(left), symbol, self.term(right)]}
            case f.OpenPredicate(name, operands):
                return {"predicate": {"name": name, "operands": list(map(self.term, operands))}}
            case f.TracePredicate(name, operands):
                names = [parameter.name for parameter in PREDICATES[name].parameters]
                return {name: dict(zip(names, map(self.operand, operands), strict=True))}
            case f.ForAll() | f.Exists():
                return {BY_NODE[type(formula)].tag: self.binder(formula)}
            case f.Let(variable, value, body):
                named = {"variable": variable, "value": self.term(value)}
                return {"let": {**named, "body": self.numbers[body]}}
            case _ if isinstance(formula, f.Within):
                bound = {"operand": self.numbers[formula.operand], "seconds": formula.seconds.value}
                return {f"{BOUNDED[type(formula)].tag}_within": bound}
            case _:
                below = [self.numbers[part] for part in subformulas(formula)]
                return {BY_NODE[type(formula)].tag: below}

    def binder(self, binder: f.Quantifier | t.Counted) -> Json:
        return {
            "variable": binder.variable,
            "in": self.domain(binder.domain),
            "body": self.numbers[binder.body],
        }

    def operand(self, operand: f.Operand) -> Json:
        match operand:
            case f.Count(comparison, number):
                return {"is": comparison, "number": self.term(number)}
            case f.ToolList(tools):
                return list(map(self.tool, tools))
            case f.Arguments(patterns):
                return list(map(self.pattern, patterns))
            case t.ToolName() | t.ToolSet() | t.ToolVariable() | t.ToolGlob():
                return self.tool(operand)
            case _:
                return self.term(operand)

    def tool(self, tool: t.Tool) -> Json:
        match tool:
            case t.ToolName(name):
                return name
            case t.ToolVariable(name):
                return {"variable": name}
            case t.ToolGlob(pattern):
                return {"like": pattern}
            case t.ToolSet(members):
                return {"any": list(map(self.tool, members))}

    def term(self, term: t.Term) -> Json:
        match term:
            case t.Literal():
                return {"literal": term.value}
            case t.Variable(name):
                return {"variable": name}
            case t.Answer():
                return {"answer": True}
            case t.Labels():
                return {"labels": True}
            case t.Reading(field):
                return {"read": field}
            case t.At(base, key):
                return {"at": [self.term(base), self.term(key)]}
            case t.Apply(function, operands):
                return {"apply": {"function": function, "to": list(map(self.term, operands))}}
            case t.Last(condition):
                return {"last": self.numbers[condition]}
            case t.Sofar(condition, seconds):
                window = {} if seconds is None else {"seconds": seconds.value}
                return {"sofar": {"condition": self.numbers[condition], **window}}
            case t.Counted():
                return {"count": self.binder(term)}
            case t.ListTerm(items):
                return {"list": list(map(self.term, items))}
            case t.ObjectTerm(entries):
                return {"object": {entry.key: self.term(entry.value) for entry in entries}}

    def pattern(self, pattern: f.Pattern) -> Json:
        match pattern:
            case f.OutcomeIs(outcome):
                return {"outcome": outcome}
            case f.ArgumentIs(path, expected):
                return {"argument": list(path), "is": self.term(expected)}
            case f.ResultIs(path, expected):
                return {"result": list(path), "is": self.term(expected)}

    def domain(self, domain: f.Domain) -> Json:
        match domain:
            case f.Listed(items):
                return {"listed": list(map(self.term, items))}
            case f.Found(term):
                return {"found": self.term(term)}
            case f.FromArgs(tool, path):
                return {"args": {"tool": self.tool(tool), "path": path}}
            case f.FromResults(tool, path):
                return {"results": {"tool": self.tool(tool), "path": path}}
            case f.FromMetrics(path):
                return {"metrics": {"path": path}}
            case f.Extracted(name, operands):
                return {"extracted": {"name": name, "operands": list(map(self.term, operands))}}
