r"""The mark of a gate's refusal: a reader of a transcript recognises it.

    refund: Not executed.
    Rule verify-first: this call would break it for good.
    [bylaw:block:5f0c2a9b1d3e.4.0:0f6d1c2b3a495867]

The mark is the last line: the action, the decision's id (run, turn, place in the turn), and a
digest of them and of the text above. A call was refused if its whole result, or its whole error,
is such a text about its tool. The text may be wrapped as frameworks wrap what a tool raises, or
stand in the mapping of `ConstraintViolationError.to_dict()`. A result that only contains a refusal
is an ordinary result, and so is the second result with the same id: it quotes the first. After a
refusal that ends the run, the calls of the same turn that have no result did not run either.

Where an answer is a message, so is its refusal: a message of the user that is the refusal of an
answer, after the answer. A message of the assistant that ends the run is the gate's own.

The digest has no key. It shows that a text is complete and unchanged, not who wrote it: a tool
that sets out to imitate a refusal can. Only the gate's log tells, and `checked_against` asks it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from bylaw.errors import clipped
from bylaw.frozen import replace
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Event, Message
from bylaw.trace.refusal import OPENING, REFUSAL_ACTIONS, Refusal
from bylaw.values import Json, JsonError, read_json

MARK: Final = "[bylaw:"
"""The beginning of every mark."""
RUN_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The form of a run's id."""
MAX_NAME: Final = 60
"""The length of a tool's name in a refusal, in characters."""
OBSERVATION: Final = ("error", "violation_type", "tool", "constraints", "message")
"""The fields of a refusal as a mapping."""
ERROR_NAME: Final = "ConstraintViolationError"
"""The exception that carries a refusal, and the `error` of the mapping."""

_DIGITS: Final = 16
_MARKED: Final = (
    rf"(?s)(?P<text>.*)\n\[bylaw:(?P<action>{'|'.join(REFUSAL_ACTIONS)})"
    rf":(?P<id>{RUN_ID.pattern}\.\d+\.\d+):(?P<digest>[0-9a-f]{{{_DIGITS}}})\]"
)
_BEFORE: Final = (
    r"(?:Error: )?(?:ConstraintViolationError: )?",
    r"Error executing tool [^\n:]+: (?:ConstraintViolationError: )?",  # MCP
    r"Error executing tool '[^\n']+' with kwargs .*? with error:\n ",  # LangGraph
    r"Error executing tool '[^\n']+' with arguments .*?: ConstraintViolationError: ",  # smolagents
    r"An error occurred while running the tool\. Please try again\. Error: ",  # OpenAI Agents
)
_AFTER: Final = (
    "\n Please fix your mistakes.",
    "\n Please fix the error and try again.",
    "\nPlease try again or use another tool",
)
"""The text that frameworks add to the message of an exception that a tool raises."""
_AS_CODE: Final = rf"{ERROR_NAME}\((?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\)"
_LONGEST: Final = 1 << 16
"""The longest result that can be a refusal, in characters."""


def decision_id(run: str, turn: int, index: int) -> str:
    """The id of a decision: the run, the turn, and the place of the call in the turn."""
    return f"{run}.{turn}.{index}"


def marked(message: str, action: str, decision: str) -> str:
    """The text of a refusal, with its mark."""
    return f"{message}\n{MARK}{action}:{decision}:{_digest(message, action, decision)}]"


def unmarked(message: str) -> str:
    """The text of a refusal without its mark."""
    return message.rpartition(f"\n{MARK}")[0] or message


def refusal_of(call: Call) -> Refusal | None:
    """The refusal that stands in place of a call's result or error, if one does."""
    given = [call.error, None if call.result is MISSING else call.result]
    found = [value for value in given if value not in (None, "")]
    if len(found) == 2 and found[0] == found[1]:
        found.pop()
    if len(found) != 1:
        return None
    for text in _texts(found[0]):
        for tool in _names(call.tool):
            if refusal := _read(text, tool, call):
                return refusal
    return None


def set_aside(events: Iterable[Event]) -> tuple[list[Event], list[Refusal]]:
    """The events that happened, and the calls among them that a gate refused."""
    kept: list[Event] = []
    refusals: list[Refusal] = []
    seen: set[str | None] = set()
    for event in events:
        if isinstance(event, Call):
            refusal = _refused_after(refusals, event)
        elif (refusal := _said_by_gate(event)) is not None:
            if refusal.decision in seen or not _answers(kept):
                continue  # it repeats what stands in place of a result
            refusal = replace(refusal, call=_answer_call(kept.pop()))
        if refusal is None or (refusal.decision is not None and refusal.decision in seen):
            kept.append(event)
        else:
            seen.add(refusal.decision)
            refusals.append(replace(refusal, events_before=len(kept)))
    return kept, refusals


def ends_the_run(text: str) -> bool:
    """Is this the text with which a gate ends a run, in place of an answer?"""
    return _said_by_gate(Message("assistant", text)) is not None


