"""The operations on a run: their fields, who may use them, and what they do to the guard.

One table. The HTTP interface, its description, the documentation and the client derive from it,
and so does recovery: what is stored of an operation is its name and its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from bylaw.enforcement.validation import unusable
from bylaw.enforcement.wire import call_of, decision_to_json
from bylaw.errors import Diagnostic, UsageError, listing, shown
from bylaw.frozen import frozen
from bylaw.saved import Damaged
from bylaw.trace.event import ROLES
from bylaw.values import Json, kind_of

if TYPE_CHECKING:
    from bylaw.serve.resident_run import ResidentRun

Who: TypeAlias = Literal["agent", "person", "anyone"]
"""Those who may use an operation: whoever opened the run, a person, or both."""
MAX_CALLS: Final = 256
"""The most calls of one turn."""


@frozen
class InputField:
    """One field of an operation's input."""

    name: str
    kind: str
    """The kind of JSON value, as messages name it; "anything" for any."""
    about: str
    required: bool = False
    choices: tuple[str, ...] = ()


@frozen
class RunOperation:
    """One operation on a run."""

    name: str
    about: str
    fields: tuple[InputField, ...]
    perform: Callable[[ResidentRun, Mapping[str, Any]], dict[str, Json]]
    who: Who = "agent"
    changes: bool = True
    """Does it change the run? If so, it is stored."""
    answers: str = "the state of the run"
    """The answer, for the documentation."""


def checked_input(operation: RunOperation, given: Json) -> dict[str, Json]:
    """The fields of an operation, checked. Absent fields stay absent."""
    return checked_fields(operation.fields, operation.name, given)


def checked_fields(known: tuple[InputField, ...], name: str, given: Json) -> dict[str, Json]:
    """An object with some of these fields, and with all that are required."""
    if type(given) is not dict:
        raise unusable(f"`{name}` cannot take {kind_of(given)}", "Its input is an object.")
    fields = {field.name: field for field in known}
    for key in given:
        if key not in fields:
            help = f"Its fields are: {listing(list(fields)) or 'none'}."
            raise unusable(f"`{name}` has no field {shown(key)}", help)
    for field in known:
        if field.name in given:
            _check(name, field, given[field.name])
        elif field.required:
            raise unusable(f"`{name}` needs the field '{field.name}'", f"It is {field.about}.")
    return given


def _check(name: str, field: InputField, value: Json) -> None:
    if value is None and not field.required:
        return
    if field.kind not in ("anything", kind_of(value)):
        message = f"'{field.name}' of `{name}` cannot be {kind_of(value)}"
        raise unusable(message, f"It is {field.kind}: {field.about}.")
    if field.choices and value not in field.choices:
        message = f"'{field.name}' of `{name}` cannot be {shown(value)}"
        raise unusable(message, f"It is one of: {', '.join(field.choices)}.")


# ── what they do ─────────────────────────────────────────────────────────────────────────────


