"""LangChain's messages and calls, as a gate reads them. See `bylaw.adapters.langchain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool

from bylaw.plain import as_json
from bylaw.trace.event import Call, Role
from bylaw.values import Json, write_json


class TurnMessages:
    """The latest turn of a conversation: the model's message, and the results after it."""

    def __init__(self, messages: Sequence[AnyMessage]) -> None:
        places = range(len(messages) - 1, -1, -1)
        last = next((i for i in places if isinstance(messages[i], AIMessage)), None)
        self._message: Any = None if last is None else messages[last]
        self._later: Final = list(messages if last is None else messages[last + 1 :])
        self._answered: Final = {m.tool_call_id for m in self._later if isinstance(m, ToolMessage)}
        self.text: Final[str] = "" if last is None else text_of(self._message)
        self.proposed: Final = self._proposed()
        """The calls that have no result yet, with ids that differ."""

    def _proposed(self) -> list[dict[str, Any]]:
        left = self._unanswered()
        counts = Counter(call["id"] for call in left)
        if len(counts) == len(left) and None not in counts:
            return [dict(call) for call in left]
        alone = [call["id"] is not None and counts[call["id"]] == 1 for call in left]
        return [
            dict(call) if unique else {**call, "id": f"{call['id']}-{index}"}
            for index, (call, unique) in enumerate(zip(left, alone, strict=True))
        ]

    def _unanswered(self) -> list[Any]:
        calls = [] if self._message is None else self._message.tool_calls
        return [call for call in calls if call["id"] not in self._answered]

    def answer(self, structured: Any) -> str | None:
        """The answer, if the turn is one: a text without calls, or a structured response."""
        if self._message is None or self.proposed:
            return None
        if not self._message.tool_calls:
            return self.text
        return None if structured is None else write_json(_plain(structured))

    def calls(self, schemas: ToolSchemas, agent: str | None) -> list[Call]:
        """The calls as they are judged."""
        known = {name: schema for name, (_, schema) in schemas.items()}
        return [judged_call(call, known.get(call["name"]), agent) for call in self.proposed]

    def with_unique_ids(self) -> list[AnyMessage]:
        """The model's message with unique ids, if it had others; LangGraph goes by the id."""
        if self._message is None or [call["id"] for call in self._unanswered()] == [
            call["id"] for call in self.proposed
        ]:
            return []
        answered = [call for call in self._message.tool_calls if call["id"] in self._answered]
        return [self._message.model_copy(update={"tool_calls": [*answered, *self.proposed]})]

    def news(self) -> Iterator[tuple[Role, str]]:
        """The messages since the model's last: those of a new conversation, or new ones."""
        for message in self._later:
            if isinstance(message, HumanMessage):
                yield "user", text_of(message)
            elif isinstance(message, SystemMessage):
                yield "system", text_of(message)

    def results(self) -> Iterator[tuple[str, Json, str | None]]:
        """The results of the turn: the id of the call, the result, and the error."""
        for message in self._later:
            if isinstance(message, ToolMessage):
                yield message.tool_call_id, *outcome_of(message, message.tool_call_id)


ToolSchemas: TypeAlias = dict[str, tuple[BaseTool, Any]]
"""Tools by name, each with the schema of its arguments, which LangChain is slow to tell."""


def note_tools(offered: Iterable[Any], schemas: ToolSchemas) -> set[str]:
    """Notes the tools that LangGraph runs; the names of those that a provider runs."""
    hosted = set()
    for tool in offered:
        if isinstance(tool, dict):
            hosted.add(str(tool.get("name") or tool.get("type")))
        elif isinstance(tool, BaseTool):
            schemas[tool.name] = (tool, schema_of(tool, schemas))
    return hosted


def schema_of(tool: Any, schemas: ToolSchemas) -> Any:
    """The schema of a tool, as noted or as LangChain tells it; None if there is no tool."""
    if tool is None:
        return None
    known = schemas.get(tool.name)
    return known[1] if known is not None and known[0] is tool else tool.tool_call_schema


def judged_call(call: Mapping[str, Any], schema: Any, agent: str | None) -> Call:
    """A call with the arguments that the tool will receive.

    LangChain converts arguments by the tool's schema ("5" becomes 5) and fills in defaults. What
    the schema rejects is judged as it is: the tool will not run with it.
    """
    given = dict(call["args"])
    if hasattr(schema, "model_validate"):
        with suppress(Exception):  # of pydantic, or of the author's own validators
            given = schema.model_validate(given).model_dump(mode="json")
    return Call(call["name"], given, id=call["id"], agent=agent)


def outcome_of(result: Any, id: str | None) -> tuple[Json, str | None]:
    """The result in the value that LangGraph returns for a call, and the error."""
    for message in _messages(result):
        if message.tool_call_id == id:
            if message.status == "error":
                return None, text_of(message)
            return as_json(message.content), None
    return None, None


def _messages(result: Any) -> Iterator[ToolMessage]:
    """The tool messages in a result, which may be a command that updates the state."""
    if isinstance(result, ToolMessage):
        yield result
    elif isinstance(result, list | tuple):
        for each in result:
            yield from _messages(each)
    elif isinstance(update := getattr(result, "update", None), Mapping):
        yield from _messages(list(update.get("messages") or ()))


def _plain(value: Any) -> Json:
    return as_json(value.model_dump(mode="json") if hasattr(value, "model_dump") else value)


def text_of(message: Any) -> str:
    """The text of a message, whose content may come in parts."""
    return message.content if type(message.content) is str else str(message.text)
