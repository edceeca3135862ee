"""The outcome of an MCP call, as a result or an error that rules can read."""

from __future__ import annotations

from collections.abc import Mapping

from bylaw.values import Json, decoded, equal


def outcome(message: Mapping[str, Json]) -> tuple[Json, str | None]:
    """The result of a call, or its error, from the server's answer."""
    error = message.get("error")
    if error is not None or "result" not in message:
        text = error.get("message") if isinstance(error, dict) else None
        return None, str(text or "the server reported an error")
    result = message["result"]
    if not isinstance(result, dict):
        return result, None
    text = _text(result.get("content"))
    if result.get("isError"):
        return None, text or "the tool reported an error"
    return _value(result, text), None


def _value(result: Mapping[str, Json], text: str | None) -> Json:
    """The value that the tool returned: structured if it is, else its text, else its content.

    SDKs wrap a value that is not an object as `{"result": value}`; the text shows the value itself.
    """
    structured = result.get("structuredContent")
    if structured is None:
        return result.get("content") if text is None else text
    if isinstance(structured, dict) and set(structured) == {"result"} and text is not None:
        inner = structured["result"]
        if text == inner or equal(decoded(text), inner):
            return inner
    return structured


def _text(content: Json) -> str | None:
    """The text of the content; None if some of it is not text."""
    if not isinstance(content, list):
        return None
    texts: list[str] = []
    for block in content:
        if not isinstance(block, dict) or type(block.get("text")) is not str:
            return None
        texts.append(str(block["text"]))
    return "\n".join(texts)
