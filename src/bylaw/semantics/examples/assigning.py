"""Giving a term a value: the fields of events, and the operands of functions, are changed for it.

To give `last(call(get_order, id = i, ok)).result.status` the value "pending", the latest such event
gets that status; if there is none, one is added. What is found here need not be right: the
reference judges the trace that comes out.
"""

from __future__ import annotations

from typing import Any, Final, cast

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.walk import is_timed
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.examples.bindings import Bindings, DraftReader, DraftVariable
from bylaw.semantics.examples.draft import DraftEvent
from bylaw.semantics.examples.fitting_values import FRESH, with_key
from bylaw.semantics.examples.inverses import INVERSES
from bylaw.trace.event import MISSING, field_of
from bylaw.values import Json, equal, is_list, is_number, is_object, is_text, write_json

_TOGETHER: Final = ("zip",)
"""Functions all of whose operands change together."""


_PAUSE: Final = 1
"""The time between two events that are added, in seconds."""
NOON: Final = 1772452800
"""The start of the first event: noon of a Monday, UTC."""
_NUMERIC: Final = frozenset(
    [*("length", "sum", "avg", "to_number"), *("abs", "ceil", "floor", "round"), *"+-*/"]
)
_DOMAINS: Final = (
    *(f.Listed, f.Found, f.Extracted),
    *(f.FromArgs, f.FromResults, f.FromMetrics),
)


