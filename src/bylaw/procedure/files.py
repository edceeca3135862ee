"""Procedure files: every field checked, every mistake reported with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypedDict

from bylaw.errors import Diagnostic, Span, SpecError, shown
from bylaw.logic.formula import Formula
from bylaw.procedure.constraint import Constraint, Severity
from bylaw.procedure.document import Located, locate, read_document
from bylaw.procedure.failure import Failure, failure_problem
from bylaw.procedure.file_names import NameReader
from bylaw.semantics.reference import check_closed
from bylaw.syntax.json_form import from_json
from bylaw.syntax.parser import parse_in
from bylaw.syntax.printer import to_text
from bylaw.syntax.scope import Scope
from bylaw.trace.record import kind_of
from bylaw.trace.trace import Events
from bylaw.values import Json
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order

MAX_BYTES: Final = 16 << 20
VERSIONS: Final = (1,)
_FIELDS: Final = (
    *("bylaw", "name", "tools", "groups", "constants", "define", "failed"),
    *("order", "events", "finish", "constraints"),
)
_CONSTRAINT_FIELDS: Final = ("name", "rule", "events", "weight", "layer", "severity", "why", "fix")
_SEVERITIES: Final = tuple(severity.value for severity in Severity)
_EVENTS: Final = ("calls", "all")
Finish: TypeAlias = Literal["free", "met"]
FINISH: Final = ("free", "met")
"""When an agent may finish: whenever it likes, or once every rule that a gate enforces is met."""


class Settings(TypedDict):
    """What a procedure is made of."""

    constraints: Sequence[Constraint]
    name: str
    tools: Sequence[str] | None
    groups: Mapping[str, Sequence[str]]
    constants: Mapping[str, Json]
    define: Mapping[str, str]
    failed: Failure | None
    order: Order
    events: Events
    finish: Finish


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


class _Reader(NameReader):
    """Reads one document; `text` is what it was read from, if there is one."""

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
        constants = self.constants(fields.get("constants"))
        kinds = {"tool": tools or (), "group": groups, "constant": constants}
        taken = {name: kind for kind, names in kinds.items() for name in names}
        define, macros = self.definitions(fields.get("define"), taken)
        scope = Scope.of(tools, groups, self.vocabulary, constants, macros)
        settings = Settings(
            name=self.string(fields.get("name"), "name") or default_name,
            tools=tools,
            groups=groups,
            constants=constants,
            define=define,
            failed=self.failed(fields.get("failed"), scope),
            order=self.choice(fields.get("order"), "order", ("position", "step")),  # type: ignore[typeddict-item]  # a choice
            events=self.choice(fields.get("events"), "events", _EVENTS),  # type: ignore[typeddict-item]  # a choice
            finish=self.choice(fields.get("finish"), "finish", FINISH),  # type: ignore[typeddict-item]  # a choice
            constraints=self.constraints(document, scope),
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

    def failed(self, node: Located | None, scope: Scope) -> Failure | None:
        """How the procedure's tools report failure."""
        rule = self.rule(node, "failed", scope)
        if rule is None or node is None:
            return None
        formula, written = rule
        if reason := failure_problem(formula):
            help = "For example: text ~ /^Error/."
            self.complain(node.span, "failed", "E213", reason, help)
        return Failure(formula, written)

    # ── constraints ──────────────────────────────────────────────────────────────────────

    def constraints(self, document: Located, scope: Scope) -> list[Constraint]:
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
            constraint = self.constraint(item, f"constraints[{index}]", scope)
            name = item.value.get("name") if isinstance(item.value, dict) else None
            if name is not None and isinstance(name.value, str):
                if name.value in first_use:
                    message = f"two constraints are called '{name.value}'"
                    self.complain(name.span, f"constraints[{index}].name", "E209", message)
                first_use.setdefault(name.value, index)
            if constraint:
                found.append(constraint)
        return found

    def constraint(self, node: Located, where: str, scope: Scope) -> Constraint | None:
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
        events: Events | None = None
        if "events" in fields and fields["events"].value is not None:
            events = self.choice(fields["events"], f"{where}.events", _EVENTS)  # type: ignore[assignment]  # a choice
        rule = self.rule(fields.get("rule"), f"{where}.rule", scope)
        if rule is None or not name:
            return None
        formula, written = rule
        return Constraint(name, formula, weight, layer, severity, why, fix, written, events)

    def rule(self, node: Located | None, where: str, scope: Scope) -> tuple[Formula, str] | None:
        if node is None or node.value in (None, ""):
            return None
        try:
            if isinstance(node.value, dict):
                # Read as text too, so that both forms are held to the same checks.
                written = to_text(from_json(node.plain()))
                plain = replace(scope, groups={}, constants={}, macros={})
                formula = parse_in(written, plain)
            else:
                text = self.written(node, where)
                if text is None:
                    return None
                written = text
                formula = parse_in(written, scope)
            check_closed(formula, self.vocabulary)
        except SpecError as error:
            self.problems_of(error.diagnostics, node, where)
            return None
        return formula, written.strip()
