"""OpenTelemetry spans of GenAI operations, as OTLP JSON: an object with `resourceSpans`.

    {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "…", "spanId": "…",
      "name": "execute_tool refund", "startTimeUnixNano": "1700000000000000000",
      "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
                     {"key": "gen_ai.tool.name", "value": {"stringValue": "refund"}}],
      "status": {"code": 2, "message": "not allowed"}}]}]}]}

- A span of the operation `execute_tool` is a call, anywhere in the tree. It has failed if its
  status is an error. Arguments and results are present if they were recorded.
- A span of the operation `chat`, or a similar one, is a turn. A call belongs to the last turn of
  its agent (the nearest enclosing `invoke_agent`) that began before the call. Turns are ordered by
  their start. A call that follows no turn is a step of its own.
- If messages were recorded, a turn has its text, and also the calls that the model asked for and
  that have no span. A chat repeats earlier messages, so only new ones are read. Agents that run
  inside a tool add calls, but their messages are not part of the conversation.

The spans of one trace id are one run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from bylaw.trace.event import MISSING, Call, Role
from bylaw.trace.formats.conversation import (
    SPEAKERS,
    CallFields,
    ConversationReader,
    answered,
    scalars,
)
from bylaw.trace.formats.details import NO_DETAILS, Details, with_common_names
from bylaw.trace.formats.format import Format, NotedTrace
from bylaw.trace.formats.otlp import OPERATION, OtlpSpan, spans_of, traces_of
from bylaw.values import Json

_ASKED: Final = CallFields(("name",), ("arguments",))
_RAN: Final = CallFields(
    ("gen_ai.tool.name",), ("gen_ai.tool.call.arguments",), "gen_ai.tool.call.id"
)
_USAGE: Final = "gen_ai.usage."
_TOOL: Final = "execute_tool"
_AGENT: Final = "invoke_agent"
_TURNS: Final = ("chat", "generate_content", "text_completion")
_LABELS: Final = {
    "gen_ai.conversation.id": "conversation_id",
    "gen_ai.agent.name": "agent",
    "gen_ai.request.model": "model",
}


class _SpanReader(ConversationReader):
    """Reads the spans of one trace."""

    def __init__(self, spans: Sequence[OtlpSpan]) -> None:
        super().__init__(_RAN)
        self.spans = spans
        self.by_id = {span.id: span for span in spans if span.id}
        self.heard: Counter[tuple[Role, str]] = Counter()  # the messages read so far
        self.returns: Counter[str] = Counter()  # the number of results each agent got so far

    def around(self, span: OtlpSpan) -> Iterable[OtlpSpan]:
        """The enclosing spans of a span, the nearest first."""
        seen = {span.id}
        while (outer := self.by_id.get(span.parent)) is not None and outer.id not in seen:
            seen.add(outer.id)
            yield outer
            span = outer

    def agent(self, span: OtlpSpan) -> str:
        """The id of the enclosing span of an agent; empty if there is none."""
        return next((outer.id for outer in self.around(span) if _does(outer) == _AGENT), "")

    def read_spans(self) -> None:
        """Reads all turns; raises their mistakes."""
        turns: list[tuple[OtlpSpan, list[OtlpSpan]]] = []  # each with the calls made in it
        latest: dict[str, int] = {}
        following: dict[int, OtlpSpan] = {}  # the next chat of the same agent
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

    def take_turn(self, first: OtlpSpan, ran: list[OtlpSpan], following: OtlpSpan | None) -> None:
        """Reads a turn: new messages, the model's text, and its calls."""
        calls = [self.ran(span) for span in ran]
        text = ""
        self.details = NO_DETAILS
        if _does(first) in _TURNS:
            self.responses(first)  # skips those of earlier turns, which may have no spans
            output = _messages(first, "gen_ai.output.messages")
            asked = [self.call(part, first.where, _ASKED) for part in _parts(output, "tool_call")]
            calls = _merged(_with_responses(asked, self.responses(following)), calls)
            if not any(_does(outer) == _TOOL for outer in self.around(first)):
                self.details = Details(_seconds(first.start))
                self.hear(first)
                text = "\n".join(map(_text, output))
            self.details = self._details(first)
        self.turn(text, calls)

    def _details(self, chat: OtlpSpan) -> Details:
        """The end of a chat, when its text was written; its agent and its usage."""
        outer = self.by_id.get(self.agent(chat))
        agent = outer.attributes.get("gen_ai.agent.name") if outer else None
        used = {k: v for k, v in chat.attributes.items() if k.startswith(_USAGE)}
        common = {k.removeprefix(_USAGE): v for k, v in with_common_names(used).items()}
        written = _seconds(chat.end) or _seconds(chat.start)
        return Details(written, agent if isinstance(agent, str) else None, common or None)

    def ran(self, span: OtlpSpan) -> Call:
        """The call that a span records."""
        call = self.call(span.attributes, f"{span.where}.attributes")
        call = replace(call, start=_seconds(span.start), end=_seconds(span.end))
        outer = self.by_id.get(self.agent(span))
        agent = outer.attributes.get("gen_ai.agent.name") if outer else None
        if isinstance(agent, str):
            call = replace(call, agent=agent)
        found = {"content": span.attributes.get("gen_ai.tool.call.result", MISSING)}
        if span.error is not None:
            result = {} if found["content"] is MISSING else found
            return answered(call, {**result, "error": span.error or True})
        return call if found["content"] is MISSING else answered(call, found)

    def hear(self, chat: OtlpSpan) -> None:
        """Reads the messages of the system and the user that are new in a chat."""
        system = _as_parts(chat.structured("gen_ai.system_instructions"))
        heard: list[tuple[Role, str]] = [("system", _text({"parts": system}))] if system else []
        for message in _messages(chat, "gen_ai.input.messages"):
            role = message.get("role")
            if isinstance(role, str) and role in SPEAKERS:
                heard.append((SPEAKERS[role], _text(message)))
        times: Counter[tuple[Role, str]] = Counter()
        for role, text in heard:
            times[role, text] += 1
            if times[role, text] > self.heard[role, text]:
                self.heard[role, text] += 1
                self.said(role, text)

    def responses(self, chat: OtlpSpan | None) -> list[Mapping[str, Any]]:
        """The results of calls that are new in a chat, for its agent."""
        if chat is None:
            return []
        found = _parts(_messages(chat, "gen_ai.input.messages"), "tool_call_response")
        agent = self.agent(chat)
        before = self.returns[agent]
        self.returns[agent] = max(before, len(found))
        return found[before:]


