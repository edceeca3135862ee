"""Making an event one that an atom describes, or does not describe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.examples.assigning import is_numeric
from bylaw.semantics.examples.bindings import Bindings
from bylaw.semantics.examples.domain_elements import DomainBuilder
from bylaw.semantics.examples.draft import DraftEvent
from bylaw.semantics.examples.fitting_values import fitting
from bylaw.trace.event import MISSING
from bylaw.values import Json, is_number
from bylaw.vocabulary.patterns import forms_of, is_named, lookup, names_of

_DONE: Final = "done"
"""The result of a call of which only its success matters."""
_TEXTS: Final = ("parse_config in src/app.py", "x", "42", "Ada Lovelace", "")
"""Texts for functions that nothing is known about."""


class AtomBuilder(DomainBuilder):
    """Changes a draft so that atoms have given truth values."""

    __slots__ = ()

    def names(self, tool: t.Tool | None) -> list[str]:
        """Names that a tool includes, those that the procedure lists first."""
        if tool is None:
            return [*self.setting.tools, "something_else"]
        listed = [name for name in self.setting.tools if is_named(name, tool)]
        forms = [form.replace("*", "x") for form in forms_of(tool)]
        return list(dict.fromkeys([*names_of(tool), *listed, *([] if listed else forms)]))

    def build_event(
        self, atom: f.EventAtom, wanted: bool, event: DraftEvent | None, scope: Bindings
    ) -> None:
        """Makes an event one that an atom describes, or does not describe."""
        if event is None:
            return
        if not wanted:
            self._other_event(atom, event, scope)
            return
        tool = None if atom.tool is None else self.closed(atom.tool, scope)
        names = self.names(tool)
        if event.role is not None and event.given is None:
            event.role = None
        if names and (event.tool is None or (tool is not None and not is_named(event.tool, tool))):
            self._rename(event, self.pick(names))
        for pattern in atom.patterns:
            match pattern:
                case f.OutcomeIs("ok"):
                    self.draft.set(event, "error", None)
                    if event.result is MISSING or not self.truth(
                        f.EventAtom(None, (pattern,)), event, scope
                    ):
                        self.draft.set(event, "result", _DONE)
                case f.OutcomeIs():
                    self.draft.set(event, "error", "failed")
                case f.ArgumentIs(path, expected) | f.ResultIs(path, expected):
                    found = lookup(
                        event.args if isinstance(pattern, f.ArgumentIs) else event.result, path
                    )
                    if found is not MISSING and self.pick([False, True]):
                        self.assign(expected, found, event, scope)  # what it is compared with
                        continue
                    value = self.define(expected, event, scope)
                    if value is not MISSING:
                        self._put(event, pattern, path, value)

    def _rename(self, event: DraftEvent, name: str) -> None:
        if name == FINAL_ANSWER:
            events = self.draft.events
            if event is not events[-1] or event.given is not None:
                return
            event.args = {"answer": ""}
        self.draft.set(event, "tool", name)

    def _put(self, event: DraftEvent, pattern: f.Pattern, path: Sequence[str], value: Json) -> None:
        name = "args" if isinstance(pattern, f.ArgumentIs) else "result"
        holders: list[Any] = [event.args if name == "args" else event.result]
        for key in path[:-1]:
            holders.append(lookup(holders[-1], [key]))
        for key, holder in zip(reversed(path), reversed(holders[: len(path)]), strict=True):
            value = {**(holder if isinstance(holder, dict) else {}), key: value}
        self.change(event, name, value)

    def _other_event(self, atom: f.EventAtom, event: DraftEvent, scope: Bindings) -> None:
        """Makes an event one that an atom does not describe."""
        ways = ["pattern", "tool", "remove"] if atom.patterns else ["tool", "remove"]
        match self.pick(ways):
            case "remove":
                self.draft.remove(event)
            case "tool":
                self.draft.set(event, "tool", "something_else")
            case _:
                pattern = self.pick(atom.patterns)
                match pattern:
                    case f.OutcomeIs("ok"):
                        way = self.pick([("result", MISSING), ("error", "failed")])
                        self.draft.set(event, *way)
                    case f.OutcomeIs():
                        self.draft.set(event, "error", None)
                    case f.ArgumentIs(path, _) | f.ResultIs(path, _):
                        self._put(event, pattern, path, self.fresh())

    def build_message(self, role: Any, wanted: bool, event: DraftEvent | None) -> None:
        """Makes an event a message of a role, or a call."""
        if event is None or self.draft.given is not None:
            return  # messages stay as they are
        if wanted:
            event.tool, event.role = None, role
        else:
            event.role = None
        self.draft.changed()

    def build_compare(
        self, formula: f.Compare, wanted: bool, event: DraftEvent | None, scope: Bindings
    ) -> None:
        """Gives one side of a comparison a value that fits the other side's."""
        symbol, left, right = formula.symbol, formula.left, formula.right
        sides = [(left, right, True), (right, left, False)]
        sides = [side for side in sides if not isinstance(side[0], t.Literal)]
        if not sides:
            return
        mine, other, on_left = self.pick(sides)
        known = self.read(other, event, scope)
        if known is MISSING or known is None:
            if isinstance(other, t.Literal):
                return
            ordered = symbol in ("<", "<=", ">", ">=") and self.pick([True, False])
            known = self.define(other, event, scope, number=ordered or is_numeric(mine))
        if known is MISSING or known is None:
            return
        self.ensure(mine, event, scope)
        current = self.read(mine, event, scope)
        if current is MISSING and _is_text(mine):
            current = ""
        values = list(fitting(symbol, known, current, on_left=on_left, wanted=wanted))
        if values:
            first = values if self.boldness == 0 else values[:6]
            self.assign(mine, self.pick(first), event, scope)

    def build_predicate(self, formula: f.TracePredicate, wanted: bool, scope: Bindings) -> None:
        """Adds the calls that a predicate names, in some order, or removes some of them."""
        tools = [operand for operand in _flat(formula.operands) if _is_tool(operand)]
        patterns = [p for o in formula.operands if isinstance(o, f.Arguments) for p in o.patterns]
        if (not wanted or formula.name == "CalledN") and self.pick([not wanted, wanted]):
            tool = self.pick(tools)
            for event in self.visible:
                if event.tool is not None and is_named(event.tool, tool):
                    self.draft.remove(event)
            return
        numbers = [
            o.number.value
            for o in formula.operands
            if isinstance(o, f.Count) and isinstance(o.number, t.Literal)
        ]
        numbers += [
            o.value + 1
            for o in formula.operands
            if isinstance(o, t.Literal) and is_number(o.value) and formula.name == "InstanceBefore"
        ]
        times = max([1, *(int(n) for n in numbers if is_number(n) and n < 8)])
        if not wanted:
            tools, times = tools[::-1], times + 1
        atoms: tuple[f.Pattern, ...] = tuple(patterns)
        if formula.name == "CalledWithResult":
            expected = next(o for o in formula.operands if isinstance(o, t.Literal))
            atoms = (*atoms, f.ResultIs((), expected))
        for tool in tools[:1] if formula.name in ("BranchCalled",) else tools:
            for _ in range(times):
                where = self.pick([len(self.visible), 0])
                new = self.add(where)
                if new is not None:
                    self.build_event(f.EventAtom(tool, atoms), True, new, scope)

    def stir(self) -> None:
        """Adds something at random, for functions that nothing is known about."""
        text = self.random.choice(_TEXTS)
        if self.random.random() < 0.5:
            self._answer(text)
        elif (new := self.add(0)) is not None:
            new.tool, new.result = self.pick(self.names(None)), text
            self.draft.changed()


def _flat(operands: Iterable[f.Operand]) -> list[Any]:
    return [
        each
        for operand in operands
        for each in (operand.tools if isinstance(operand, f.ToolList) else (operand,))
    ]


def _is_tool(operand: object) -> bool:
    return isinstance(operand, t.ToolName | t.ToolSet | t.ToolGlob)


def _is_text(term: t.Term) -> bool:
    """Does the term read the text of an event?"""
    match term:
        case t.Reading("text"):
            return True
        case t.At(_, t.Literal() as key):
            return bool(key.value == "text")
        case t.Apply("normalise" | "lower" | "upper" | "trim", (operand,)):
            return _is_text(operand)
        case _:
            return False
