"""The names that a procedure file gives: tools, groups, constants, definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bylaw.errors import Diagnostic, Span, SpecError
from bylaw.logic.operators import is_plain, may_be_variable
from bylaw.procedure.document import Located
from bylaw.procedure.fields import FieldReader
from bylaw.syntax.parser import read_definition
from bylaw.syntax.scope import Macro, group_members, group_problem
from bylaw.values import Json


class NameReader(FieldReader):
    """Reads the fields that give names."""

    def tools(self, node: Located | None) -> list[str] | None:
        """The tools, where the file lists them."""
        if node is None or node.value is None:
            return None
        return self.names(node, "tools")

    def groups(self, node: Located | None, tools: Sequence[str] | None) -> dict[str, list[str]]:
        """The groups as they are written: of tools, of forms such as `get_*`, of other groups."""
        groups: dict[str, list[str]] = {}
        for name, members, where, span in self.named(node, "groups", "lists of tools"):
            if not is_plain(name) or (tools and name in tools):
                reason = "is a tool already" if tools and name in tools else "is not a plain name"
                self.complain(span, where, "E211", f"the group name '{name}' {reason}")
            groups[name] = self.names(members, where)
        listed = {name: tuple(members) for name, members in groups.items()}
        for name, members, where, _ in self.named(node, "groups", ""):
            if not group_members(name, listed):
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
                message = f"the constant name '{name}' is not a plain name, or is taken"
                self.complain(span, where, "E211", message)
        return found

    def definitions(
        self, node: Located | None, taken: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, Macro]]:
        """The definitions, as they are written and as they are read; `taken` names are not free."""
        written: dict[str, str] = {}
        macros: dict[str, Macro] = {}
        for head, body, where, span in self.named(node, "define", "rules or values"):
            text = self.written(body, where)
            if not text:
                self.complain(body.span, where, "E202", f"'{head}' stands for nothing")
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
                self.complain(span, where, "E211", f"'{macro.name}' is a {kind} already")
            written[head] = text.strip()
            macros[macro.name] = macro
        return written, macros

    def named(
        self, node: Located | None, field: str, of: str
    ) -> list[tuple[str, Located, str, Span]]:
        """The entries of a mapping: name, value, where that is, and where the name stands."""
        if node is None or node.value is None:
            return []
        if not isinstance(node.value, dict):
            self.expected(node, field, f"a mapping from names to {of}")
            return []
        return [
            (name, value, f"{field}.{name}", node.keys.get(name, node.span))
            for name, value in node.value.items()
        ]

    def written(self, node: Located, where: str) -> str | None:
        """The text of a rule. YAML reads `rule: true` as a boolean; it is a rule all the same."""
        if isinstance(node.value, bool):
            return "true" if node.value else "false"
        return self.string(node, where)

    def problems_of(self, problems: Sequence[Diagnostic], node: Located, where: str) -> None:
        """Keeps the mistakes that a rule's text holds."""
        self.problems += [self.placed(problem, node, where) for problem in problems]
        self.stop_if_enough()
