"""Procedure files: every field is checked, and every mistake is reported with its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, get_args

from bylaw.errors import Span, SpecError, shown
from bylaw.frozen import replace
from bylaw.logic.formula import Formula
from bylaw.logic.operators import VALUES, is_plain, may_be_variable
from bylaw.procedure.across import LABELS, across_problem
from bylaw.procedure.document import FieldReader, Located, locate, read_document_file
from bylaw.procedure.failure import Failure, failure_problem
from bylaw.procedure.procedure import SEVERITIES, Constraint, Finish, Unlisted
from bylaw.syntax.elaborate import parse_in
from bylaw.syntax.json_form import from_json
from bylaw.syntax.parser import read_definition
from bylaw.syntax.printer import to_text
from bylaw.syntax.scope import Macro, NameScope, check_closed, group_members, group_problem
from bylaw.trace.trace import Events
from bylaw.values import Json, kind_of
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order

if TYPE_CHECKING:
    from bylaw.procedure.toolset.schema import ToolSchema

VERSIONS: Final = (1,)
PROCEDURE_FIELDS: Final = (
    *("bylaw", "name", "tools", "groups", "constants", "define", "failed"),
    *("unlisted", "order", "events", "finish", "constraints"),
)
CONSTRAINT_FIELDS: Final = (
    *("name", "rule", "across", "events", "weight", "layer", "severity", "why", "fix"),
)
_ORDERS: Final[tuple[Order, ...]] = get_args(Order)
_EVENTS: Final[tuple[Events, ...]] = get_args(Events)
_FINISH: Final[tuple[Finish, ...]] = get_args(Finish)
_UNLISTED: Final[tuple[Unlisted, ...]] = get_args(Unlisted)


_REQUIRED: Final = {"name": "name: verify-first", "rule": "rule: G(refund -> O verify)"}
"""The fields that every constraint has, with an example."""
_TRACE_FIELDS: Final = frozenset({"tool_calls", "messages", "traj", "resourceSpans", "steps"})
"""Fields that traces have and procedures do not."""


class ProcedureFields(TypedDict):
    """The contents of a procedure file."""

    constraints: Sequence[Constraint]
    name: str
    tools: Mapping[str, ToolSchema | None] | None
    groups: Mapping[str, Sequence[str]]
    constants: Mapping[str, Json]
    define: Mapping[str, str]
    failed: Failure | None
    unlisted: Unlisted
    order: Order
    events: Events
    finish: Finish


def read_file(path: Path, vocabulary: Vocabulary) -> ProcedureFields:
    """The contents of a YAML or JSON file."""
    try:
        text, document = read_document_file(path)
        reader = _ProcedureReader(text, vocabulary, path.parent)
        return reader.procedure(document, path.stem)
    except SpecError as error:
        raise SpecError([d.located(str(path)) for d in error.diagnostics]) from None


def read_mapping(data: Mapping[str, Any], vocabulary: Vocabulary) -> ProcedureFields:
    """The contents of a mapping with the fields of a procedure file."""
    return _ProcedureReader(None, vocabulary).procedure(locate(dict(data)), "procedure")


class _ProcedureReader(FieldReader):
    """Reads one document and collects its mistakes. `folder` is where other files are found."""

    def __init__(
        self, text: str | None, vocabulary: Vocabulary, folder: Path | None = None
    ) -> None:
        super().__init__(text, vocabulary)
        self.folder: Final = folder

    def procedure(self, document: Located, default_name: str) -> ProcedureFields:
        if not isinstance(document.value, dict):
            kind = kind_of(document.value)
            message = f"expected a mapping, found {kind}"
            self.complain(document.span, "procedure", "E201", message, _top_level(document))
            raise SpecError(self.problems)
        fields: dict[str, Located] = document.value
        if "constraints" not in fields and (known := _TRACE_FIELDS & fields.keys()):
            message = f"this is a trace, not a procedure: it has {', '.join(sorted(known))}"
            span = document.keys.get(min(known), Span(0, 1))
            help = "A procedure has constraints. Traces are checked with bylaw verify -p PROCEDURE."
            self.complain(span, min(known), "E201", message, help)
            raise SpecError(self.problems)
        self.version(fields.get("bylaw"))
        self.unknown_fields(document, PROCEDURE_FIELDS, "")
        tools = self.tools(fields.get("tools"))
        groups = self.groups(fields.get("groups"), tools)
        constants = self.constants(fields.get("constants"))
        kinds = {"tool": tools or (), "group": groups, "constant": constants}
        taken = {name: kind for kind, names in kinds.items() for name in names}
        define, macros = self.definitions(fields.get("define"), taken)
        scope = NameScope.of(tools, groups, self.vocabulary, constants, macros)
        contents = ProcedureFields(
            name=self.string(fields.get("name"), "name") or default_name,
            tools=tools,
            groups=groups,
            constants=constants,
            define=define,
            failed=self.failed(fields.get("failed"), scope),
            unlisted=self.choice(fields.get("unlisted"), "unlisted", _UNLISTED, _UNLISTED[0]),
            order=self.choice(fields.get("order"), "order", _ORDERS, _ORDERS[0]),
            events=self.choice(fields.get("events"), "events", _EVENTS, _EVENTS[0]),
            finish=self.choice(fields.get("finish"), "finish", _FINISH, _FINISH[0]),
            constraints=self.constraints(document, scope),
        )
        if self.problems:
            raise SpecError(sorted(self.problems, key=lambda d: (d.line or 0, d.column or 0)))
        return contents

    def version(self, version: Located | None) -> None:
        if version is None or (type(version.value) is int and version.value in VERSIONS):
            return
        known = ", ".join(map(str, VERSIONS))
        if isinstance(version.value, str) and version.value in map(str, VERSIONS):
            message = f"the format version is a number, not {kind_of(version.value)}"
            help = f"Write it without quotes: bylaw: {version.value}"
            self.complain(version.span, "bylaw", "E203", message, help)
            return
        help = f"This release reads version {known}: upgrade bylaw, or convert the file."
        message = f"unknown format version {shown(version.plain())}"
        self.complain(version.span, "bylaw", "E203", message, help)
        raise SpecError(self.problems)  # the other fields may mean something else

    # ── names ────────────────────────────────────────────────────────────────────────────

    def tools(self, node: Located | None) -> Mapping[str, ToolSchema | None] | None:
        """The tools by name, perhaps with schemas; None if the file lists none."""
        if node is None or node.value is None:
            return None
        if isinstance(node.value, list) and not any(isinstance(i.value, dict) for i in node.value):
            return dict.fromkeys(self.names(node, "tools"))
        # Slow to import, and most procedures have only names.
        from bylaw.procedure.toolset.definitions import read_tools

        return read_tools(self, node, self.folder)

    def groups(self, node: Located | None, tools: Collection[str] | None) -> dict[str, list[str]]:
        """The groups as written. Members are tools, globs such as `get_*`, and other groups."""
        groups: dict[str, list[str]] = {}
        for name, members, where, span in self.named(node, "groups", "lists of tools"):
            if not is_plain(name) or (tools and name in tools):
                reason = "is already a tool" if tools and name in tools else "is not a plain name"
                self.complain(span, where, "E211", f"the group name '{name}' {reason}")
            groups[name] = self.names(members, where)
        listed = {name: tuple(members) for name, members in groups.items()}
        for name, members, where, _ in self.named(node, "groups", "") if listed else ():
            if not group_members(name, listed):
                if isinstance(members.value, list):
                    self.complain(members.span, where, "E106", f"the group '{name}' is empty")
                del groups[name]
            for member in listed[name]:
                if problem := group_problem(member, listed, tools):
                    self.complain(members.span, where, "E104", *problem)
        return groups

    def constants(self, node: Located | None) -> dict[str, Json]:
        """The named values."""
        found: dict[str, Json] = {}
        for name, value, where, span in self.named(node, "constants", "values"):
            if may_be_variable(name):
                found[name] = value.plain()
            else:
                message = f"the constant name '{name}' is reserved, or not a plain name"
                self.complain(span, where, "E211", message)
        return found

    def definitions(
        self, node: Located | None, taken: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, Macro]]:
        """The definitions as written, and as macros. They must not redefine a name in `taken`."""
        written: dict[str, str] = {}
        macros: dict[str, Macro] = {}
        for head, body, where, span in self.named(node, "define", "rules or values"):
            text = self.rule_text(body, where)
            if not text:
                self.complain(body.span, where, "E202", f"the definition of '{head}' is empty")
                continue
            try:
                macro = read_definition(head, text)
            except SpecError as error:
                for problem in error.diagnostics:
                    if problem.code == "E118":
                        self.complain(span, where, problem.code, problem.message, problem.help)
                    else:
                        self.problems.append(self.placed(problem, body, where))
                continue
            if kind := taken.get(macro.name) or ("definition" if macro.name in macros else None):
                self.complain(span, where, "E211", f"'{macro.name}' is already a {kind}")
            written[head] = text.strip()
            macros[macro.name] = macro
        return written, macros

    def failed(self, node: Located | None, scope: NameScope) -> Failure | None:
        """The test for calls that failed."""
        rule = self.rule(node, "failed", scope)
        if rule is None or node is None:
            return None
        formula, written = rule
        if reason := failure_problem(formula):
            self.complain(node.span, "failed", "E213", reason, "For example: text ~ /^Error/.")
        return Failure(formula, written)

    # ── constraints ──────────────────────────────────────────────────────────────────────

    def constraints(self, document: Located, scope: NameScope) -> list[Constraint]:
        node = document.value.get("constraints")
        if node is None and self.is_meant(document, "constraints"):
            return []
        if node is None or node.value in (None, []):
            span = document.span if node is None else node.span
            help = "Add at least one rule: - {name: looked-up, rule: Called(lookup)}"
            message = "the procedure has no constraints"
            self.complain(Span(span.start, span.start + 1), "constraints", "E208", message, help)
            return []
        if not isinstance(node.value, list):
            self.expected(node, "constraints", "a list of constraints", _as_list(node))
            return []
        found: list[Constraint] = []
        names: set[str] = set()
        for index, item in enumerate(node.value):
            constraint = self.constraint(item, f"constraints[{index}]", scope)
            name = item.value.get("name") if isinstance(item.value, dict) else None
            if name is not None and isinstance(name.value, str):
                if name.value in names:
                    message = f"two constraints are called '{name.value}'"
                    help = f"Rename one of them, for example to {name.value}-2."
                    self.complain(name.span, f"constraints[{index}].name", "E209", message, help)
                names.add(name.value)
            if constraint:
                found.append(constraint)
        return found

    def constraint(self, node: Located, where: str, scope: NameScope) -> Constraint | None:
        if not isinstance(node.value, dict):
            help = f"Name it: {_named_rule(node.value)}" if isinstance(node.value, str) else None
            self.expected(node, where, "a mapping with name and rule", help)
            return None
        fields: dict[str, Located] = node.value
        self.unknown_fields(node, CONSTRAINT_FIELDS, f"{where}.")
        for required in _REQUIRED:
            if required not in fields or fields[required].value in (None, ""):
                if required not in fields and self.is_meant(node, required):
                    continue
                span = Span(node.span.start, node.span.start + 1)
                message = f"the constraint has no '{required}'"
                self.complain(span, where, "E202", message, f"Add {_REQUIRED[required]}")
        weight = self.weight(fields.get("weight"), f"{where}.weight")
        layer, why, fix, name = (
            self.string(fields.get(each), f"{where}.{each}")
            for each in ("layer", "why", "fix", "name")
        )
        severity = self.choice(fields.get("severity"), f"{where}.severity", SEVERITIES, None)
        events = self.choice(fields.get("events"), f"{where}.events", _EVENTS, None)
        rule = self.rule(fields.get("rule"), f"{where}.rule", scope)
        across = self.across(fields.get("across"), f"{where}.across")
        if rule is None or not name:
            return None
        formula, written = rule
        if across is not None and (problem := across_problem(formula, across)):
            self.complain(fields["across"].span, f"{where}.across", "E217", *problem)
            return None
        return Constraint(name, formula, weight, layer, severity, why, fix, written, events, across)

    def across(self, node: Located | None, where: str) -> str | None:
        """The label in `across: labels.customer`."""
        written = self.string(node, where)
        if node is None or not written:
            return None
        label = written.removeprefix(LABELS)
        if not is_plain(label) or label == written:
            name = label if is_plain(label) and label not in VALUES else "customer"
            help = f"Write the name of one label: across: {LABELS}{name}."
            message = f"'{written}' is not a label"
            self.complain(node.span, where, "E217", message, help)
            return None
        return label

    def rule(
        self, node: Located | None, where: str, scope: NameScope
    ) -> tuple[Formula, str] | None:
        if node is None or node.value in (None, ""):
            return None
        try:
            if isinstance(node.value, dict):
                # The JSON form is parsed as text too, so both forms pass the same checks.
                written = to_text(from_json(node.plain()))
                plain = replace(scope, groups={}, constants={}, macros={})
                formula = parse_in(written, plain)
            else:
                text = self.rule_text(node, where)
                if text is None:
                    return None
                written = text
                formula = parse_in(written, scope)
            check_closed(formula, self.vocabulary)
        except SpecError as error:
            self.problems += [self.placed(problem, node, where) for problem in error.diagnostics]
            self.stop_if_enough()
            return None
        return formula, written.strip()


# ── advice ────────────────────────────────────────────────────────────────────────────────


def _named_rule(rule: str, name: str = "rule-1") -> str:
    """A constraint in one line."""
    written = rule.strip().replace("'", "''")
    return f"{{name: {name}, rule: '{written}'}}"


def _as_list(node: Located) -> str:
    """The help for constraints that are not a list."""
    if isinstance(node.value, str):
        return f"Write a list: - {_named_rule(node.value)}"
    if not isinstance(node.value, dict):
        return "Write a list: - {name: verify-first, rule: G(refund -> O verify)}"
    name, value = next(iter(node.value.items()), ("verify-first", None))
    inner = value.value.get("rule") if value and isinstance(value.value, dict) else value
    rule = inner.value if inner and isinstance(inner.value, str) else "…"
    return f"Write a list, with the name as a field: - {_named_rule(rule, name)}"


def _top_level(document: Located) -> str:
    """The help for a document that is not a mapping."""
    if isinstance(document.value, str):
        return f"Write constraints: [{_named_rule(document.value)}]"
    return "Put the list under a key: constraints: […]"
