"""Saving a run as JSON, and resuming it in another process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bylaw.enforcement.run import AcceptedAnswer, Run
from bylaw.errors import Diagnostic, UsageError
from bylaw.semantics.past.memories import event_of, event_record
from bylaw.values import Json, canonical

SAVED: Final = 1
"""The version of saved runs."""


def save_run(run: Run) -> dict[str, Json]:
    """The state of a run as JSON."""
    return {
        "bylaw": SAVED,
        "procedure": _fingerprint(run),
        "turn": run.turn,
        "speaking": run.speaking,
        "stopped": run.stopped,
        "finished": run.finished,
        "answer": None if run.answer is None else _answer_to_json(run.answer),
        "warned": _rules_to_json(run.warned),
        "approved": _rules_to_json(run.approved),
        "escalation": run.escalation.save(),
        "recent": run.recent.save(),
        "journal": run.journal.save(),
        "rules": run.judge.save(),
    }


def restore_run(run: Run, saved: Mapping[str, Json]) -> None:
    """Gives a run the saved state of another one with the same procedure and setting."""
    if saved.get("bylaw") != SAVED or saved.get("procedure") != _fingerprint(run):
        message = "the saved run is of another procedure, setting or version"
        help = "Restore with the procedure file and the setting that it was saved with."
        raise UsageError(Diagnostic("E413", message, help))
    run.turn, run.speaking = saved["turn"], saved["speaking"]
    run.stopped, run.finished = saved["stopped"], saved["finished"]
    run.answer = None if saved["answer"] is None else _answer_of(saved["answer"])
    run.warned, run.approved = _rules_of(saved["warned"]), _rules_of(saved["approved"])
    run.escalation.restore(saved["escalation"])
    run.recent.restore(saved["recent"])
    run.journal.restore(saved["journal"])
    run.judge.restore(saved["rules"])


def _fingerprint(run: Run) -> str:
    """A hash of what both runs must have in common: the rules and their severities."""
    import hashlib  # slow to import, and most runs are not saved

    severities: Json = list(run.judge.severities)
    text = canonical([run.procedure.to_dict(), run.setting, severities])
    return hashlib.sha256(text.encode()).hexdigest()


def _answer_to_json(answer: AcceptedAnswer) -> Json:
    since = [[position, event_record(event)] for position, event in answer.since]
    before = {"rules": answer.rules, "escalation": answer.escalation}
    noted = sorted(list(each) for each in answer.noted)
    return {**before, "position": answer.position, "since": since, "noted": noted}


def _answer_of(saved: Json) -> AcceptedAnswer:
    since = [(position, event_of(event)) for position, event in saved["since"]]
    noted = {(number, rule) for number, rule in saved["noted"]}
    return AcceptedAnswer(saved["rules"], saved["escalation"], saved["position"], since, noted)


def _rules_to_json(calls: Mapping[str, set[int]]) -> Json:
    return [[call, sorted(rules)] for call, rules in calls.items()]


def _rules_of(saved: Json) -> dict[str, set[int]]:
    return {call: set(rules) for call, rules in saved}
