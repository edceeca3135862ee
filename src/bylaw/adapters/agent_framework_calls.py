"""Calls and responses of the Microsoft Agent Framework. See `bylaw.adapters.agent_framework`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

from agent_framework import (
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionTool,
    Message,
    ResponseStream,
)
from agent_framework._tools import (  # a test says when they move
    _SECURITY_ARGUMENTS_SNAPSHOT_CONTEXT_KEY,
    _argument_authority_token,
)

from bylaw.adapters.gated_run import question
from bylaw.adapters.tool_arguments import defaults_of
from bylaw.enforcement.decision import Decision
from bylaw.plain import as_json
from bylaw.trace.event import Call
from bylaw.values import Json

OCCURRENCE: Final = "function_call_occurrence_id"

# ── turns ────────────────────────────────────────────────────────────────────────────────────


def runs_here(content: Any) -> bool:
    """Is it a call that the framework runs?"""
    elsewhere = ("informational_only", "hosted")  # not all versions have both
    return content.type == "function_call" and not any(getattr(content, e, 0) for e in elsewhere)


def make_ids_unique(calls: Iterable[Any]) -> None:
    """Tells calls apart that have the same id, or none: an approval goes by it."""
    seen: set[str] = set()
    for call in calls:
        if not call.call_id or call.call_id in seen:
            call.call_id = f"call-{uuid4()}"
        seen.add(call.call_id)


def proposed_call(content: Any, tool: Any) -> Call:
    """A call with the arguments that the tool will receive, as its own types convert them.

    What the tool rejects is judged as it is: it will not run with it. What is not the JSON of an
    object is kept as a list, so that the gate refuses it.
    """
    try:
        args = as_json(content.parse_arguments() or {})
    except (TypeError, ValueError):
        return Call(content.name, [content.arguments], id=content.call_id)  # type: ignore[arg-type]
    if isinstance(tool, FunctionTool):
        with suppress(Exception):  # of pydantic, or of the author's own validators
            args = as_json(tool._prepare_arguments(args))  # a test says when it moves
        return judged_call(tool, args, content.call_id)
    return Call(content.name, args, id=content.call_id)


def judged_call(tool: Any, args: Any, id: str | None) -> Call:
    """A call with the arguments that the tool receives: those given, and its defaults."""
    given = {**defaults_of(tool.parameters()), **args} if isinstance(args, dict) else args
    return Call(tool.name, given, id=id)


def tools_by_name(options: Any) -> dict[str, Any]:
    """The tools of a request that the framework runs."""
    tools = (options or {}).get("tools") or ()
    return {tool.name: tool for tool in tools if isinstance(tool, FunctionTool)}


def beyond_reach(context: Any) -> set[str]:
    """The tools of a request that the framework does not run itself."""
    loop = getattr(context.client, "function_invocation_configuration", None)
    enabled = loop is not None and loop.get("enabled", True)
    found = set()
    for tool in (context.options or {}).get("tools") or ():
        if not isinstance(tool, FunctionTool):
            about = tool if isinstance(tool, Mapping) else {}
            found.add(str(about.get("name") or about.get("type") or type(tool).__name__))
        elif tool.declaration_only or not enabled:
            found.add(tool.name)
    return found


# ── results ──────────────────────────────────────────────────────────────────────────────────


def seal_arguments(context: Any) -> None:
    """From now on, the framework runs the tool only with these arguments, or fails."""
    sealed = _argument_authority_token(dict(context.arguments), boundary="gate")
    context.metadata[_SECURITY_ARGUMENTS_SNAPSHOT_CONTEXT_KEY] = sealed


def approval_request(context: Any, decision: Decision) -> Any:
    """The request for a person's approval of a call."""
    id, occurrence = context.metadata["call_id"], context.metadata.get(OCCURRENCE)
    arguments = dict(context.arguments)
    call = Content.from_function_call(id, context.function.name, arguments=arguments, id=occurrence)
    about = {"bylaw": question(decision)}
    return Content.from_function_approval_request(
        occurrence or id, call, additional_properties=about
    )


def content_of(result: Any) -> Json:
    """The result of a tool as rules see it."""
    if isinstance(result, list) and all(isinstance(each, Content) for each in result):
        return "\n".join(each.text or "" for each in result)
    return as_json(result)


# ── responses ────────────────────────────────────────────────────────────────────────────────


async def completed(result: Any) -> tuple[Any, list[Any] | None]:
    """The whole response to a request, and its updates if it is streamed."""
    if not isinstance(result, ResponseStream):
        return result, None
    updates = [update async for update in result]
    return await result.get_final_response(), updates


def streamed(updates: list[Any], response: Any) -> Any:
    """A response as a stream, once it is complete."""

    async def again() -> AsyncIterator[Any]:
        for update in updates:
            yield update

    return ResponseStream(again(), finalizer=lambda _: response)


def own_response(stream: bool, text: str) -> Any:
    """A response of the gate's own."""
    response = ChatResponse(messages=[Message("assistant", [text])])
    if not stream:
        return response
    update = ChatResponseUpdate(contents=[Content.from_text(text)], role="assistant")
    return streamed([update], response)
