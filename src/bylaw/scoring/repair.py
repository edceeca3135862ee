"""The cheapest edits of a trace after which its rules hold.

A call can be inserted or deleted (cost 1), or replaced: by a call of the same tool (0.5) or of
another (1). What tools returned is left alone unless `edit_results` is true, because no agent can
change it: a call that is replaced by one of the same tool keeps its result and its error.

A shortest-path search over places in the trace and states of the rules' machines finds the edits;
among equally cheap ones the plainest are preferred, then the latest. Rules without machines are
searched, and the edits found for them may not be the cheapest. Every repair is checked by the
reference semantics before it is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bylaw.errors import SpecError
from bylaw.logic.terms import tool_of
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.scoring.edit_places import among_messages, before_text
from bylaw.scoring.edits import PLACEHOLDER, Edit, Repair, answer_call
from bylaw.scoring.repair_by_search import searched_repair
from bylaw.scoring.repair_search import Change, CostEstimate, EditSpace, Exhausted
from bylaw.semantics.evaluation import holds
from bylaw.semantics.examples.shortest import calls_functions
from bylaw.semantics.machine.alphabet import Alphabet
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.machine import Machine
from bylaw.semantics.machine.residual import TooLarge
from bylaw.trace.event import Call, Event
from bylaw.trace.trace import Trace
from bylaw.values import Json
from bylaw.vocabulary.patterns import names_of
from bylaw.vocabulary.predicate import Probe

MAX_MOVES: Final = 400_000
"""The number of machine moves in an exact search; with more, the cost is an upper bound."""


def repair(
    trace: Trace, procedure: Procedure, name: str, *, edit_results: bool = False
) -> Repair | None:
    """The cheapest edits after which a constraint holds.

    None if there are none, if no search found any within its budget, or if the rule calls a
    registered function and does not hold.
    """
    return _repaired(trace, procedure, [procedure[name]], edit_results)


def repair_procedure(
    trace: Trace, procedure: Procedure, *, edit_results: bool = False
) -> Repair | None:
    """The cheapest edits after which every constraint holds; None as for `repair`."""
    return _repaired(trace, procedure, procedure.run_constraints, edit_results)


def _repaired(
    trace: Trace, procedure: Procedure, rules: Sequence[Constraint], edit_results: bool
) -> Repair | None:
    order, vocabulary = procedure.order, procedure.vocabulary
    trace = procedure.marked(trace)

    def satisfied(rule: Constraint, subject: Trace) -> bool:
        events, marked = procedure.events_of(rule), procedure.marked(subject)
        try:
            return holds(rule.formula, marked, order=order, events=events, vocabulary=vocabulary)
        except SpecError:
            return False

    machines: list[Machine] = []
    followed = True
    for rule in rules:
        try:
            if procedure.events_of(rule) != procedure.events:
                raise Unsupported("it sees different events from the others")
            machines.append(Machine(rule.formula, order, procedure.events, vocabulary))
        except Unsupported:
            followed = followed and satisfied(rule, trace)
    found = _search(trace, procedure, machines, edit_results) if followed and machines else None
    if found is not None and all(satisfied(rule, found.apply(trace)) for rule in rules):
        return found
    if all(satisfied(rule, trace) for rule in rules):
        return Repair(())
    if len(machines) == len(rules) or any(calls_functions(rule.formula) for rule in rules):
        return None  # there is no repair, or finding one would take calls of registered functions
    return searched_repair(trace, procedure, rules, edit_results=edit_results)


def _search(
    trace: Trace, procedure: Procedure, machines: Sequence[Machine], edit_results: bool
) -> Repair | None:
    alphabet = _alphabet(trace, procedure, machines)
    order, events, vocabulary = procedure.order, procedure.events, procedure.vocabulary
    machines = [Machine(m.formula, order, events, vocabulary, alphabet) for m in machines]
    seen = trace.seen(events)

    def space(machines: Sequence[Machine], moves: int) -> EditSpace:
        return EditSpace(trace, seen, alphabet, machines, moves, edit_results=edit_results)

    alone = [space([machine], MAX_MOVES // len(machines)) for machine in machines]
    estimate = CostEstimate(
        machines, [each.distances() if len(alone) > 1 else None for each in alone]
    )
    for exact, guess in ((True, estimate.at_least), (False, estimate.roughly)):
        try:
            path = space(machines, MAX_MOVES).cheapest(guess)
        except (Exhausted, TooLarge):
            continue
        if path is None:
            return None
        return Repair(_edits(trace, seen, alphabet, path), exact and alphabet.complete)
    return None


def _alphabet(trace: Trace, procedure: Procedure, machines: Sequence[Machine]) -> Alphabet:
    """The alphabet of all rules, with all their tools: replacing within a tool is cheaper."""
    probes = [probe for machine in machines for probe in machine.alphabet.probes]
    tools = {name for p in probes if p.tool is not None for name in names_of(p.tool)}
    if any(probe.tool is None and probe.patterns for probe in probes):
        tools |= {call.tool for call in trace.calls}
    return Alphabet(
        [*probes, *(Probe(tool_of(name)) for name in sorted(tools - {FINAL_ANSWER}))],
        answer=any(machine.sees_answer for machine in machines),
        vocabulary=procedure.vocabulary,
    )


def _edits(
    trace: Trace, seen: Sequence[Event], alphabet: Alphabet, path: Sequence[Change]
) -> tuple[Edit, ...]:
    places = [
        i for i, e in enumerate(trace.events) if len(seen) > len(trace) or isinstance(e, Call)
    ]
    edits = []
    for kind, at, call in path:
        index = sum(isinstance(event, Call) for event in seen[:at])
        original = next((event for event in seen[at:] if isinstance(event, Call)), None)
        place = places[at] if at < len(places) else len(trace.events)
        if call.tool == FINAL_ANSWER:
            edits.append(Edit(kind, index, call, answer_call(trace.answer or "")))
            continue
        if kind == "replace" and original is not None:
            call = _like(original, call, alphabet)
        if kind == "insert" and len(seen) == len(trace):
            place = before_text(trace, place)
        among = among_messages(seen, at, index) if kind == "insert" else None
        edits.append(Edit(kind, index, call, original, place, among))
    return tuple(edits)


def _like(old: Call, new: Call, alphabet: Alphabet) -> Call:
    """The new call, as similar to the old one as the rules permit."""
    if old.tool != new.tool:
        return new
    letter = alphabet.letter(new)

    def fits(args: dict[str, Json], outcome: Call) -> bool:
        return alphabet.letter(Call(old.tool, args, outcome.result, error=outcome.error)) == letter

    args = dict(new.args)
    outcome = old if fits(args, old) else new
    for key, value in old.args.items():
        if fits(args | {key: value}, outcome):
            args[key] = value
        elif key not in args and fits(args | {key: PLACEHOLDER}, outcome):
            args[key] = PLACEHOLDER
    ordered = {key: args[key] for key in (*old.args, *args) if key in args}
    if outcome is new and fits(ordered, old):
        outcome = old
    return Call(old.tool, ordered, outcome.result, error=outcome.error, agent=old.agent)