class TermBuilder(DraftReader):
    """Changes a draft so that terms have given values."""

    __slots__ = ()

    def achieve(
        self,
        formula: f.Formula,
        wanted: bool,
        event: DraftEvent | None,
        scope: Bindings,
        *,
        checked: bool = False,
    ) -> None:
        """Changes the draft so that a formula gets a truth value at an event."""
        raise NotImplementedError

    def rebind(self, binding: DraftVariable, value: Json) -> bool:
        """Gives what a variable stands for another value; false if that is not possible."""
        raise NotImplementedError

    def count(
        self, counted: t.Counted, wanted: Any, event: DraftEvent | None, scope: Bindings
    ) -> bool:
        """Changes the number of values of a domain for which a body holds."""
        raise NotImplementedError

    # ── events ───────────────────────────────────────────────────────────────────────────

    def add(self, index: int) -> DraftEvent | None:
        """A new event before the one that the rule sees at this index, or at the end."""
        seen, events = self.visible, self.draft.events
        ended = bool(events) and events[-1].is_answer
        place = events.index(seen[index]) if index < len(seen) else len(events) - ended
        new = self.draft.insert(place)
        if new is not None and is_timed(self.formula):
            place = events.index(new)
            before = [each.start for each in events[:place] if each.start is not None]
            after = [each.start for each in events[place + 1 :] if each.start is not None]
            time = before[-1] + _PAUSE if before else after[0] - _PAUSE if after else NOON
            self.draft.start_at(new, min([time, *after[:1]]))
        return new

    def add_before(self, event: DraftEvent | None) -> DraftEvent | None:
        """A new event in a step before this one's."""
        return self.add(self.position(event))

    def change(self, event: DraftEvent, name: str, value: Any) -> bool:
        """Gives a field of an event, as rules read it, a value."""
        if event.role is not None and name not in ("text", "step", "start", "agent", "usage"):
            return False
        match name:
            case "args":
                return is_object(value) and self.draft.set(event, "args", dict(value))
            case "tool":
                return is_text(value) and value != "" and self.draft.set(event, "tool", value)
            case "error":
                return is_text(value) and self.draft.set(event, "error", value)
            case "result":
                return not event.is_answer and self.draft.set(event, "result", value)
            case "text" if is_text(value):
                if event.role is not None:
                    return self.draft.set(event, "text", value)
                return self.draft.set(event, "result", self._with_text(event, value))
            case "step":
                return self._move(event, value)
            case "start" if is_number(value):
                return self.draft.start_at(event, value)
            case "end" if is_number(value):
                return self.draft.set(event, "end", value)
            case "duration" if is_number(value) and event.start is not None:
                return self.draft.set(event, "end", event.start + value)
            case "agent":
                return is_text(value) and self.draft.set(event, "agent", value)
            case "usage":
                return is_object(value) and self.draft.set(event, "usage", dict(value))
            case _:
                return False

    def _with_text(self, event: DraftEvent, text: str) -> Json:
        """A result with this text; a structured one keeps its structure if the text extends it."""
        result = event.result
        if is_object(result) and text.startswith(write_json(result)):
            return {**result, "note": text[len(write_json(result)) :].strip()}  # type: ignore[dict-item]  # an object
        return text

    def _move(self, event: DraftEvent, step: Any) -> bool:
        """Moves an event to another step: that of a call there, or a step of its own before it."""
        if type(step) is not int or event.given is not None or event.is_answer:
            return False
        events = self.draft.events
        steps = [each.step or 0 for each in self.draft.trace.events]
        placed = [
            (s, e)
            for s, e in zip(steps, events, strict=False)
            if e is not event and not e.is_answer
        ]
        same = [e for s, e in placed if s == step and e.role in (None, "assistant")]
        later = [e for s, e in placed if s > step]
        events.remove(event)
        if same and event.role is None:
            events.insert(events.index(same[-1]) + 1, event)
            event.joined = True
        elif same and later and event.role == "assistant" and self.random.random() < 0.5:
            events.insert(events.index(same[0]), event)
            same[0].joined = True
        else:
            index = events.index(later[0]) if later else len(events)
            events.insert(index, event)
            event.joined = False
        self.draft.changed()
        return True

    # ── terms ────────────────────────────────────────────────────────────────────────────

    def assign(self, term: t.Term, value: Json, event: DraftEvent | None, scope: Bindings) -> bool:
        """Gives a term a value at an event; false if that is not possible."""
        match term:
            case t.Literal():
                return equal(term.value, value)
            case t.Variable(name):
                return name in scope and self.rebind(scope[name], value)
            case t.ListTerm(items):
                fits = is_list(value) and len(value) == len(items)
                return fits and all(
                    self.assign(item, each, event, scope)
                    for item, each in zip(items, value, strict=True)
                )
            case t.ObjectTerm(entries):
                return is_object(value) and all(
                    entry.key in value and self.assign(entry.value, value[entry.key], event, scope)
                    for entry in entries
                )
            case t.Reading(name):
                return event is not None and self.change(event, name, value)
            case t.At(base, key):
                return self._assign_at(base, key, value, event, scope)
            case t.Apply(function, operands):
                return self._invert(function, operands, value, event, scope)
            case t.Last(condition):
                found = self._last(condition, event, scope)
                return found is not None and self._resemble(found, value)
            case t.Sofar():
                return is_list(value) and self._resemble_all(term, value, event, scope)
            case t.Counted():
                return self.count(term, value, event, scope)
            case t.Answer():
                return is_text(value) and self._answer(value)
            case t.Labels():
                if self.draft.given is not None or not is_object(value):
                    return False
                self.draft.labels = dict(value)
                self.draft.changed()
                return True

    def fresh(self) -> str:
        """A value that occurs nowhere yet."""
        trace = self.draft.trace
        written = repr(trace.to_record())
        return next((each for each in FRESH if f"'{each}'" not in written), FRESH[-1])

    def define(
        self, term: t.Term, event: DraftEvent | None, scope: Bindings, *, number: bool = False
    ) -> Any:
        """The value of a term, after giving it one, perhaps a number, if it had none."""
        self.ensure(term, event, scope)
        found = self.read(term, event, scope)
        if found is not MISSING and found is not None:
            return found
        match term:
            case t.At(base, key) if _is_table(base):
                table = self.define(base, event, scope)
                if is_object(table) and table:
                    self.assign(key, self.pick(list(table)), event, scope)
            case t.Apply(name, operands) if name in "+-*/" or name in ("max", "min"):
                for operand in operands:
                    self.define(operand, event, scope, number=True)
            case t.ListTerm(items):
                for item in items:
                    self.define(item, event, scope, number=number)
            case t.Variable(name) if name in scope and not isinstance(scope[name].source, _DOMAINS):
                binding = scope[name]
                self.define(
                    cast(t.Term, binding.source), binding.event, binding.scope, number=number
                )
            case _:
                value: Json = 1 if number or is_numeric(term) else self.fresh()
                self.assign(term, value, event, scope)
        found = self.read(term, event, scope)
        return MISSING if found is None else found

    def _assign_at(
        self, base: t.Term, key: t.Term, value: Json, event: DraftEvent | None, scope: Bindings
    ) -> bool:
        self.ensure(base, event, scope)
        at = self.define(key, event, scope)
        current = self.read(base, event, scope)
        if is_list(value) and is_text(at) and (current is MISSING or is_text(current)):
            # Where a rule reads `items.id`, the items may be a list, or one object with a list.
            current = self.pick([[], {}])
        changed = with_key(current, at, value)
        return changed is not MISSING and self.assign(base, changed, event, scope)

    def ensure(self, term: t.Term, event: DraftEvent | None, scope: Bindings) -> None:
        """Adds the events that a term finds with `last`, if there are none."""
        match term:
            case t.Last(condition):
                self._last(condition, event, scope)
            case t.At(base, _):
                self.ensure(base, event, scope)
            case t.Variable(name) if name in scope:
                binding = scope[name]
                if isinstance(binding.source, t.At | t.Last | t.Variable | t.Apply):
                    self.ensure(binding.source, binding.event, binding.scope)
            case t.Apply(_, operands):
                for operand in operands:
                    self.ensure(operand, event, scope)

    def _last(
        self, condition: f.Formula, event: DraftEvent | None, scope: Bindings
    ) -> DraftEvent | None:
        """The event that `last` finds; a new one if there is none."""
        at, seen = self.position(event), self.visible
        found = self.evaluation.last(self.closed(condition, scope), at) if at < len(seen) else None
        if found is not None:
            return seen[found]
        if at >= len(seen):
            return None
        given = [each for each in seen[:at] if each.given is not None]
        new = self.pick([None, None, *given]) or self.add_before(event)
        if new is not None:
            self.achieve(condition, True, new, scope)
        return new

    def _resemble(self, event: DraftEvent, wanted: Any) -> bool:
        """Gives an event the fields of an object that differ from its own."""
        if not is_object(wanted):
            return True
        written = event.written(0)
        done = True
        for name, value in wanted.items():
            now = field_of(written, name) if name != "step" else value
            if now is MISSING or not equal(now, value):
                done = self.change(event, name, value) and done
        return done

    def _resemble_all(
        self, sofar: t.Sofar, wanted: Any, event: DraftEvent | None, scope: Bindings
    ) -> bool:
        """Makes the events so far that satisfy a condition resemble these objects, one by one."""
        condition, window = sofar.condition, sofar.seconds
        found = self.where(self.closed(condition, scope), event)
        now = None if event is None else event.start
        if window is not None and now is not None:
            since = now - window.value
            found = [each for each in found if each.start is not None and each.start >= since]
        for extra in found[: max(0, len(found) - len(wanted))]:
            if window is not None and now is not None and self.pick([True, False]):
                self.change(extra, "start", now - window.value - _PAUSE)
            else:
                self.achieve(condition, False, extra, scope)
        found = found[max(0, len(found) - len(wanted)) :]
        while len(found) < len(wanted):
            new = self.add_before(event)
            if new is None:
                return False
            self.achieve(condition, True, new, scope)
            found.insert(0, new)
        pairs = zip(found, wanted, strict=False)
        done = [self._resemble(each, value) for each, value in pairs]
        return all(done)

    def _invert(
        self,
        function: str,
        operands: tuple[t.Term, ...],
        value: Json,
        event: DraftEvent | None,
        scope: Bindings,
    ) -> bool:
        if function in ("max", "min") and isinstance(operands[0], t.ListTerm):
            free = [item for item in operands[0].items if not isinstance(item, t.Literal)]
            return bool(free) and self.assign(self.pick(free), value, event, scope)
        if function not in INVERSES:
            return False
        now = [self.read(operand, event, scope) for operand in operands]
        choices = list(INVERSES[function](value, now))
        if function in _TOGETHER:
            done = [self.assign(operands[i], new, event, scope) for i, new in choices]
            return all(done)
        choices = [(i, new) for i, new in choices if not isinstance(operands[i], t.Literal)]
        if not choices:
            return False
        index, new = self.pick(choices)
        if len(operands) == 2 and now[1 - index] is MISSING:
            self.assign(operands[1 - index], 1, event, scope)  # the other number of a sum
        return self.assign(operands[index], new, event, scope)

    def _answer(self, text: str) -> bool:
        events = self.draft.events
        if events and events[-1].is_answer:
            return self.draft.set(events[-1], "args", {"answer": text})
        made = DraftEvent(FINAL_ANSWER, args={"answer": text})
        return self.draft.insert(len(events), made) is not None


def _is_table(term: t.Term) -> bool:
    """Is this a table that the rule writes out, or a part of one?"""
    while isinstance(term, t.At):
        term = term.base
    return isinstance(term, t.Literal)


def is_numeric(term: t.Term) -> bool:
    """Is the value a number whatever the events are?"""
    match term:
        case t.Counted():
            return True
        case t.Apply(name):
            return name in _NUMERIC
        case _:
            return False
