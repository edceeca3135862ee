"""Parses tool calls in a model's text, for models and servers that leave them there.

Calls are found in `<tool_call>` tags (the last may be left open), in fenced blocks, and in a text
that is JSON as a whole. Each of these holds one call or several, as a sequence or as a list:

    {"name": "lookup", "arguments": {"order": 7}}

Inside a tag, anything malformed is an attempt at a call. JSON elsewhere may be data: it is an
attempt only if it names a tool of the conversation, or has both a name and arguments. Nothing is
guessed: a malformed call is reported, in a sentence that helps the model to correct it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.agents.protocol import ToolSpec
from bylaw.trace.event import MISSING, Call
from bylaw.values import Json, JsonError, read_json, write_json

_NAME: Final = ("name", "function", "tool")
_ARGUMENTS: Final = ("arguments", "parameters", "args")
"""The names that models give to the two fields of a call; the first one present counts."""


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A text and the calls in it."""

    text: str
    """The text without its calls. Malformed attempts stay, so that the model can correct them."""
    calls: tuple[Call, ...] = ()
    malformed: tuple[str, ...] = ()
    """One sentence for each malformed call."""


class MalformedCallError(ValueError):
    """A tool call is malformed. `position` is the index at which parsing stopped."""

    def __init__(self, reason: str, position: int = 0) -> None:
        super().__init__(f"A tool call cannot be read: {reason}.")
        self.position = position


def parse_calls(text: str, tools: Sequence[ToolSpec], id_prefix: str) -> ParsedText:
    """The tool calls in a text, numbered from one in the order of the text."""
    kept: list[str] = []
    calls: list[Call] = []
    malformed: list[str] = []
    for part in _parts(text, frozenset(tool.name for tool in tools)):
        before = len(calls)
        for value in part.values:
            try:
                calls.append(call_from(value, f"{id_prefix}{len(calls) + 1}"))
            except MalformedCallError as error:
                malformed.append(str(error))
        if part.fault is not None:
            malformed.append(part.fault)
        if len(calls) == before:
            kept.append(part.source)
    return ParsedText("".join(kept).strip(), tuple(calls), tuple(malformed))


def call_from(value: Json, id: str) -> Call:
    """The call that a JSON value describes. Raises `MalformedCallError` if there is none."""
    if not isinstance(value, dict):
        raise MalformedCallError(f"it must be an object, not {_excerpt(write_json(value))}")
    name, arguments = _fields(value)
    if not isinstance(name, str) or not name:
        raise MalformedCallError('it has no "name" that says which tool to call')
    if arguments is MISSING:
        raise MalformedCallError(f'the call of {name} has no "arguments"')
    if isinstance(arguments, str):
        try:
            arguments = read_json(arguments)
        except JsonError as error:
            reason = error.message
            if error.position is not None:
                reason = _advice(arguments, error.message, error.position)
            raise MalformedCallError(f"the arguments of {name} are not JSON: {reason}") from None
    if not isinstance(arguments, dict):
        shown = _excerpt(write_json(arguments))
        raise MalformedCallError(f"the arguments of {name} must be an object, not {shown}")
    return Call(name, arguments, id=id)


