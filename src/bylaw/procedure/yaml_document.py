"""YAML documents with the position of each value.

Mappings, lists, scalars and anchors are read. `true`, `false`, `null` and numbers are as in JSON,
so `no` and `on` are strings. Tags, cycles and unbounded expansion are errors.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import yaml

from bylaw.errors import MAX_DIAGNOSTICS, Diagnostic, Span, SpecError
from bylaw.procedure.document import MAX_NESTING, TOO_DEEP, Located
from bylaw.values import Json

MAX_NODES: Final = 200_000
"""The number of values a document may have, aliases expanded."""

_START: Final = "Begin with a rule: constraints: [{name: looked-up, rule: Called(lookup)}]"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
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


def read_yaml_document(text: str) -> Located:
    """The YAML document in a text. Raises a SpecError with the position of a mistake."""
    try:
        return _YamlBuilder(text).build()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = min(mark.index, len(text)) if mark else 0
        message = " ".join(filter(None, [error.context, error.problem]))
        raise _unreadable(text, Span(at, at + 1), message) from None
    except yaml.YAMLError as error:
        at = getattr(error, "position", 0) or 0
        reason = getattr(error, "reason", None) or "it cannot be read"
        raise _error(text, Span(at, at + 1), "E201", f"not valid YAML: {reason}") from None


def _unreadable(text: str, span: Span, message: str) -> SpecError:
    """The error for YAML that cannot be read, with the line corrected, and those after it."""
    from bylaw.procedure.yaml_advice import yaml_advice  # only mistakes need it

    found: list[Diagnostic] = []
    first = 0  # a line is corrected once: quotes around quotes would double them without end
    while True:
        advice = yaml_advice(text, span.start, _read_up_to, first=first)
        told = f"not valid YAML: {advice.message or message}"
        found.append(Diagnostic.at(text, span, "E201", told, advice.help, advice.line))
        corrected = advice.corrected
        if corrected is None or len(found) == MAX_DIAGNOSTICS:
            return SpecError(found)
        at = _read_up_to(corrected)
        if at == len(corrected):
            return SpecError(found)
        text, span, message = corrected, Span(at, at + 1), "this line cannot be read"
        first = advice.number + 1


def _read_up_to(text: str) -> int:
    """The place of the first mistake, or the length of the text if there is none."""
    event: Any
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None) is not None:
                return int(event.start_mark.index)  # anchors and tags that were not meant
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return min(mark.index, len(text) - 1) if mark else 0
    except yaml.YAMLError:
        return 0
    return len(text)


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
                        help = "Write each procedure to a file of its own, without ---."
                        message = "the file has more than one document"
                        raise self.fail(event, "E201", message, help)
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
                        raise self.fail(event, "E204", TOO_DEEP)
                    if event.anchor:
                        self.anchors[event.anchor] = None
                    kind: Any = [] if isinstance(event, yaml.SequenceStartEvent) else {}
                    self.open.append((Located(kind, self.span(event)), [], event.anchor))
                case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                    self.close(event)
        if self.root is None:
            raise _error(self.text, Span(0, 1), "E201", "the file is empty", _START)
        return self.root

    def add(self, event: Any, node: Located) -> None:
        if not self.open:
            self.root = node
            return
        container, items, _ = self.open[-1]
        container.size += node.size
        container.depth = max(container.depth, node.depth + 1)
        if container.depth > MAX_NESTING:
            raise self.fail(event, "E204", TOO_DEEP)
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
            span = self.span(event)
            raise _unreadable(self.text, span, f"the alias '*{event.anchor}' has no anchor")
        node = self.anchors[event.anchor]
        if node is None:
            raise self.fail(event, "E204", f"the alias '*{event.anchor}' contains itself")
        return node

    def check_tag(self, event: Any) -> None:
        if event.tag is not None:
            span = self.span(event)
            raise _unreadable(self.text, span, f"the tag '{event.tag}' is not supported")

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


def _error(
    text: str,
    span: Span,
    code: str,
    message: str,
    help: str | None = None,
    rewrite: str | None = None,
) -> SpecError:
    return SpecError(Diagnostic.at(text, span, code, message, help, rewrite))
