"""YAML and JSON documents with the position of each value.

Of YAML, mappings, lists, scalars and anchors are read. `true`, `false`, `null` and numbers are as
in JSON, so `no` and `on` are strings. Tags, cycles and unbounded expansion are errors.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from bylaw.errors import Diagnostic, Span, SpecError
from bylaw.frozen import field, record
from bylaw.opening import open_regular
from bylaw.values import DuplicateKey, Json, JsonError, read_json

MAX_BYTES: Final = 16 << 20
"""The size of a file that is read."""
MAX_NESTING: Final = 64
MAX_NODES: Final = 200_000
"""The number of values a document may have, aliases expanded."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TOO_DEEP: Final = f"the document nests more than {MAX_NESTING} deep"
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,999})")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, Json]] = {
    "": None,
    "~": None,
    "null": None,
    "true": True,
    "false": False,
    ".nan": math.nan,
    ".inf": math.inf,
    "-.inf": -math.inf,
}


@record
class Located:
    """A value and its position. Lists and mappings contain located values."""

    value: Any
    span: Span
    keys: dict[str, Span] = field(default_factory=dict)
    """For a mapping: the position of each key."""
    size: int = 1
    """The number of values inside, aliases expanded."""
    depth: int = 1
    """The depth of nesting, aliases expanded."""

    def plain(self) -> Json:
        """The value without positions."""
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        return self.value


def read_document(text: str, *, is_json: bool) -> Located:
    """The document in a text. Raises a SpecError with the position of a mistake."""
    return _read_json(text) if is_json else _read_yaml(text)


def read_document_file(path: Path) -> tuple[str, Located]:
    """The text of a file and the document in it. Raises a SpecError with the position of a mistake.

    A file that ends in `.json` is read as JSON, any other as YAML.
    """
    try:
        with open_regular(path) as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            message = f"the file is larger than {MAX_BYTES >> 20} MiB"
            raise SpecError(Diagnostic("E204", message))
        text = content.decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError(Diagnostic("E206", f"cannot be read: {reason}")) from None
    except UnicodeDecodeError as error:
        message = f"the text is not UTF-8: {error.reason} at byte {error.start}"
        raise SpecError(Diagnostic("E206", message)) from None
    return text, read_document(text, is_json=path.suffix == ".json")


def locate(value: Any, depth: int = 1) -> Located:
    """A Python value as a document without positions."""
    nowhere = Span(0, 0)
    if depth > MAX_NESTING:
        raise SpecError(Diagnostic("E204", _TOO_DEEP))
    if isinstance(value, dict):
        return Located({str(key): locate(item, depth + 1) for key, item in value.items()}, nowhere)
    if isinstance(value, list | tuple):
        return Located([locate(item, depth + 1) for item in value], nowhere)
    return Located(value, nowhere)


def align(value: str, text: str, span: Span) -> list[int]:
    """The position in the text of each character of a scalar's value.

    Quoting, folding and indentation only add characters, so the value's own characters are found
    in order. White space may have been folded and is not searched for.
    """
    places: list[int] = []
    place = span.start
    for character in value:
        if not character.isspace():
            found = text.find(character, place, span.end)
            place = found if found >= 0 else place
        places.append(place)
        place = min(place + 1, span.end)
    return [*places, place]


# ── YAML ──────────────────────────────────────────────────────────────────────────────────


def _read_yaml(text: str) -> Located:
    try:
        return _YamlBuilder(text).build()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = min(mark.index, len(text)) if mark else 0
        message = " ".join(filter(None, [error.context, error.problem]))
        help = (
            "Text that begins with !, {, [ or a quote, or has ': ' or ' #' inside, needs quotes "
            "around it, or a block (|)."
        )
        raise _error(text, Span(at, at + 1), "E201", f"not valid YAML: {message}", help) from None
    except yaml.YAMLError as error:
        at = getattr(error, "position", 0) or 0
        reason = getattr(error, "reason", None) or "it cannot be read"
        raise _error(text, Span(at, at + 1), "E201", f"not valid YAML: {reason}") from None


