"""Edits of a trace, and repairs, which consist of several: their costs, effects and sentences.

An inserted call is a step of its own, and splits the step that it is inserted into. All other
events of a step stay together. Only calls and the final answer are edited, never messages, metrics
or labels.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from bylaw.errors import clipped
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.machine.alphabet import OTHER
from bylaw.trace.event import MISSING, Call, Event
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json

Kind: TypeAlias = Literal["insert", "delete", "replace"]
PLACEHOLDER: Final = "another value"
"""A value that no rule names; sample calls use the same one."""
_ANSWER: Final = "an answer"
"""An arbitrary final answer."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to a trace."""

    kind: Kind
    index: int
    """The index of the changed call, or of the one to insert before; `len(trace)` is the end."""
    call: Call
    """The inserted, replacing or deleted call."""
    original: Call | None = None
    """The call at the index, if there is one."""
    place: int = 0
    """The same place as an index of events."""
    among: str | None = None
    """A description of the place, for a call inserted right before a message that rules see."""

    @property
    def cost(self) -> float:
        """The cost in the paper's trace distance."""
        same = self.original is not None and self.original.tool == self.call.tool
        return 0.5 if self.kind == "replace" and same else 1.0

    def __str__(self) -> str:
        old, new, number = self.original, self.call, self.index + 1
        if new.tool == FINAL_ANSWER:
            return _answer_sentence(self.kind, new.args["answer"])
        if self.kind == "insert" or old is None:
            end = "at the end" if old is None else f"before call #{number} ({old.tool})"
            return f"Insert {_text(new)}{_outcome(new)} {self.among or end}."
        if self.kind == "delete":
            return f"Delete call #{number} ({old.tool})."
        if (new.result, new.error) == (old.result, old.error):
            after, before = "", ""
        elif old.tool == new.tool:
            after, before = (_outcome(each) or " without a result" for each in (new, old))
        else:
            after, before = _outcome(new), ""
        return f"Replace call #{number}: {_text(new)}{after} instead of {_text(old)}{before}."

    def to_dict(self) -> dict[str, Json]:
        """The edit as JSON."""
        call = self.call
        data = {"kind": self.kind, "index": self.index, "tool": call.tool, "arguments": call.args}
        where = {} if self.among is None else {"event": self.place}
        outcome = {"error": call.error} if call.failed else {}
        return data | where | outcome | ({} if call.result is MISSING else {"result": call.result})


@dataclass(frozen=True, slots=True)
class Repair:
    """Edits of a trace after which a rule, or a whole procedure, holds."""

    edits: tuple[Edit, ...]
    exact: bool = True
    """Is this the cheapest repair? Otherwise its cost is an upper bound."""

    @property
    def cost(self) -> float:
        """The total cost of the edits."""
        return sum(edit.cost for edit in self.edits)

    def apply(self, trace: Trace) -> Trace:
        """The trace with the edits applied."""
        answer, inserted, changed = trace.answer, dict[int, list[Call]](), dict[int, Edit]()
        for edit in self.edits:
            if edit.call.tool == FINAL_ANSWER:
                answer = None if edit.kind == "delete" else edit.call.args["answer"]
            elif edit.kind == "insert":
                inserted.setdefault(edit.place, []).append(edit.call)
            else:
                changed[edit.place] = edit
        events: list[Event] = []
        step, shift = -1, 0
        together: int | None = None  # the step of the last event, if that is an original one
        for place, event in enumerate((*trace.events, None)):
            for call in inserted.get(place, ()):
                step, shift, together = step + 1, shift + 1, None
                events.append(replace(call, step=step))
            edit_here = changed.get(place)
            if event is None or (edit_here is not None and edit_here.kind == "delete"):
                continue
            if event.step != together:
                step = max((event.step or 0) + shift, step + 1)
                together = event.step
            events.append(replace(event if edit_here is None else edit_here.call, step=step))
        return Trace(
            events,
            answer=answer,
            metrics=trace.metrics,
            labels=trace.labels,
            name=trace.name,
            answered=trace.answered,
        )

    def sentences(self) -> list[str]:
        """The edits as sentences. Calls have their numbers in the original trace."""
        return [str(edit) for edit in self.edits]

    def to_dict(self) -> dict[str, Json]:
        """The repair as JSON."""
        return {
            "cost": self.cost,
            "exact": self.exact,
            "edits": [edit.to_dict() for edit in self.edits],
            "sentences": self.sentences(),
        }


def answer_call(text: str) -> Call:
    """The final answer as a call, as edits hold it."""
    return Call(FINAL_ANSWER, {"answer": text})


def as_answer(event: Event) -> Call:
    """The final answer of a sample, as a call; other values are written as text."""
    given = event.args.get("answer", _ANSWER) if isinstance(event, Call) else _ANSWER
    return answer_call(given if isinstance(given, str) else write_json(given))


def oddity(event: Event) -> int:
    """A penalty for sample calls that people would hardly write."""
    if not isinstance(event, Call):
        return 0
    written = write_json(dict(event.args))
    strange = written.count(f'"{PLACEHOLDER}"') + (event.tool == OTHER)
    outcome = (event.result is not MISSING) + 2 * event.failed
    return 10 * strange + len(event.args) + outcome


def _text(call: Call) -> str:
    tool = "any other call" if call.tool == OTHER else call.tool
    return f"{tool} {_short(dict(call.args))}" if call.args or call.tool != OTHER else tool


def _outcome(call: Call) -> str:
    if call.failed:
        return " that fails"
    if call.result is MISSING:
        return ""
    return (
        " that succeeds" if call.result == PLACEHOLDER else f" with the result {_short(call.value)}"
    )


def _answer_sentence(kind: Kind, text: str) -> str:
    if kind == "delete":
        return "Give no final answer."
    if text in (_ANSWER, PLACEHOLDER):
        return "Give a final answer." if kind == "insert" else "Give another final answer."
    return f"Give the final answer {_short(text)}{' instead' if kind == 'replace' else ''}."


def _short(value: Json) -> str:
    written = json.dumps(value, ensure_ascii=False, default=str)  # traces may hold any object
    return clipped(written, 80)
