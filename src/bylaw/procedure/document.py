"""Documents with the position of each value, and their fields.

Fields are read with checks that name the expected and the found value, and every mistake is
reported with its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from bylaw.errors import (
    MAX_DIAGNOSTICS,
    Diagnostic,
    Span,
    SpecError,
    closest,
    did_you_mean,
    listing,
    not_a_choice,
    shown,
)
from bylaw.frozen import field, record
from bylaw.opening import open_regular
from bylaw.procedure.field_words import FIELD_WORDS, SEVERITY_WORDS
from bylaw.procedure.procedure import weight_problem
from bylaw.values import DuplicateKey, Json, JsonError, is_text, kind_of, read_json
from bylaw.vocabulary.registry import Vocabulary

MAX_BYTES: Final = 16 << 20
"""The size of a file that is read."""
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
MAX_NESTING: Final = 64
TOO_DEEP: Final = f"the document nests more than {MAX_NESTING} deep"
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]|[^\s\[\]{},:"]+')
"""Commas and colons are left out: the text is known to be JSON."""

_Choice = TypeVar("_Choice", bound=str)
_Default = TypeVar("_Default", bound=str | None)


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
        raise SpecError(Diagnostic("E206", f"cannot be read: {reason}", _nearby(path))) from None
    except UnicodeDecodeError as error:
        message = f"the text is not UTF-8: {error.reason} at byte {error.start}"
        raise SpecError(Diagnostic("E206", message)) from None
    if path.suffix == ".json":
        return text, read_json_document(text)
    from bylaw.procedure.yaml_document import read_yaml_document  # slow to import

    return text, read_yaml_document(text)


def _nearby(path: Path) -> str | None:
    """The files that may be meant."""
    try:
        folder = path if path.is_dir() else path.parent
        names = [each.name for each in folder.iterdir() if each.suffix in _SUFFIXES]
    except OSError:
        return None
    if folder == path and names:
        return f"Name a file in it: {listing(sorted(names), 4)}."
    return did_you_mean(path.name, names)


def locate(value: Any, depth: int = 1) -> Located:
    """A Python value as a document without positions."""
    nowhere = Span(0, 0)
    if depth > MAX_NESTING:
        raise SpecError(Diagnostic("E204", TOO_DEEP))
    if isinstance(value, dict):
        return Located({str(key): locate(item, depth + 1) for key, item in value.items()}, nowhere)
    if isinstance(value, list | tuple):
        return Located([locate(item, depth + 1) for item in value], nowhere)
    return Located(value, nowhere)


def read_json_document(text: str) -> Located:
    """The JSON document in a text. Raises a SpecError with the position of a mistake."""
    try:
        read_json(text)  # bounds the depth, too
    except JsonError as error:
        at = error.position or 0
        code = "E207" if isinstance(error, DuplicateKey) else "E201"
        from bylaw.json_advice import json_advice  # only mistakes need it

        message, help = f"not valid JSON: {error.message}", json_advice(text, error.position)
        raise SpecError(Diagnostic.at(text, Span(at, at + 1), code, message, help)) from None
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


# ── fields ─────────────────────────────────────────────────────────────────────────────


class FieldReader:
    """Reads the fields of one document, and collects the mistakes in them.

    `text` is the source of the document, or None if it came as a mapping.
    """

    def __init__(self, text: str | None, vocabulary: Vocabulary) -> None:
        self.text = text
        self.vocabulary = vocabulary
        self.problems: list[Diagnostic] = []

    # ── mistakes ─────────────────────────────────────────────────────────────────────────

    def complain(
        self, span: Span, where: str, code: str, message: str, help: str | None = None
    ) -> None:
        if self.text is None:
            self.problems.append(Diagnostic(code, message, help, where=where))
        else:
            self.problems.append(Diagnostic.at(self.text, span, code, message, help))
        self.stop_if_enough()

    def stop_if_enough(self) -> None:
        if len(self.problems) >= MAX_DIAGNOSTICS:
            raise SpecError(self.problems[:MAX_DIAGNOSTICS])

    def expected(self, node: Located, where: str, wanted: str, help: str | None = None) -> None:
        message = f"expected {wanted}, found {kind_of(node.value)}"
        self.complain(node.span, where, "E202", message, help)

    def unknown_fields(self, node: Located, known: Sequence[str], where: str) -> None:
        for name in node.value:
            if name not in known:
                span = node.keys.get(name, node.span)
                meant = FIELD_WORDS.get(name.lower())
                if meant in known and meant not in node.value:
                    help = f"This field is called {meant}."
                else:
                    help = did_you_mean(name, known) or f"The fields here are: {listing(known)}."
                self.complain(span, where + name, "E202", f"unknown field '{name}'", help)

    def is_meant(self, node: Located, field: str) -> bool:
        """Does the mapping have the field under another name, which was reported?"""
        return any(
            FIELD_WORDS.get(name.lower()) == field or closest(name, [field]) for name in node.value
        )

    def placed(self, problem: Diagnostic, node: Located, where: str) -> Diagnostic:
        """A mistake inside a rule's text, with its position in the file."""
        if self.text is None:
            return problem.inside(where)
        span = node.span
        if isinstance(node.value, str):
            places = _align(node.value, self.text, node.span)
            span = Span(places[0], places[-1])
            if problem.line is not None and problem.column is not None:
                lines = node.value.split("\n")[: problem.line - 1]
                offset = sum(len(line) + 1 for line in lines) + problem.column - 1
                start = places[min(offset, len(places) - 1)]
                end = places[min(offset + problem.width, len(places) - 1)]
                span = Span(start, max(end, start + 1))
        help, rewrite = problem.help, problem.rewrite
        if isinstance(node.value, str) and self.text[node.span.end :].lstrip(" ").startswith("#"):
            line = self.text[node.span.start :].split("\n", 1)[0]
            if line.count('"') % 2 == 0 and node.value.count('"') % 2:
                help = "YAML takes ' #' for the beginning of a comment: put the rule in quotes."
                rewrite = f"rule: '{line}'"
        return Diagnostic.at(self.text, span, problem.code, problem.message, help, rewrite)

    # ── values ───────────────────────────────────────────────────────────────────────────

    def string(self, node: Located | None, where: str) -> str | None:
        if node is None or node.value is None:
            return None
        if not isinstance(node.value, str):
            help: str | None = f'Put it in quotes: "{shown(node.value)}".'
            if isinstance(node.value, list):
                help = "Write a constraint for each, or join them in one text with &."
            elif isinstance(node.value, dict):
                help = None
            self.expected(node, where, "text", help)
            return None
        return node.value

    def rule_text(self, node: Located, where: str) -> str | None:
        """The text of a rule. YAML reads `rule: true` as a boolean, but it is a rule."""
        if isinstance(node.value, bool):
            return "true" if node.value else "false"
        return self.string(node, where)

    def weight(self, node: Located | None, where: str) -> float:
        if node is None or node.value is None:
            return 1.0
        if reason := weight_problem(node.value):
            help = "Write a number above 0; without one, the weight is 1."
            if isinstance(node.value, str) and node.value.replace(".", "", 1).isdigit():
                help = f"Write it without quotes: weight: {node.value}."
            self.complain(node.span, where, "E205", reason, help)
            return 1.0
        return float(node.value)

    def choice(
        self, node: Located | None, where: str, choices: Sequence[_Choice], default: _Default
    ) -> _Choice | _Default:
        """One of the choices, or the default if there is no value."""
        if node is None or node.value is None:
            return default
        for choice in choices:
            if choice == node.value:
                return choice
        message, help = not_a_choice(where.rpartition(".")[2], node.plain(), choices)
        meant = SEVERITY_WORDS.get(node.value.lower()) if is_text(node.value) else None
        if meant in choices:
            help = f"did you mean '{meant}'? It is one of: {', '.join(choices)}."
        self.complain(node.span, where, "E212", message, help)
        return default

    def names(self, node: Located, where: str) -> list[str]:
        """The tool names in a list."""
        if not isinstance(node.value, list):
            help = f"Put brackets around it: [{node.value}]." if is_text(node.value) else None
            self.expected(node, where, "a list of tool names", help)
            return []
        found = []
        for index, item in enumerate(node.value):
            name = self.string(item, f"{where}[{index}]")
            if name:
                found.append(name)
            elif item.value == "":
                self.expected(item, f"{where}[{index}]", "a tool name")
        return found

    def named(
        self, node: Located | None, field: str, of: str
    ) -> list[tuple[str, Located, str, Span]]:
        """The entries of a mapping: name, value, path of the value, and span of the name."""
        if node is None or node.value is None:
            return []
        if not isinstance(node.value, dict):
            self.expected(node, field, f"a mapping from names to {of}", "Write {NAME: …, …}.")
            return []
        return [
            (name, value, f"{field}.{name}", node.keys.get(name, node.span))
            for name, value in node.value.items()
        ]


def _align(value: str, text: str, span: Span) -> list[int]:
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