class _YamlBuilder:
    """Builds the document from parser events, and bounds its depth and size as it grows."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.open: list[tuple[Located, list[Located], str | None]] = []
        self.anchors: dict[str, Located | None] = {}
        self.root: Located | None = None

    def build(self) -> Located:
        documents = 0
        for event in yaml.parse(self.text, Loader=_Loader):
            match event:
                case yaml.DocumentStartEvent():
                    documents += 1
                    if documents > 1:
                        raise self.fail(event, "E201", "the file has more than one document")
                case yaml.ScalarEvent():
                    self.check_tag(event)
                    node = Located(self.scalar(event), self.span(event))
                    self.anchor(event.anchor, node)
                    self.add(event, node)
                case yaml.AliasEvent():
                    self.add(event, self.aliased(event))
                case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                    self.check_tag(event)
                    if len(self.open) >= MAX_NESTING:
                        raise self.fail(event, "E204", _TOO_DEEP)
                    if event.anchor:
                        self.anchors[event.anchor] = None
                    kind: Any = [] if isinstance(event, yaml.SequenceStartEvent) else {}
                    self.open.append((Located(kind, self.span(event)), [], event.anchor))
                case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                    self.close(event)
        if self.root is None:
            raise _error(self.text, Span(0, 1), "E201", "the file is empty")
        return self.root

    def add(self, event: Any, node: Located) -> None:
        if not self.open:
            self.root = node
            return
        container, items, _ = self.open[-1]
        container.size += node.size
        container.depth = max(container.depth, node.depth + 1)
        if container.depth > MAX_NESTING:
            raise self.fail(event, "E204", _TOO_DEEP)
        if container.size > MAX_NODES:
            message = f"the document grows beyond {MAX_NODES:,} values when its aliases expand"
            raise self.fail(event, "E204", message)
        items.append(node)

    def close(self, event: Any) -> None:
        container, items, anchor = self.open.pop()
        container.span = Span(container.span.start, event.end_mark.index)
        if isinstance(container.value, list):
            container.value = items
        else:
            for key, value in zip(items[::2], items[1::2], strict=True):
                self.pair(container, key, value)
        self.anchor(anchor, container)
        self.add(event, container)

    def pair(self, mapping: Located, key: Located, value: Located) -> None:
        if isinstance(key.value, list | dict):
            raise _error(self.text, key.span, "E201", "a key must be a string")
        written = self.text[key.span.start : key.span.end].strip()
        name = key.value if isinstance(key.value, str) else written
        if name in mapping.value:
            raise _error(self.text, key.span, "E207", f"the key '{name}' appears twice")
        mapping.value[name] = value
        mapping.keys[name] = key.span

    def anchor(self, name: str | None, node: Located) -> None:
        if name:
            self.anchors[name] = node

    def aliased(self, event: Any) -> Located:
        if event.anchor not in self.anchors:
            raise self.fail(event, "E201", f"the alias '*{event.anchor}' has no anchor")
        node = self.anchors[event.anchor]
        if node is None:
            raise self.fail(event, "E204", f"the alias '*{event.anchor}' contains itself")
        return node

    def check_tag(self, event: Any) -> None:
        if event.tag is not None:
            help = "Text that begins with ! needs quotes around it: rule: '!a W b'."
            raise self.fail(event, "E201", f"the tag '{event.tag}' is not supported", help)

    def scalar(self, event: Any) -> Json:
        text: str = event.value
        if not event.implicit[0]:  # quoted, or a block
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        return float(text) if _FLOAT.fullmatch(text) else text

    def span(self, event: Any) -> Span:
        return Span(event.start_mark.index, event.end_mark.index)

    def fail(self, event: Any, code: str, message: str, help: str | None = None) -> SpecError:
        return _error(self.text, self.span(event), code, message, help)


# ── JSON ──────────────────────────────────────────────────────────────────────────────────

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]|[^\s\[\]{},:"]+')
"""Commas and colons are left out: the text is known to be JSON."""


def _read_json(text: str) -> Located:
    try:
        read_json(text)  # bounds the depth, too
    except JsonError as error:
        at = error.position or 0
        code = "E207" if isinstance(error, DuplicateKey) else "E201"
        raise _error(text, Span(at, at + 1), code, f"not valid JSON: {error.message}") from None
    tokens = _TOKEN.finditer(text)
    return _json_node(next(tokens), tokens)


def _json_node(token: re.Match[str], tokens: Iterator[re.Match[str]]) -> Located:
    """The value that begins with a token; the tokens after it are consumed up to its end."""
    node, end = Located(None, Span(*token.span())), token
    if token[0] == "[":
        node.value = []
        while (end := next(tokens))[0] != "]":
            node.value.append(_json_node(end, tokens))
    elif token[0] == "{":
        node.value = {}
        while (end := next(tokens))[0] != "}":
            name = json.loads(end[0])
            node.keys[name] = Span(*end.span())
            node.value[name] = _json_node(next(tokens), tokens)
    else:
        node.value = json.loads(token[0])
    node.span = Span(token.start(), end.end())
    return node


def _error(text: str, span: Span, code: str, message: str, help: str | None = None) -> SpecError:
    return SpecError(Diagnostic.at(text, span, code, message, help))
