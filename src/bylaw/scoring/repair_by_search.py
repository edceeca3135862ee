"""Repairs of rules that no machine can follow: edits that a search finds.

The search starts from the trace and changes it until the rules hold. Then edits are taken back and
inserted calls reduced, as long as the rules still hold. The cheapest edits that were found are an
upper bound: there may be cheaper ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.scoring.edit_places import among_messages, before_text
from bylaw.scoring.edits import Edit, Repair, answer_call, oddity
from bylaw.semantics.examples.draft import Draft, DraftEvent
from bylaw.semantics.examples.reading_options import ReadingOptions
from bylaw.semantics.examples.shrinking import smaller_events
from bylaw.semantics.examples.trace_search import RuleGoal, attempts
from bylaw.semantics.verdict import VACUOUS
from bylaw.trace.event import MISSING, Call
from bylaw.trace.trace import Trace

MAX_ATTEMPTS: Final = 60
MAX_SECONDS: Final = 1.0
_DELETES, _SWAPS, _INVENTS = 6, 8, 8
"""The oddity of deleting a call, of changing its tool, and of inserting one with a result."""


def searched_repair(
    trace: Trace, procedure: Procedure, rules: Sequence[Constraint], *, edit_results: bool
) -> Repair | None:
    """The cheapest edits found after which the rules hold; None if none were found."""
    goals = [
        RuleGoal(rule.formula, VACUOUS, _setting(procedure, procedure.events_of(rule)))
        for rule in rules
    ]
    sees_messages = any(procedure.events_of(rule) == "all" for rule in rules)

    def suits(edits: Sequence[Edit]) -> bool:
        mended = Repair(tuple(edits)).apply(trace)
        return all(goal.met(mended) for goal in goals)

    best: tuple[Edit, ...] | None = None
    start = Draft(trace, edit_results=edit_results)
    for draft in attempts([goals], start, MAX_ATTEMPTS, MAX_SECONDS):
        if draft is None:
            continue
        edits = tuple(_edits(trace, draft, sees_messages))
        if suits(edits):
            edits = _reduced(edits, suits)
            if best is None or _weight(edits) < _weight(best):
                best = edits
    if best is None:
        return None
    return Repair(tuple(sorted(best, key=lambda edit: edit.index)), exact=False)


def _setting(procedure: Procedure, events: str) -> ReadingOptions:
    return ReadingOptions(
        procedure.order,
        "all" if events == "all" else "calls",
        procedure.vocabulary,
        procedure.marked,
        tuple(procedure.tools or ()),
    )


def _weight(edits: Sequence[Edit]) -> tuple[float, int, int]:
    """The cost, then how odd the edits are; later edits are preferred."""
    odd = 0
    for edit in edits:
        same = edit.original is not None and edit.original.tool == edit.call.tool
        match edit.kind:
            case "delete":
                odd += _DELETES
            case "insert":
                odd += oddity(edit.call) + _INVENTS * (edit.call.result is not MISSING)
            case _:
                odd += oddity(edit.call) + (0 if same else _SWAPS)
    return sum(edit.cost for edit in edits), odd, -sum(edit.place for edit in edits)


def _edits(trace: Trace, draft: Draft, sees_messages: bool) -> Iterator[Edit]:
    """The edits that make a draft of the trace."""
    places = {id(event): place for place, event in enumerate(trace.events)}
    kept = {places[id(e.given)] for e in draft.events if id(e.given) in places}
    for place, call in enumerate(trace.events):
        if place not in kept and isinstance(call, Call):
            yield Edit("delete", _calls_before(trace, place), call, call, place)
    place = 0
    for event in draft.events:
        if event.is_answer:
            yield from _answer_edit(trace, event)
        elif event.given is None:
            yield _insertion(trace, place, event, sees_messages)
        else:
            place = places[id(event.given)] + 1
            new, old = event.written(event.given.step), event.given
            if isinstance(new, Call) and isinstance(old, Call) and not _alike(new, old):
                yield Edit("replace", _calls_before(trace, place - 1), new, old, place - 1)
    if trace.answer is not None and not any(e.is_answer for e in draft.events):
        given = answer_call(trace.answer)
        yield Edit("delete", len(trace.calls), given, given)


def _insertion(trace: Trace, place: int, event: DraftEvent, sees_messages: bool) -> Edit:
    call = event.written(None)
    assert isinstance(call, Call), "messages are not inserted"
    index = _calls_before(trace, place)
    original = trace.calls[index] if index < len(trace.calls) else None
    if sees_messages:
        return Edit(
            "insert", index, call, original, place, among_messages(trace.events, place, index)
        )
    if original is not None:
        place = before_text(trace, trace.events.index(original, place))
    else:
        place = len(trace.events)
    return Edit("insert", index, call, original, place)


def _answer_edit(trace: Trace, event: DraftEvent) -> Iterator[Edit]:
    call = event.written(None)
    assert isinstance(call, Call), "the answer is a call"
    if trace.answer is None:
        yield Edit("insert", len(trace.calls), call)
    elif call.args["answer"] != trace.answer:
        yield Edit("replace", len(trace.calls), call, answer_call(trace.answer))


def _alike(new: Call, old: Call) -> bool:
    return (new.tool, new.args, new.result, new.error) == (
        old.tool,
        dict(old.args),
        old.result,
        old.error,
    )


def _calls_before(trace: Trace, place: int) -> int:
    return sum(isinstance(event, Call) for event in trace.events[:place])


def _reduced(edits: tuple[Edit, ...], suits: Callable[[Sequence[Edit]], bool]) -> tuple[Edit, ...]:
    """The edits that are needed, and no more of each than is needed."""
    shrinking = True
    while shrinking:
        shrinking = False
        for fewer in _fewer(edits):
            if suits(fewer):
                edits, shrinking = fewer, True
                break
    return edits


def _fewer(edits: tuple[Edit, ...]) -> Iterator[tuple[Edit, ...]]:
    for i in range(len(edits)):
        yield (*edits[:i], *edits[i + 1 :])
    for i, edit in enumerate(edits):
        if edit.kind == "delete" or edit.call.tool == FINAL_ANSWER:
            continue
        for call in _plainer(edit):
            yield (*edits[:i], replace(edit, call=call), *edits[i + 1 :])


def _plainer(edit: Edit) -> Iterator[Call]:
    """The new call with less that is invented: reduced, or more like the one it replaces."""
    new, old = edit.call, edit.original
    if edit.kind == "insert" or old is None:
        yield from (call for call in smaller_events(new) if isinstance(call, Call))
        return
    for key in dict.fromkeys([*new.args, *old.args]):
        args = dict(new.args)
        if key in old.args:
            args[key] = old.args[key]
        else:
            del args[key]
        if args != new.args:
            yield replace(new, args=args)
