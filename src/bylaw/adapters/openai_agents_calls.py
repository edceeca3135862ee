"""Calls, messages and tools of the OpenAI Agents SDK, as a gate reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agents import Agent, FunctionTool

from bylaw.adapters.tool_arguments import defaults_of
from bylaw.plain import as_json
from bylaw.procedure.toolset.schema import ToolSchema
from bylaw.trace.event import Call, Role
from bylaw.values import JsonError, read_json, write_json

_ROLES: Final[dict[str, Role]] = {"user": "user", "system": "system", "developer": "system"}


def turn_of(response: Any) -> tuple[list[Any], str]:
    """The function calls of a model's response, and its text."""
    calls = [item for item in response.output if _field(item, "type") == "function_call"]
    texts = [
        str(_field(part, "text"))
        for item in response.output
        if _field(item, "type") == "message"
        for part in _field(item, "content") or ()
        if _field(part, "type") == "output_text"
    ]
    return calls, "\n".join(texts)


def judged_call(name: str, text: str | None, tool: Any, id: str | None, agent: str) -> Call:
    """A call with the arguments that the tool will receive: those given, and its defaults.

    Arguments that are not the JSON of an object are kept as a list, so that the gate refuses them.
    """
    try:
        given = read_json(text) if text else {}
    except JsonError:
        given = None
    defaults = defaults_of(getattr(tool, "params_json_schema", None))
    complete: Any = {**defaults, **given} if isinstance(given, dict) else [text]
    return Call(name, complete, id=id, agent=agent)


def arguments_schema(tool: Any) -> ToolSchema:
    """The schema of a tool's arguments. The SDK would convert what does not fit it."""
    return ToolSchema(as_json(tool.params_json_schema))


def beyond_reach(agent: Any) -> set[str]:
    """The tools of an agent that no gate can refuse: all but functions."""
    names = {
        str(getattr(tool, "name", type(tool).__name__))
        for tool in agent.tools
        if not isinstance(tool, FunctionTool)
    }
    # A prompt that the provider keeps can bring tools of its own.
    return names | ({"prompt"} if getattr(agent, "prompt", None) is not None else set())


def reachable(agent: Any) -> Iterator[Any]:
    """An agent, and those that it hands over to or has as a tool; each once."""
    found: list[Any] = [agent]
    for each in found:  # it grows
        listed = [getattr(tool, "_agent_instance", None) for tool in getattr(each, "tools", ())]
        for given in getattr(each, "handoffs", ()):
            target = getattr(given, "_agent_ref", None)
            listed.append(given if target is None else target())
        known = [other for other in listed if isinstance(other, Agent)]
        found += [other for other in known if not any(other is seen for seen in found)]
        yield each


def news(input: Any) -> Iterator[tuple[Role, str]]:
    """The messages of a run's input that the model has not answered yet."""
    if isinstance(input, str):
        yield "user", input
        return
    if not isinstance(input, list):
        return  # a state that is resumed
    made = [i for i, item in enumerate(input) if _field(item, "role") not in _ROLES]
    for item in input[made[-1] + 1 if made else 0 :]:
        yield _ROLES[str(_field(item, "role"))], _text(_field(item, "content"))


def answer_text(output: Any) -> str:
    """The answer as a text; a structured one as JSON."""
    if isinstance(output, str):
        return output
    plain = output.model_dump(mode="json") if hasattr(output, "model_dump") else output
    return write_json(as_json(plain))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(_field(part, "text") or "") for part in content or ())


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