def _said_by_gate(message: Message) -> Refusal | None:
    """The refusal that a message is: of an answer, or at the end of the run."""
    if MARK not in message.text:
        return None
    tool = message.text.partition(OPENING)[0]
    refusal = refusal_of(Call(tool, result=message.text))
    match message.role, refusal:
        case "user", Refusal() if tool == FINAL_ANSWER:
            return refusal
        case "assistant", Refusal(action="stop"):
            return refusal
    return None


def _answers(events: list[Event]) -> bool:
    last = events[-1] if events else None
    return isinstance(last, Message) and last.role == "assistant"


def _answer_call(message: Event) -> Call:
    """The answer that a message of the assistant was."""
    assert isinstance(message, Message), "an answer that is not a call"
    return Call(FINAL_ANSWER, {"answer": message.text}, step=message.step)


def _refused_after(earlier: list[Refusal], call: Call) -> Refusal | None:
    last = earlier[-1] if earlier else None
    silent = call.result is MISSING and call.error is None
    if silent and last is not None and last.action == "stop" and last.call.step == call.step:
        return Refusal(call, "stop", "")
    return refusal_of(call)


def checked_against(
    events: Iterable[Event], refusals: Iterable[Refusal], confirms: Callable[[Refusal], bool]
) -> tuple[list[Event], list[Refusal]]:
    """The events and the refusals, where a refusal that is not confirmed is a call that ran."""
    kept: list[Event] = []
    confirmed: list[Refusal] = []
    left = list(events)
    taken, ended = 0, False
    for refusal in refusals:
        kept += left[taken : refusal.events_before]
        taken = refusal.events_before
        ended = confirms(refusal) if refusal.decision is not None else ended
        if ended:
            confirmed.append(replace(refusal, events_before=len(kept)))
        else:
            kept.append(refusal.call)
    return kept + left[taken:], confirmed


def refusals_at_the_start(text: str, calls: Iterable[Call]) -> tuple[dict[int, str], str]:
    """The refusals with which a text begins, by the number of their call; and the rest.

    For frameworks that put the results of a turn into one text. Each refusal ends its line.
    """
    found: dict[int, str] = {}
    left = dict(enumerate(calls))
    while (end := _end_of_refusal(text)) is not None:
        first, rest = text[:end], text[end:].removeprefix("\n")
        number = next((n for n, call in left.items() if _about(first, call)), None)
        if number is None:
            break
        del left[number]
        found[number], text = first, rest
    return found, text


def _end_of_refusal(text: str) -> int | None:
    """The end of the first line that begins like a mark."""
    start = text.find(f"\n{MARK}")
    if start < 0:
        return None
    end = text.find("\n", start + 1)
    return len(text) if end < 0 else end


def _about(text: str, call: Call) -> bool:
    return refusal_of(replace(call, result=text, error=None)) is not None


def _texts(value: Json) -> Iterator[str]:
    """The texts in a result that can be a refusal."""
    if isinstance(value, str):
        text = value.strip()
        if MARK not in text or len(text) > _LONGEST:
            return
        yield text
        if ERROR_NAME in text:
            yield re.sub(_AS_CODE, lambda found: str(_literal(found["text"])), text)
        value = _mapping(text)
    if isinstance(value, Mapping):
        if set(value) == set(OBSERVATION) and value["error"] == ERROR_NAME:
            value = value["message"]
        elif set(value) == {"error"}:
            value = value["error"]
        if isinstance(value, str) and MARK in value and len(value) <= _LONGEST:
            yield value.strip()


def _mapping(text: str) -> Json:
    """The mapping that a text holds, as JSON or as Python writes it."""
    if not text.startswith("{"):
        return None
    try:
        return read_json(text)
    except JsonError:
        pass
    try:
        return _literal(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _literal(text: str) -> Any:
    from ast import literal_eval  # slow to import

    return literal_eval(text)


def _names(tool: str) -> Iterator[str]:
    """The names that the gate may know a tool by.

    A transcript can have it with the prefix of its server (`mcp__desk__refund`), and can have
    another name for the answer (`submit`).
    """
    yield clipped(tool, MAX_NAME)
    if len(tool) > MAX_NAME:
        yield tool
    if (short := tool.rpartition("__")[2]) != tool:
        yield short
    if tool != FINAL_ANSWER:
        yield FINAL_ANSWER


def _read(text: str, tool: str, call: Call) -> Refusal | None:
    for ending in _AFTER:
        text = text.removesuffix(ending)
    opening = re.escape(f"{tool}{OPENING}")
    for before in _BEFORE:
        start = re.match(rf"(?:{before})(?={opening})", text, re.DOTALL)
        found = re.compile(_MARKED).fullmatch(text, start.end()) if start else None
        if found is None:
            continue
        message, action, decision = found["text"], found["action"], found["id"]
        if found["digest"] == _digest(message, action, decision):
            return Refusal(call, action, message, decision)  # type: ignore[arg-type]  # it is one
    return None


def _digest(message: str, action: str, decision: str) -> str:
    import hashlib  # slow to import, and many runs refuse nothing

    body = f"{action}:{decision}\n{message}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(body).hexdigest()[:_DIGITS]
