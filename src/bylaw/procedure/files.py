"""Procedure files: every field checked, every mistake reported with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypedDict

from bylaw.errors import MAX_DIAGNOSTICS, Diagnostic, Span, SpecError, did_you_mean, listing, shown
from bylaw.logic.formula import Formula
from bylaw.logic.operators import is_plain
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.constraint import Constraint, Severity, weight_problem
from bylaw.procedure.document import Located, align, locate, read_document
from bylaw.semantics.reference import check_closed
from bylaw.syntax.json_form import from_json
from bylaw.syntax.parser import parse
from bylaw.syntax.printer import to_text
from bylaw.trace.record import kind_of
from bylaw.trace.trace import Events
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order

MAX_BYTES: Final = 16 << 20
VERSIONS: Final = (1,)
_FIELDS: Final = ("bylaw", "name", "tools", "groups", "order", "events", "constraints")
_CONSTRAINT_FIELDS: Final = ("name", "rule", "weight", "layer", "severity", "why", "fix")
_SEVERITIES: Final = tuple(severity.value for severity in Severity)


class Settings(TypedDict):
    """What a procedure is made of."""

    constraints: Sequence[Constraint]
    name: str
    tools: Sequence[str] | None
    groups: Mapping[str, Sequence[str]]
    order: Order
    events: Events


def read_file(path: Path, vocabulary: Vocabulary) -> Settings:
    """The settings in a YAML or JSON file."""
    source = str(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            message = f"the file is larger than {MAX_BYTES >> 20} MiB"
            raise SpecError(Diagnostic("E204", message))
        text = content.decode("utf-8-sig")
        document = read_document(text, is_json=path.suffix == ".json")
        return _Reader(text, vocabulary).procedure(document, path.stem)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError(Diagnostic("E206", f"cannot be read: {reason}", source=source)) from None
    except UnicodeDecodeError as error:
        message = f"the text is not UTF-8: {error.reason} at byte {error.start}"
        raise SpecError(Diagnostic("E206", message, source=source)) from None
    except SpecError as error:
        raise SpecError([d.located(source) for d in error.diagnostics]) from None


def read_mapping(data: Mapping[str, Any], vocabulary: Vocabulary) -> Settings:
    """The settings in a mapping."""
    return _Reader(None, vocabulary).procedure(locate(dict(data)), "procedure")


class _Reader:
    """Reads one document; `text` is what it was read from, if there is one."""

    def __init__(self, text: str | None, vocabulary: Vocabulary) -> None:
        self.text = text
        self.vocabulary = vocabulary
        self.problems: list[Diagnostic] = []

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

    # ── the procedure ────────────────────────────────────────────────────────────────────

    def procedure(self, document: Located, default_name: str) -> Settings:
        if not isinstance(document.value, dict):
            kind = kind_of(document.value)
            self.complain(document.span, "procedure", "E201", f"expected a mapping, found {kind}")
            raise SpecError(self.problems)
        fields: dict[str, Located] = document.value
        self.version(fields.get("bylaw"))
        self.unknown_fields(document, _FIELDS, "")
        tools = self.tools(fields.get("tools"))
        groups = self.groups(fields.get("groups"), tools)
        settings = Settings(
            name=self.string(fields.get("name"), "name") or default_name,
            tools=tools,
            groups=groups,
            order=self.choice(fields.get("order"), "order", ("position", "step")),  # type: ignore[typeddict-item]
            events=self.choice(fields.get("events"), "events", ("calls", "all")),  # type: ignore[typeddict-item]
            constraints=self.constraints(document, tools, groups),
        )
        if self.problems:
            raise SpecError(sorted(self.problems, key=lambda d: (d.line or 0, d.column or 0)))
        return settings

    def version(self, version: Located | None) -> None:
        if version is None or (type(version.value) is int and version.value in VERSIONS):
            return
        known = ", ".join(map(str, VERSIONS))
        help = f"This release reads version {known}: upgrade bylaw, or convert the file."
        message = f"unknown format version {shown(version.plain())}"
        self.complain(version.span, "bylaw", "E203", message, help)
        raise SpecError(self.problems)  # the rest cannot be understood

    def unknown_fields(self, node: Located, known: Sequence[str], where: str) -> None:
        for name in node.value:
            if name not in known:
                span = node.keys.get(name, node.span)
                help = did_you_mean(name, known) or f"The fields here are: {listing(known)}."
                self.complain(span, where + name, "E202", f"unknown field '{name}'", help)

    def tools(self, node: Located | None) -> list[str] | None:
        if node is None or node.value is None:
            return None
        return self.names(node, "tools")

    def groups(self, node: Located | None, tools: list[str] | None) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        if node is None or node.value is None:
            return groups
        if not isinstance(node.value, dict):
            self.expected(node, "groups", "a mapping from names to lists of tools")
            return groups
        for name, members in node.value.items():
            where, span = f"groups.{name}", node.keys.get(name, node.span)
            if not is_plain(name) or (tools and name in tools):
                reason = "is a tool already" if tools and name in tools else "is not a plain name"
                self.complain(span, where, "E211", f"the group name '{name}' {reason}")
            groups[name] = self.names(members, where)
            if not groups[name]:
                self.complain(members.span, where, "E106", f"the group '{name}' is empty")
            known = None if tools is None else {*tools, FINAL_ANSWER}
            for member in groups[name]:
                if known is not None and member not in known:
                    help = did_you_mean(member, tools or ())
                    self.complain(members.span, where, "E104", f"unknown tool '{member}'", help)
        return {name: members for name, members in groups.items() if members}

    def names(self, node: Located, where: str) -> list[str]:
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

    # ── constraints ──────────────────────────────────────────────────────────────────────

    def constraints(
        self, document: Located, tools: list[str] | None, groups: Mapping[str, Sequence[str]]
    ) -> list[Constraint]:
        node = document.value.get("constraints")
        if node is None or node.value in (None, []):
            span = document.span if node is None else node.span
            help = "Add at least one rule: - {name: looked-up, rule: Called(lookup)}"
            message = "the procedure has no constraints"
            self.complain(Span(span.start, span.start + 1), "constraints", "E208", message, help)
            return []
        if not isinstance(node.value, list):
            self.expected(node, "constraints", "a list of constraints")
            return []
        found: list[Constraint] = []
        first_use: dict[str, int] = {}
        for index, item in enumerate(node.value):
            constraint = self.constraint(item, f"constraints[{index}]", tools, groups)
            name = item.value.get("name") if isinstance(item.value, dict) else None
            if name is not None and isinstance(name.value, str):
                if name.value in first_use:
                    message = f"two constraints are called '{name.value}'"
                    self.complain(name.span, f"constraints[{index}].name", "E209", message)
                first_use.setdefault(name.value, index)
            if constraint:
                found.append(constraint)
        return found

    def constraint(
        self,
        node: Located,
        where: str,
        tools: list[str] | None,
        groups: Mapping[str, Sequence[str]],
    ) -> Constraint | None:
        if not isinstance(node.value, dict):
            self.expected(node, where, "a mapping with name and rule")
            return None
        fields: dict[str, Located] = node.value
        self.unknown_fields(node, _CONSTRAINT_FIELDS, f"{where}.")
        for required in ("name", "rule"):
            if required not in fields or fields[required].value in (None, ""):
                span = Span(node.span.start, node.span.start + 1)
                self.complain(span, where, "E202", f"the constraint has no '{required}'")
        weight = self.weight(fields.get("weight"), f"{where}.weight")
        layer = self.string(fields.get("layer"), f"{where}.layer")
        why = self.string(fields.get("why"), f"{where}.why")
        fix = self.string(fields.get("fix"), f"{where}.fix")
        name = self.string(fields.get("name"), f"{where}.name")
        severity_node = fields.get("severity")
        severity = Severity.SOFT_BLOCK
        if severity_node is not None and severity_node.value is not None:
            severity = Severity(self.choice(severity_node, f"{where}.severity", _SEVERITIES))
        rule = self.rule(fields.get("rule"), f"{where}.rule", tools, groups)
        if rule is None or not name:
            return None
        formula, written = rule
        return Constraint(name, formula, weight, layer, severity, why, fix, written)

    def rule(
        self,
        node: Located | None,
        where: str,
        tools: list[str] | None,
        groups: Mapping[str, Sequence[str]],
    ) -> tuple[Formula, str] | None:
        if node is None or node.value in (None, ""):
            return None
        try:
            if isinstance(node.value, dict):
                # Read as text too, so that both forms are held to the same checks.
                written = to_text(from_json(node.plain()))
                formula = parse(written, tools=tools, vocabulary=self.vocabulary)
            else:
                text = self.written(node, where)
                if text is None:
                    return None
                written = text
                formula = parse(written, tools=tools, groups=groups, vocabulary=self.vocabulary)
            check_closed(formula, self.vocabulary)
        except SpecError as error:
            self.problems += [self.placed(d, node, where) for d in error.diagnostics]
            self.stop_if_enough()
            return None
        return formula, written.strip()

    def written(self, node: Located, where: str) -> str | None:
        """The text of a rule. YAML reads `rule: true` as a boolean; it is a rule all the same."""
        if isinstance(node.value, bool):
            return "true" if node.value else "false"
        return self.string(node, where)

    def placed(self, problem: Diagnostic, node: Located, where: str) -> Diagnostic:
        """A mistake inside a rule, pointed at where the rule stands in the file."""
        if self.text is None or not isinstance(node.value, str):
            if self.text is None:
                return problem.inside(where)
            return Diagnostic.at(self.text, node.span, problem.code, problem.message, problem.help)
        places = align(node.value, self.text, node.span)
        if problem.line is None or problem.column is None:
            span = Span(places[0], places[-1])
        else:
            lines = node.value.split("\n")
            offset = sum(len(line) + 1 for line in lines[: problem.line - 1]) + problem.column - 1
            start = places[min(offset, len(places) - 1)]
            end = places[min(offset + problem.width, len(places) - 1)]
            span = Span(start, max(end, start + 1))
        return Diagnostic.at(self.text, span, problem.code, problem.message, problem.help)

    # ── single values ────────────────────────────────────────────────────────────────────

    def weight(self, node: Located | None, where: str) -> float:
        if node is None or node.value is None:
            return 1.0
        reason = weight_problem(node.value)
        if reason:
            self.complain(node.span, where, "E205", reason)
            return 1.0
        return float(node.value)

    def string(self, node: Located | None, where: str) -> str | None:
        if node is None or node.value is None:
            return None
        if not isinstance(node.value, str):
            self.expected(node, where, "text", 'Put it in quotes: "…".')
            return None
        return node.value

    def choice(self, node: Located | None, where: str, choices: Sequence[str]) -> str:
        """One of the choices; the first where nothing is said."""
        if node is None or node.value is None:
            return choices[0]
        if node.value not in choices:
            given = node.value if isinstance(node.value, str) else kind_of(node.value)
            close = did_you_mean(given, choices)
            message = f"'{where.rpartition('.')[2]}' cannot be {shown(given)}"
            help = " ".join(filter(None, [close, f"It is one of: {', '.join(choices)}."]))
            self.complain(node.span, where, "E212", message, help)
            return choices[0]
        return str(node.value)

    def expected(self, node: Located, where: str, wanted: str, help: str | None = None) -> None:
        message = f"expected {wanted}, found {kind_of(node.value)}"
        self.complain(node.span, where, "E202", message, help)
