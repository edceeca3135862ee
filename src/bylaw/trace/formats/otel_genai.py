"""OpenTelemetry spans of GenAI operations, as OTLP JSON: an object with `resourceSpans`.

    {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "…", "spanId": "…",
      "name": "execute_tool refund", "startTimeUnixNano": "1700000000000000000",
      "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
                     {"key": "gen_ai.tool.name", "value": {"stringValue": "refund"}}],
      "status": {"code": 2, "message": "not allowed"}}]}]}]}

- A span of the operation `execute_tool` is a call, wherever it stands in the tree. It has failed if
  its status is an error. Arguments and results are there if they were recorded.
- A span of the operation `chat` (or the like) is a turn. A call belongs to the last turn of its
  agent, the nearest `invoke_agent` around it, that began before the call; turns come in the order
  in which they began. A call that follows no turn is a step of its own.
- Where messages were recorded, a turn has its text, and the calls that the model asked for and no
  span tells of. A chat repeats what was said before it, so only what is new is read. Agents that
  run inside a tool have calls, but the words they exchange are no part of the conversation.

One trace id is one run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from bylaw.trace.event import MISSING, Call, Role
from bylaw.trace.formats.conversation import CallFields, Conversation, Reading
from bylaw.trace.formats.fields import answered, scalars
from bylaw.trace.formats.otlp import OPERATION, Span, spans_of
from bylaw.values import Json

_ASKED: Final = CallFields(("name",), ("arguments",))
_RAN: Final = CallFields(
    ("gen_ai.tool.name",), ("gen_ai.tool.call.arguments",), "gen_ai.tool.call.id"
)
_TOOL: Final = "execute_tool"
_AGENT: Final = "invoke_agent"
_TURNS: Final = ("chat", "generate_content", "text_completion")
_SPEAKERS: Final[Mapping[str, Role]] = {"system": "system", "developer": "system", "user": "user"}
_LABELS: Final = {
    "gen_ai.conversation.id": "conversation_id",
    "gen_ai.agent.name": "agent",
    "gen_ai.request.model": "model",
}


class _Run(Conversation):
    """The spans of one trace."""

    def __init__(self, spans: Sequence[Span]) -> None:
        super().__init__(_RAN)
        self.spans = spans
        self.by_id = {span.id: span for span in spans if span.id}
        self.heard: Counter[tuple[Role, str]] = Counter()  # what was said so far, and how often
        self.returns: Counter[str] = Counter()  # how many results each agent was told so far

    def around(self, span: Span) -> Iterable[Span]:
        """The spans around a span, the nearest first."""
        seen = {span.id}
        while (outer := self.by_id.get(span.parent)) is not None and outer.id not in seen:
            seen.add(outer.id)
            yield outer
            span = outer

    def agent(self, span: Span) -> str:
        """The id of the agent's span around a span."""
        return next((outer.id for outer in self.around(span) if _does(outer) == _AGENT), "")

    def run(self) -> None:
        """Takes in all turns; raises what is wrong with them."""
        turns: list[tuple[Span, list[Span]]] = []  # each with the calls made in it
        latest: dict[str, int] = {}
        following: dict[int, Span] = {}  # the next chat of the same agent
        for span in self.spans:
            agent = self.agent(span)
            if _does(span) in _TURNS:
                if agent in latest:
                    following[latest[agent]] = span
                latest[agent] = len(turns)
                turns.append((span, []))
            elif _does(span) == _TOOL and agent in latest:
                turns[latest[agent]][1].append(span)
            elif _does(span) == _TOOL:
                turns.append((span, [span]))
        for number, (first, ran) in enumerate(turns):
            self.take_turn(first, ran, following.get(number))
        self.end()

    def take_turn(self, first: Span, ran: list[Span], following: Span | None) -> None:
        """What was said to the model, what it said, and the calls it made."""
        calls = [self.ran(span) for span in ran]
        text = ""
        if _does(first) in _TURNS:
            self.responses(first)  # those of earlier turns, of which there may be no spans
            output = _messages(first, "gen_ai.output.messages")
            asked = [self.call(part, first.where, _ASKED) for part in _parts(output, "tool_call")]
            calls = _merged(_with_responses(asked, self.responses(following)), calls)
            if not any(_does(outer) == _TOOL for outer in self.around(first)):
                self.hear(first)
                text = "\n".join(map(_text, output))
        self.turn(text, calls)

    def ran(self, span: Span) -> Call:
        """The call that a span tells of."""
        call = self.call(span.attributes, f"{span.where}.attributes")
        outer = self.by_id.get(self.agent(span))
        agent = outer.attributes.get("gen_ai.agent.name") if outer else None
        if isinstance(agent, str):
            call = replace(call, agent=agent)
        found = {"content": span.attributes.get("gen_ai.tool.call.result", MISSING)}
        if span.error is not None:
            result = {} if found["content"] is MISSING else found
            return answered(call, {**result, "error": span.error or True})
        return call if found["content"] is MISSING else answered(call, found)

    def hear(self, chat: Span) -> None:
        """What the system and the user said that no chat was told before, or not so often."""
        system = _as_parts(chat.structured("gen_ai.system_instructions"))
        told: list[tuple[Role, str]] = [("system", _text({"parts": system}))] if system else []
        for message in _messages(chat, "gen_ai.input.messages"):
            role = message.get("role")
            if isinstance(role, str) and role in _SPEAKERS:
                told.append((_SPEAKERS[role], _text(message)))
        times: Counter[tuple[Role, str]] = Counter()
        for role, text in told:
            times[role, text] += 1
            if times[role, text] > self.heard[role, text]:
                self.heard[role, text] += 1
                self.said(role, text)

    def responses(self, chat: Span | None) -> list[Mapping[str, Any]]:
        """What calls returned since the last chat of this agent."""
        if chat is None:
            return []
        found = _parts(_messages(chat, "gen_ai.input.messages"), "tool_call_response")
        agent = self.agent(chat)
        before = self.returns[agent]
        self.returns[agent] = max(before, len(found))
        return found[before:]