def _fields(value: dict[str, Json]) -> tuple[Json, Json]:
    """The name and the arguments in an object, or MISSING."""
    nested = value.get("function")
    fields = nested if isinstance(nested, dict) else value
    name = next((fields[key] for key in _NAME if key in fields), MISSING)
    return name, next((fields[key] for key in _ARGUMENTS if key in fields), MISSING)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the text: plain, or JSON values that are attempts at calls, or malformed."""

    source: str
    values: Sequence[Json] = ()
    fault: str | None = None


_TAG_OPENS: Final = r"(?P<tag><tool_call>)|(?P<stray></tool_call>)"
_TAGS: Final = re.compile(_TAG_OPENS)
_TAGS_AND_FENCES: Final = re.compile(_TAG_OPENS + r"|(?P<fence>```(?:[\w+-]+(?=[\s{\[]))?)")
_TAG_ENDS: Final = re.compile(r"</tool_call>|(?=<tool_call>)|\Z")
_FENCE_ENDS: Final = re.compile(r"```|\Z")
_TEXT_ENDS: Final = re.compile(r"\Z")


def _parts(text: str, tools: frozenset[str]) -> list[_Part]:
    whole = text.strip()
    if not whole.startswith(("{", "[")):
        return list(_marked(text, tools, _TAGS_AND_FENCES))
    try:
        values, _ = _values(whole, 0, _TEXT_ENDS)
    except MalformedCallError as error:
        parts = list(_marked(text, tools, _TAGS_AND_FENCES))
        plain = not any(part.values or part.fault for part in parts)
        return [_Part(text, fault=str(error))] if plain and _near_miss(whole, tools) else parts
    return [_Part(text, _attempts(values, tools))]


def _marked(text: str, tools: frozenset[str], marks: re.Pattern[str]) -> Iterator[_Part]:
    """The parts of a text, split at tags and fences."""
    at = 0
    while mark := marks.search(text, at):
        yield _Part(text[at : mark.start()])
        match mark.lastgroup:
            case "tag":
                part, at = _tagged(text, mark)
                yield part
            case "fence":
                parts, at = _fenced(text, mark, tools)
                yield from parts
            case _:
                fault = MalformedCallError("there is a </tool_call> with no <tool_call> before it")
                yield _Part(mark.group(), fault=str(fault))
                at = mark.end()
    yield _Part(text[at:])


def _tagged(text: str, mark: re.Match[str]) -> tuple[_Part, int]:
    try:
        values, end = _values(text, mark.end(), _TAG_ENDS)
        if not values:
            raise MalformedCallError("there is nothing in the <tool_call> tag", mark.end())
    except MalformedCallError as error:
        end = _end(text, error.position, _TAG_ENDS)
        return _Part(text[mark.start() : end], fault=str(error)), end
    return _Part(text[mark.start() : end], values), end


def _fenced(text: str, mark: re.Match[str], tools: frozenset[str]) -> tuple[list[_Part], int]:
    try:
        values, end = _values(text, mark.end(), _FENCE_ENDS)
    except MalformedCallError as error:
        end = _end(text, error.position, _FENCE_ENDS)
        inside = text[mark.end() : end].removesuffix("```")
        if _near_miss(inside, tools):
            return [_Part(text[mark.start() : end], fault=str(error))], end
        parts = list(_marked(inside, tools, _TAGS))  # some models put tags inside a fence
        if all(part.values or not part.source.strip() for part in parts):
            return parts, end  # drop the fence, which is empty otherwise
        return [_Part(mark.group()), *parts, _Part(text[mark.end() + len(inside) : end])], end
    return [_Part(text[mark.start() : end], _attempts(values, tools))], end


def _end(text: str, position: int, ends: re.Pattern[str]) -> int:
    end = ends.search(text, position)
    return len(text) if end is None else end.end()


def _attempts(values: Sequence[Json], tools: frozenset[str]) -> Sequence[Json]:
    """The values if any is an attempt at a call; none if they are data."""
    for value in values:
        if isinstance(value, dict):
            name, arguments = _fields(value)
            if MISSING not in (name, arguments) or (isinstance(name, str) and name in tools):
                return values
    return ()


_CALL_FIELD: Final = tuple(
    re.compile(rf"""["']?\b(?:{"|".join(keys)})["']?\s*:""") for keys in (_NAME, _ARGUMENTS)
)
_PYTHON_CALL: Final = re.compile(r"^\s*(?:\w+\s*=\s*)?([\w.-]+)\(", re.MULTILINE)


def _near_miss(block: str, tools: frozenset[str]) -> bool:
    """Is this a malformed attempt at a call?"""
    if block.lstrip().startswith(("{", "[")):
        return all(field.search(block) for field in _CALL_FIELD)
    return any(called.group(1) in tools for called in _PYTHON_CALL.finditer(block))


_EXTENT: Final = json.JSONDecoder()
"""Finds where a JSON value ends; `read_json`, which is stricter, then parses it."""
_BLANK: Final = re.compile(r"\s*")
_FORM: Final = 'a call is written {"name": ..., "arguments": {...}}'


def _values(text: str, at: int, ends: re.Pattern[str]) -> tuple[list[Json], int]:
    """The JSON values from an index to an end mark, and the end's index. Lists are flattened.

    An end mark inside a JSON string is part of the string.
    """
    values: list[Json] = []
    at = _end(text, at, _BLANK)
    while not (end := ends.match(text, at)):
        after = at
        try:
            _, after = _EXTENT.raw_decode(text, at)
            value = read_json(text[at:after])
        except json.JSONDecodeError as error:
            complaint = _FORM if error.pos == at else error.msg
            raise MalformedCallError(_advice(text, complaint, error.pos), error.pos) from None
        except RecursionError:
            raise MalformedCallError("brackets nest too deep", after) from None
        except ValueError as error:
            raise MalformedCallError(str(error), after) from None
        values.extend(value if isinstance(value, list) else [value])
        at = _end(text, after, _BLANK)
    return values, end.end()


_ADVICE: Final = tuple(
    (re.compile(pattern, re.DOTALL), advice)
    for pattern, advice in (
        (r".?(?:\Z|</?tool_call>|```)", "the JSON ends before it is complete"),
        (r".?'", "names and strings need double quotes"),
        (r".?,\s*[}\]]", "there must be no comma before a closing bracket"),
        (r"[}\]][}\]]", "there is one closing bracket too many"),
        (r".?(?:True|False|None)\b", "JSON spells them true, false and null"),
        (r".?(?://|/\*|#)", "JSON has no comments"),
        (r".?[\x00-\x1f]", "a line break in a string is written \\n, a tab \\t"),
        (r".?\\", "a backslash in a string is written \\\\"),
        (r"[{,][A-Za-z_]", "names and strings need double quotes"),
        (r'"\w', 'a double quote in a string is written \\"'),
    )
)
"""Advice by the text at which parsing stopped, preceded by the last character before it."""


def _advice(text: str, complaint: str, position: int) -> str:
    rest = text[position:]
    place = text[:position].rstrip()[-1:] + rest
    otherwise = complaint[:1].lower() + complaint[1:].removesuffix(" at")
    advice = next((advice for miss, advice in _ADVICE if miss.match(place)), otherwise)
    return f"{advice}, at {_excerpt(rest)}" if rest.strip() else advice


def _excerpt(text: str, longest: int = 30) -> str:
    words = " ".join(text[: 2 * longest].split())
    return words if len(words) <= longest else f"{words[:longest]}…"
