"""Texts for agents that no decision carries: an approval that is missing, the end of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bylaw.enforcement.asking import DENIED
from bylaw.enforcement.decision import Decision, refusal_message
from bylaw.names import FINAL_ANSWER
from bylaw.plain import as_json
from bylaw.trace.refusal_mark import decision_id, marked
from bylaw.values import write_json

if TYPE_CHECKING:
    from bylaw.enforcement.guard import Guard


def denied_message(guard: Guard, decision: Decision) -> str:
    """The text for an agent whose call a person did not approve."""
    broken = decision.violations
    text = refusal_message("block", decision.call.tool, broken, guard.hints, denied=DENIED)
    return marked(text, "block", decision.id)


def stop_message(guard: Guard, decisions: Sequence[Decision] = ()) -> str:
    """The last text of a run that the gate has ended; its mark shows that it is no answer."""
    for decision in decisions:
        if decision.action == "stop":
            return decision.message
    broken = [event.constraint for event in guard.events if event.action in ("stop", "lost")]
    named = broken and guard.hints != "none"
    reason = f"\nRule {broken[-1]}: the run broke it." if named else ""
    text = f"{FINAL_ANSWER}: Not executed. The run ends here.{reason}"
    return marked(text, "stop", decision_id(guard.run_id, guard.turn, 0))


def result_text(result: Any) -> str:
    """A result as the text that a model reads."""
    return result if type(result) is str else write_json(as_json(result))
