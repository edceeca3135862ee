"""One run's entries in an audit log: what each says, and when it is on disk.

A decision is on disk before it is returned. Messages, results and approvals are in the file at
once, and on disk with the next decision at the latest. The arguments in a decision's entry are
those that the tool is handed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bylaw.enforcement.decision import Decision, Hints
from bylaw.enforcement.severity import Setting
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING, Call, Message
from bylaw.trace.refusal_mark import unmarked
from bylaw.values import Json, canonical

if TYPE_CHECKING:
    from bylaw.audit.log import AuditLog


class RunLog:
    """The entries of one run. The first of them says under which procedure it runs."""

    def __init__(
        self,
        log: AuditLog,
        run: str,
        procedure: Procedure,
        setting: Setting,
        hints: Hints,
        metrics: Mapping[str, Json],
        labels: Mapping[str, Json],
    ) -> None:
        self.log: Final = log
        self._run = run
        self._start: dict[str, Json] | None = {
            "kind": "start",
            "procedure": procedure.name,
            "procedure_hash": procedure.derived(procedure_hash),
            "setting": setting,
            "hints": hints,
            "metrics": dict(metrics),
            "labels": dict(labels),
        }

    def resume(self, run: str, mark: Mapping[str, Json]) -> None:
        """The run is one that was saved, with this extent of its record."""
        self._run = run
        if self._start is not None:
            self._start |= {"kind": "resume", "from": dict(mark)}

    def append(self, entries: Sequence[Mapping[str, Json]], *, sync: bool) -> None:
        """Adds entries. Raises a LogError if they cannot be written."""
        self.log.append(self._of_run(entries), sync=sync)
        self._start = None

    def queue(self, entries: Sequence[Mapping[str, Json]]) -> int:
        """Queues entries, for `commit` of the log. Raises a LogError if it is not usable."""
        number = self.log.queue(self._of_run(entries))
        self._start = None
        return number

    def _of_run(self, entries: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
        begun = entries if self._start is None else [self._start, *entries]
        return [{"run": self._run, **entry} for entry in begun]


def procedure_hash(procedure: Procedure) -> str:
    """The hash by which a log names a procedure: of its canonical JSON."""
    import hashlib  # slow to import, and most runs keep no log

    return hashlib.sha256(canonical(procedure.to_dict()).encode()).hexdigest()


def decision_entry(decision: Decision, certificates: Sequence[Json]) -> dict[str, Json]:
    """The entry of a decision. It distinguishes a person's approval from the agent's insistence."""
    call = decision.call
    named = {"id": call.id, "agent": call.agent, "start": call.start}
    named["problem"] = decision.problem or None
    refused = {} if decision.allowed else {"message": unmarked(decision.message)}
    return {
        "kind": "decision",
        "turn": decision.turn,
        "index": decision.index,
        "step": call.step,
        "tool": call.tool,
        "arguments": dict(call.args),
        **{name: value for name, value in named.items() if value is not None},
        "action": decision.action,
        **refused,
        "violations": [violation.to_dict() for violation in decision.violations],
        "insisted": [name for name in decision.overridden if name not in decision.approved],
        "approved": list(decision.approved),
        "decided": decision.decided,
        **({"certificates": list(certificates)} if certificates else {}),
    }


def result_entry(decision: Decision, call: Call) -> dict[str, Json]:
    """The entry of a result."""
    returned = {} if call.result is MISSING else {"result": call.result}
    told = {"error": call.error, "end": call.end, "usage": call.usage}
    known = {name: value for name, value in told.items() if value is not None}
    place = {"turn": decision.turn, "index": decision.index}
    return {"kind": "result", **place, **returned, **known}


def message_entry(message: Message) -> dict[str, Json]:
    """The entry of a message."""
    said = {"role": message.role, "text": message.text, "step": message.step}
    told = {"start": message.start, "agent": message.agent, "usage": message.usage}
    known = {name: value for name, value in told.items() if value is not None}
    return {"kind": "message", **said, **known}