def _does(span: Span) -> Json:
    return span.attributes.get(OPERATION)


def _merged(asked: list[Call], ran: list[Call]) -> list[Call]:
    """The calls a model asked for, with what their spans tell; then those only spans tell of."""
    left = list(ran)
    merged = []
    for call in asked:
        same = [other for other in left if other.tool == call.tool]
        span = next((other for other in same if other.id == call.id), same[0] if same else None)
        if span is not None:
            left.remove(span)
            told = span.result is not MISSING or span.failed
            call = replace(
                span,
                args=span.args or call.args,
                id=span.id or call.id,
                result=span.result if told else call.result,
            )
        merged.append(call)
    return merged + left


def _with_responses(calls: list[Call], responses: list[Mapping[str, Any]]) -> list[Call]:
    """The calls with what the next chat was told of them: by id where ids tell, or in order."""
    by_id = {part.get("id"): part for part in responses if isinstance(part.get("id"), str)}
    if len(by_id) == len(responses) and len({call.id for call in calls}) == len(calls):
        found = [by_id.get(call.id) for call in calls]
    else:
        found = [*responses, *[None] * len(calls)][: len(calls)]
    return [
        call if part is None else replace(call, result=part.get("response", part.get("result")))
        for call, part in zip(calls, found, strict=True)
    ]


def _messages(span: Span, name: str) -> list[Mapping[str, Any]]:
    listed = span.structured(name)
    return [m for m in listed if isinstance(m, Mapping)] if isinstance(listed, list) else []


def _parts(messages: Iterable[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    found = [part for message in messages for part in _as_parts(message.get("parts"))]
    return [part for part in found if part.get("type") == kind]


def _as_parts(value: Json) -> list[Mapping[str, Any]]:
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []


def _text(message: Mapping[str, Any]) -> str:
    texts = [part.get("content") for part in _parts([message], "text")]
    return "\n".join(text for text in texts if isinstance(text, str))


def detects(value: object) -> bool:
    """Is this an object with `resourceSpans`?"""
    return isinstance(value, Mapping) and "resourceSpans" in value


def read(value: Any, name: str | None = None) -> Reading:
    """The trace of the spans, those of GenAI having one trace id."""
    problems = Conversation(_RAN)
    spans = spans_of(value, problems.complain)
    ids = {span.trace for span in spans if OPERATION in span.attributes}
    spans = [span for span in spans if span.trace in ids]
    if len(ids) > 1:
        problems.complain("resourceSpans", f"the spans of {len(ids)} traces, not of one")
    elif not problems.problems and not ids:
        problems.complain("resourceSpans", f"no span has the attribute {OPERATION}")
    problems.end()
    run = _Run(spans)
    run.run()
    labels: dict[str, Json] = {"trace_id": spans[0].trace}
    for span in spans:
        found = scalars(span.attributes, _LABELS)
        labels = {_LABELS[key]: text for key, text in found.items()} | labels
    return run.reading(name, labels, {})