def _propose(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    try:
        calls = [call_of(each) for each in given["calls"]]
    except Damaged as error:
        help = 'A call is {"tool": "search", "arguments": {"q": "x"}}.'
        raise unusable(f"the calls cannot be read: {error}", help) from None
    if len(calls) > MAX_CALLS:
        raise unusable(f"a turn cannot have more than {MAX_CALLS} calls", "Split it.")
    decisions = live.guard.propose(calls)
    live.issue(decisions)
    return {"decisions": [decision_to_json(each) for each in decisions], **live.ended()}


def _record(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    decision = live.decision(given["decision"])
    live.guard.record(
        decision, given.get("result"), error=given.get("error"), usage=given.get("usage")
    )
    live.settle(decision)
    return live.ended()


def _abandon(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    decision = live.decision(given["decision"])
    live.guard.abandon(decision)
    live.settle(decision)
    return live.ended()


def _say(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    told = {"agent": given.get("agent"), "usage": given.get("usage")}
    live.guard.say(given["role"], given["text"], **told)
    return live.ended()


def _approve(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    decision = live.decision(given["decision"])
    live.guard.approve(decision)
    live.settle(decision, "approved")
    return live.ended()


def _deny(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    decision = live.decision(given["decision"])
    live.guard.deny(decision)
    live.settle(decision, "denied")
    return live.ended()


def _withdraw(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    live.guard.withdraw()
    return live.ended()


def _tick(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    return {"lost": [event.constraint for event in live.guard.tick()], **live.ended()}


def _finish(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    report = live.guard.finish(given.get("answer"), metrics=given.get("metrics"))
    trace = None if report.kept is None else report.kept.to_record()
    live.closing = {"report": report.to_dict(), "trace": trace}
    return {"report": live.closing["report"], **live.ended()}


def _state(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    return live.state()


def _trace(live: ResidentRun, given: Mapping[str, Any]) -> dict[str, Json]:
    if live.closing is None:
        raise UsageError(Diagnostic("E413", "the run has not finished", "Finish it first."))
    if live.closing["trace"] is None:
        message = "the trace of the run was not kept: there were too many events"
        raise UsageError(Diagnostic("E413", message, "Record long runs in an audit log."))
    return {"trace": live.closing["trace"]}


_DECISION: Final = InputField("decision", "a string", "the id of a decision", required=True)
_USAGE: Final = InputField("usage", "an object", "what it used, such as tokens")
_METRICS: Final = InputField("metrics", "an object", "metrics that are known only now")

_ALL: Final = (
    RunOperation(
        "propose",
        "Decides the calls of one model turn, in order.",
        (
            InputField(
                "calls",
                "a list",
                "the calls: each has a tool, arguments, and perhaps an id and an agent",
                required=True,
            ),
        ),
        _propose,
        answers="a decision for each call",
    ),
    RunOperation(
        "record",
        "Takes in the result of a call that was allowed, once.",
        (
            _DECISION,
            InputField("result", "anything", "the result, as JSON"),
            InputField("error", "a string", "the error, if the call failed"),
            _USAGE,
        ),
        _record,
    ),
    RunOperation(
        "abandon",
        "Gives up an allowed call whose result will not arrive: it has failed.",
        (_DECISION,),
        _abandon,
    ),
    RunOperation(
        "say",
        "Takes in a message.",
        (
            InputField("role", "a string", "the role of the speaker", required=True, choices=ROLES),
            InputField("text", "a string", "the text of the message", required=True),
            InputField("agent", "a string", "the name of the agent that speaks"),
            _USAGE,
        ),
        _say,
    ),
    RunOperation(
        "approve",
        "Approves a call that was refused with `ask`: when proposed again, it may run.",
        (_DECISION,),
        _approve,
        who="person",
    ),
    RunOperation(
        "deny",
        "Denies a call that was refused with `ask`: the refusal stands.",
        (_DECISION,),
        _deny,
        who="person",
    ),
    RunOperation(
        "withdraw",
        "Withdraws the answer that was allowed: the run continues without it.",
        (),
        _withdraw,
    ),
    RunOperation(
        "tick",
        "Lets time pass: rules whose deadlines are over are lost.",
        (),
        _tick,
        answers="the rules that were lost",
    ),
    RunOperation(
        "finish",
        "Ends the run and scores it.",
        (InputField("answer", "a string", "the answer, unless one was proposed"), _METRICS),
        _finish,
        answers="the report",
    ),
    RunOperation("state", "Describes the run.", (), _state, who="anyone", changes=False),
    RunOperation(
        "trace",
        "The trace of a run that has finished, as a record that `bylaw verify` reads.",
        (),
        _trace,
        who="anyone",
        changes=False,
        answers="the trace",
    ),
)
OPERATIONS: Final = {operation.name: operation for operation in _ALL}
"""Every operation on a run, by its name."""

OPENING: Final = (
    InputField("labels", "an object", "labels of the run, which rules may read"),
    InputField("metrics", "an object", "metrics that are known at the start"),
)
"""The fields of a new run."""
