"""Saving a run as JSON, and resuming it in another process.

A saved run is sealed: with a key by an HMAC, which only who has the key can make; without one by a
plain hash, which finds damage but not forgery. A state is rebuilt, its seal and every part of it
are checked, and a new run is made of it before the guard takes that run over. What was restored
must save as exactly the same state again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, get_args

from bylaw.enforcement.decision import Decision, Violation, ViolationKind
from bylaw.enforcement.run import AcceptedAnswer, Run
from bylaw.enforcement.seal import check_key, check_seal, seal
from bylaw.enforcement.turn import LatestTurn, handed_out
from bylaw.errors import Diagnostic, UsageError
from bylaw.names import FINAL_ANSWER
from bylaw.plain import NotJson, rebuilt
from bylaw.saved import (
    Damaged,
    choice,
    fields,
    flag,
    listed,
    number,
    optional_text,
    places,
    table,
    text,
    whole,
)
from bylaw.semantics.past.records import event_of, event_record
from bylaw.trace.event import Call
from bylaw.trace.refusal_mark import RUN_ID, decision_id
from bylaw.values import MAX_DEPTH, Json, canonical

SAVED: Final = 3
"""The version of saved runs."""
MAX_PARTS: Final = 1_000_000_000
"""The most parts of a saved state. A run may remember many values."""

_PARTS: Final = (
    *("id", "now", "turn", "speaking", "stopped", "finished", "answer", "warned", "approved"),
    *("latest", "escalation", "recent", "journal", "kept", "issued", "rules"),
)
_INTERRUPTED: Final = ("id", "turn", "finished", "journal", "kept", "inside")
"""The parts of a run that was interrupted; see `atomic`. Its rules are not worth saving."""
_CHANGES: Final = (
    *("propose", "record", "say", "approve", "deny", "withdraw"),
    *("tick", "finish", "save"),
)


def save_run(run: Run, key: bytes | None) -> dict[str, Json]:
    """The state of a run as JSON, sealed. It shares nothing with the run."""
    check_key(key)
    content = _content(run)
    return {**json.loads(content), "seal": seal(content, key)}


def _content(run: Run) -> str:
    """The canonical text of the state of a run."""
    return canonical({"bylaw": SAVED, "procedure": _fingerprint(run), **_state_of(run)})


def _state_of(run: Run) -> dict[str, Json]:
    if run.inside is not None:
        ended: dict[str, Json] = {"turn": run.turn, "finished": run.finished, "inside": run.inside}
        return {"id": run.id, **ended, "journal": run.journal.save(), "kept": run.kept.save()}
    run.inside = "save"  # engines undo pending events while they are saved
    return {
        "id": run.id,
        "now": run.now,
        "turn": run.turn,
        "speaking": run.speaking,
        "stopped": run.stopped,
        "finished": run.finished,
        "answer": None if run.answer is None else _answer_to_json(run.answer),
        "warned": _rules_to_json(run.warned),
        "approved": _rules_to_json(run.approved),
        "latest": None if run.latest is None else _latest_to_json(run, run.latest),
        "escalation": run.escalation.save(),
        "recent": run.recent.save(),
        "journal": run.journal.save(),
        "kept": run.kept.save(),
        "issued": _issued_to_json(run),
        "rules": run.judge.save(),
    }


def restore_run(run: Run, saved: object, key: bytes | None) -> None:
    """Puts a new run into a saved state of the same procedure, setting, metrics and labels.

    If anything is wrong with the state, a UsageError is raised, and the run must be given up.
    """
    check_key(key)
    try:
        state = rebuilt(saved, max_parts=MAX_PARTS, max_depth=2 * MAX_DEPTH)
    except NotJson as error:
        raise _damaged(f"it is not JSON: {error}") from None
    if type(state) is not dict or state.get("bylaw") != SAVED:
        raise _damaged("it is not one, or of another version")
    if state.get("procedure") != _fingerprint(run):
        message = "the saved run is of another procedure, setting, or set of metrics or labels"
        help = "Restore it with what it was saved with: also with a clock, or with none."
        raise UsageError(Diagnostic("E417", message, help))
    content = canonical({k: v for k, v in state.items() if k != "seal"})
    if reason := check_seal(state.get("seal"), content, key):
        raise _damaged(reason)
    try:
        _restore(run, state)
        again = _content(run)
    except (UsageError, Damaged) as error:
        raise _damaged(str(error)) from None
    except Exception as error:  # a part that no check knows how to describe
        raise _damaged(f"{type(error).__name__}: {error}") from None
    run.inside = state.get("inside")
    if again != content:
        raise _damaged("its parts contradict each other")
    run.journal.resume_log(run.id, run.kept.mark())


def _restore(run: Run, state: dict[str, Json]) -> None:
    common = ("bylaw", "procedure", "seal")
    run.id = text(state.get("id"))
    if not RUN_ID.fullmatch(run.id):
        raise Damaged("its id is not one")
    if "inside" in state:
        fields(state, *common, *_INTERRUPTED)
        run.turn, run.finished = whole(state["turn"]), flag(state["finished"])
        run.journal.restore(state["journal"])
        run.kept.restore(state["kept"])
        run.inside = choice(state["inside"], _CHANGES)
        return
    fields(state, *common, *_PARTS)
    run.turn, run.speaking = whole(state["turn"]), flag(state["speaking"])
    run.now = None if state["now"] is None else number(state["now"])
    run.stopped, run.finished = flag(state["stopped"]), flag(state["finished"])
    run.recent.restore(state["recent"])
    run.journal.restore(state["journal"])
    run.kept.restore(state["kept"])
    run.answer = None if state["answer"] is None else _answer_of(run, state["answer"])
    run.judge.restore(state["rules"])
    run.escalation.restore(state["escalation"])
    rules = len(run.procedure.constraints)
    run.warned = _rules_of(state["warned"], rules)
    run.approved = _rules_of(state["approved"], rules)
    run.latest = None if state["latest"] is None else _latest_of(run, state["latest"])
    _restore_issued(run, state["issued"])
    if run.answer is not None and not run.finished:
        raise Damaged("there is an answer, but the run has not finished")
    if run.turn < max(run.kept.latest_step, run.judge.monitors.next_step - 1):
        raise Damaged("its turn is earlier than its latest event")


# ── checks ───────────────────────────────────────────────────────────────────────────────────


def _damaged(reason: str) -> UsageError:
    help = "Restore what `save` returned, unchanged, with the key that it was given."
    return UsageError(Diagnostic("E417", f"the saved run cannot be restored: {reason}", help))


def _fingerprint(run: Run) -> str:
    """A hash of what both runs must have in common: the rules, the severities, what is known."""
    import hashlib

    severities: Json = list(run.judge.severities)
    known = [run.judge.metrics, run.judge.labels, run.has_clock]
    common = [run.procedure.to_dict(), run.setting, severities, *known]
    return hashlib.sha256(canonical(common).encode()).hexdigest()


# ── parts of a run ───────────────────────────────────────────────────────────────────────────


def _answer_to_json(answer: AcceptedAnswer) -> Json:
    since = [[position, event_record(event)] for position, event in answer.since]
    before = {"rules": answer.rules, "escalation": answer.escalation}
    noted = sorted(list(each) for each in answer.noted)
    return {**before, "position": answer.position, "since": since, "noted": noted}


def _answer_of(run: Run, saved: Json) -> AcceptedAnswer:
    rules, escalation, position, since, noted = fields(
        saved, "rules", "escalation", "position", "since", "noted"
    )
    run.judge.restore(rules)  # on trial: the state that `withdraw` would return to
    run.escalation.restore(escalation)
    if canonical([run.judge.save(), run.escalation.save()]) != canonical([rules, escalation]):
        raise Damaged("the state before the answer contradicts itself")
    events = [listed(each, 2) for each in listed(since)]
    known = [(None if at is None else whole(at), event_of(event)) for at, event in events]
    size = len(run.procedure.constraints)
    pairs = [listed(each, 2) for each in listed(noted)]
    losses = {(whole(n, 0, len(known) - 1), whole(i, 0, size - 1)) for n, i in pairs}
    return AcceptedAnswer(rules, escalation, whole(position), known, losses)


def _latest_to_json(run: Run, latest: LatestTurn) -> Json:
    resolved = {id(event) for event in latest.resolved}
    return {
        "size": latest.size,
        "warned": _rules_to_json(latest.warned),
        "resolved": [n for n, event in enumerate(run.journal.events) if id(event) in resolved],
    }


def _latest_of(run: Run, saved: Json) -> LatestTurn:
    size, warned, resolved = fields(saved, "size", "warned", "resolved")
    if run.turn == 0 or run.speaking:
        raise Damaged("its latest turn is not the latest")
    events = run.journal.events
    return LatestTurn(
        run.turn - 1,
        whole(size),
        _rules_of(warned, len(run.procedure.constraints)),
        [events[n] for n in places(resolved, len(events))],
    )


def _rules_to_json(calls: Mapping[str, set[int]]) -> Json:
    return [[call, sorted(rules)] for call, rules in calls.items()]


def _rules_of(saved: Json, size: int) -> dict[str, set[int]]:
    pairs = [listed(each, 2) for each in listed(saved)]
    return {text(call): set(places(rules, size)) for call, rules in pairs}


def _issued_to_json(run: Run) -> Json:
    return [
        {
            "call": [call.tool, call.args, decision.call.step, call.id, call.start, call.agent],
            "decision": [decision.action, decision.turn, decision.index, decision.position],
            "violations": [[v.constraint.name, v.kind, v.reason] for v in decision.violations],
            "message": decision.message,
            "named": list(decision.named),
        }
        for decision, call in run.issued.waiting()
        if call.tool != FINAL_ANSWER or decision.action == "ask"
    ]


def _restore_issued(run: Run, saved: Json) -> None:
    for entry in listed(saved):
        parts = fields(entry, "call", "decision", "violations", "message", "named")
        tool, arguments, step, id, start, agent = listed(parts[0], 6)
        action, turn, index, position = listed(parts[1], 4)
        call = Call(
            text(tool),
            table(arguments),
            step=whole(step),
            id=optional_text(id),
            start=None if start is None else number(start),
            agent=optional_text(agent),
        )
        decision = Decision(
            handed_out(call),
            choice(action, ("allow", "ask")),
            whole(turn),
            whole(index),
            tuple(_violation_of(run, each) for each in listed(parts[2])),
            message=text(parts[3]),
            named=tuple(map(text, listed(parts[4]))),
            position=None if action == "ask" else whole(position, 0, run.judge.monitors.length - 1),
            id=decision_id(run.id, turn, index),
        )
        run.issued.add(decision, call)


def _violation_of(run: Run, saved: Json) -> Violation:
    name, kind, reason = listed(saved, 3)
    names = [constraint.name for constraint in run.procedure.constraints]
    index = names.index(choice(name, names))
    return run.judge.violation(index, choice(kind, get_args(ViolationKind)), text(reason))
