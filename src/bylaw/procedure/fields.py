"""Single fields of a document, read with checks that name the expected and the found value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from bylaw.errors import (
    MAX_DIAGNOSTICS,
    Diagnostic,
    Span,
    SpecError,
    did_you_mean,
    listing,
    not_a_choice,
)
from bylaw.procedure.constraint import weight_problem
from bylaw.procedure.document import Located, align
from bylaw.values import kind_of
from bylaw.vocabulary.registry import Vocabulary

_Choice = TypeVar("_Choice", bound=str)
_Default = TypeVar("_Default", bound=str | None)


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
                help = did_you_mean(name, known) or f"The fields here are: {listing(known)}."
                self.complain(span, where + name, "E202", f"unknown field '{name}'", help)

    def placed(self, problem: Diagnostic, node: Located, where: str) -> Diagnostic:
        """A mistake inside a rule's text, with its position in the file."""
        if self.text is None:
            return problem.inside(where)
        span = node.span
        if isinstance(node.value, str):
            places = align(node.value, self.text, node.span)
            span = Span(places[0], places[-1])
            if problem.line is not None and problem.column is not None:
                lines = node.value.split("\n")[: problem.line - 1]
                offset = sum(len(line) + 1 for line in lines) + problem.column - 1
                start = places[min(offset, len(places) - 1)]
                end = places[min(offset + problem.width, len(places) - 1)]
                span = Span(start, max(end, start + 1))
        return Diagnostic.at(self.text, span, problem.code, problem.message, problem.help)

    # ── values ───────────────────────────────────────────────────────────────────────────

    def string(self, node: Located | None, where: str) -> str | None:
        if node is None or node.value is None:
            return None
        if not isinstance(node.value, str):
            self.expected(node, where, "text", 'Put it in quotes: "…".')
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
            self.complain(node.span, where, "E205", reason)
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
        given = node.value if isinstance(node.value, str) else kind_of(node.value)
        message, help = not_a_choice(where.rpartition(".")[2], given, choices)
        self.complain(node.span, where, "E212", message, help)
        return default

    def names(self, node: Located, where: str) -> list[str]:
        """The tool names in a list."""
        if not isinstance(node.value, list):
            self.expected(node, where, "a list of tool names")
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
            self.expected(node, field, f"a mapping from names to {of}")
            return []
        return [
            (name, value, f"{field}.{name}", node.keys.get(name, node.span))
            for name, value in node.value.items()
        ]
