"""Giving a domain another element, or an element another value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.semantics.examples.assigning import TermBuilder
from bylaw.semantics.examples.bindings import Bindings, DraftVariable
from bylaw.semantics.examples.draft import DraftEvent
from bylaw.semantics.examples.fitting_values import with_key
from bylaw.semantics.examples.inverses import ANY_MATCH
from bylaw.trace.event import MISSING, Missing
from bylaw.values import Json, equal, is_list, is_object, is_text
from bylaw.vocabulary.domains import contributed

_STEP_OF_PATH: Final = re.compile(r"([A-Za-z_]\w*)|\"([^\"]+)\"|\[(\*?|\d+)\]|\.|@")


class DomainBuilder(TermBuilder):
    """Changes a draft so that domains have given elements."""

    __slots__ = ()

    def new_element(
        self, domain: f.Domain, event: DraftEvent | None, scope: Bindings
    ) -> DraftVariable | None:
        """Adds an element to a domain; None if that is not possible."""
        before = self.elements(domain, event, scope)
        value: Json = self.fresh()
        match domain:
            case f.Found(t.Apply("find", _) as term) | f.Found(
                t.Apply("replace", (t.Apply("find", _) as term, *_))
            ):
                self.assign(term, [ANY_MATCH], event, scope)
            case f.Found(term):
                self.ensure(term, event, scope)
                current = self.read(term, event, scope)
                elements = list(current) if is_list(current) else []
                self.assign(term, [*elements, value], event, scope)
            case f.Listed(items):
                for item in items:
                    self.define(item, event, scope)
            case f.FromMetrics(path) if self.draft.given is None:
                changed = with_path(self.draft.metrics, path, value)
                if is_object(changed):
                    self.draft.metrics = dict(changed)
                    self.draft.changed()
            case f.FromArgs(tool, path) | f.FromResults(tool, path):
                new = self.add(len(self.visible))
                if new is None:
                    return None
                self.achieve(f.EventAtom(tool), True, new, scope)
                name = "args" if isinstance(domain, f.FromArgs) else "result"
                self.change(new, name, with_path({}, path, value))
            case f.Extracted():
                self.stir()
        after = self.elements(domain, event, scope)
        added = [each for each in after if not any(equal(each, old) for old in before)]
        chosen = added or after
        return DraftVariable(domain, event, scope, chosen[-1]) if chosen else None

    def drop_element(self, binding: DraftVariable) -> None:
        """Removes an element from its domain, if that is possible."""
        source, event, scope = binding.source, binding.event, binding.scope
        match source:
            case f.Found(term):
                current = self.read(term, event, scope)
                if is_list(current):
                    rest = [each for each in current if not equal(each, binding.element)]
                    self.assign(term, rest, event, scope)
            case f.FromArgs(_, path) | f.FromResults(_, path):
                name = "args" if isinstance(source, f.FromArgs) else "result"
                for each in list(self._contributors(name, path, binding.element)):
                    self.draft.remove(each)
            case _:
                pass

    def stir(self) -> None:
        """Adds something at random, for functions that nothing is known about."""
        raise NotImplementedError

    def rebind(self, binding: DraftVariable, value: Json) -> bool:
        """Gives what a variable stands for another value."""
        source, event, scope = binding.source, binding.event, binding.scope
        match source:
            case f.Listed(items):
                found = [i for i in items if not isinstance(i, t.Literal)]
                done = bool(found) and self.assign(self.pick(found), value, event, scope)
            case f.Found(term):
                current = self.read(term, event, scope)
                elements = list(current) if is_list(current) else [current]
                changed = [value if equal(each, binding.element) else each for each in elements]
                done = self.assign(term, changed, event, scope)
            case f.FromArgs(_, path) | f.FromResults(_, path):
                name = "args" if isinstance(source, f.FromArgs) else "result"
                done = any(
                    self.change(each, name, with_path(getattr(each, name), path, value))
                    for each in self._contributors(name, path, binding.element)
                )
            case f.FromMetrics() | f.Extracted():
                done = False
            case _:
                return self.assign(source, value, event, scope)
        if done:
            binding.element = value
        return done

    def _contributors(self, name: str, path: str, value: Json | Missing) -> Iterator[DraftEvent]:
        for event in self.visible:
            found: Iterable[Json] = contributed(path, [getattr(event, name)])
            if any(equal(each, value) for each in found):
                yield event

    def count(
        self, counted: t.Counted, wanted: Any, event: DraftEvent | None, scope: Bindings
    ) -> bool:
        """Changes the number of values of a domain for which a body holds."""
        variable, domain, body = counted.variable, counted.domain, counted.body
        if type(wanted) is not int or not 0 <= wanted <= 8:
            return False

        def those() -> list[DraftVariable]:
            found = [
                DraftVariable(domain, event, scope, v) for v in self.elements(domain, event, scope)
            ]
            return [b for b in found if self.truth(body, event, {**scope, variable: b}).is_true]

        for binding in those()[wanted:]:
            self.achieve(body, False, event, {**scope, variable: binding})
        for _ in range(wanted - len(those())):
            made = self.new_element(domain, event, scope)
            if made is None:
                return False
            self.achieve(body, True, event, {**scope, variable: made})
            if is_text(made.element) and len(those()) < wanted:
                # Equal elements count once: one more character makes another one.
                self.rebind(made, f"{made.element}{len(those())}")
        return True


def with_path(whole: Any, path: str, value: Json) -> Any:
    """The value with another one at a JMESPath of keys, indices and `[]`; else as it is."""
    keys: list[str | int] = []
    position = 0
    for found in _STEP_OF_PATH.finditer(path):
        if found.start() != position:
            return whole  # the path computes something
        position = found.end()
        name = found[1] or found[2]
        if name:
            keys.append(name)
        elif found[3] is not None:
            keys.append(int(found[3]) if found[3].isdigit() else 0)
    if position != len(path):
        return whole
    holders = [whole]
    for key in keys:
        holder = holders[-1]
        inside = MISSING
        if is_object(holder):
            inside = holder.get(key, MISSING)
        elif is_list(holder) and isinstance(key, int) and key < len(holder):
            inside = holder[key]
        holders.append(inside)
    for key, holder in zip(reversed(keys), reversed(holders[:-1]), strict=True):
        value = with_key(holder, key, value)
    return value