def _seconds(nanoseconds: int) -> float | None:
    return nanoseconds / 1e9 if nanoseconds else None


def _does(span: OtlpSpan) -> Json:
    return span.attributes.get(OPERATION)


def _merged(asked: list[Call], ran: list[Call]) -> list[Call]:
    """The calls a model asked for, completed from their spans; then the calls only spans record."""
    left = list(ran)
    merged = []
    for call in asked:
        same = [other for other in left if other.tool == call.tool]
        span = next((other for other in same if other.id == call.id), same[0] if same else None)
        if span is not None:
            left.remove(span)
            settled = span.result is not MISSING or span.failed
            call = replace(
                span,
                args=span.args or call.args,
                id=span.id or call.id,
                result=span.result if settled else call.result,
            )
        merged.append(call)
    return merged + left


def _with_responses(calls: list[Call], responses: list[Mapping[str, Any]]) -> list[Call]:
    """The calls with their results from the next chat: by id if ids are unique, else in order."""
    by_id = {part.get("id"): part for part in responses if isinstance(part.get("id"), str)}
    if len(by_id) == len(responses) and len({call.id for call in calls}) == len(calls):
        found = [by_id.get(call.id) for call in calls]
    else:
        found = [*responses, *[None] * len(calls)][: len(calls)]
    return [
        call if part is None else replace(call, result=part.get("response", part.get("result")))
        for call, part in zip(calls, found, strict=True)
    ]


def _messages(span: OtlpSpan, name: str) -> list[Mapping[str, Any]]:
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


def _detects(value: object) -> bool:
    return isinstance(value, Mapping) and "resourceSpans" in value


def _read(value: Any, name: str | None) -> NotedTrace:
    problems = ConversationReader(_RAN)
    spans = spans_of(value, problems.complain)
    ids = {span.trace for span in spans if OPERATION in span.attributes}
    spans = [span for span in spans if span.trace in ids]
    if len(ids) > 1:
        problems.complain("resourceSpans", f"the spans of {len(ids)} traces, not of one")
    elif not problems.problems and not ids:
        problems.complain("resourceSpans", f"no span has the attribute {OPERATION}")
    problems.end()
    reader = _SpanReader(spans)
    reader.read_spans()
    labels: dict[str, Json] = {"trace_id": spans[0].trace}
    for span in spans:
        found = scalars(span.attributes, _LABELS)
        labels = {_LABELS[key]: text for key, text in found.items()} | labels
    return reader.trace(name, labels)


OPENTELEMETRY: Final = Format("OpenTelemetry", "resourceSpans", _detects, _read, traces_of)
