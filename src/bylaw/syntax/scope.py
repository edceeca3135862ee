"""The names that a formula may use, and their meanings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bylaw.errors import Diagnostic, Span, SpecError, closest, did_you_mean, listing
from bylaw.frozen import field, frozen, replace
from bylaw.logic import formula as f
from bylaw.logic.operators import VALUES
from bylaw.logic.terms import ToolGlob, ToolMember, ToolName
from bylaw.logic.walk import everything
from bylaw.names import FINAL_ANSWER
from bylaw.syntax.shapes import Item, Shape
from bylaw.values import Json
from bylaw.vocabulary.patterns import is_named
from bylaw.vocabulary.registry import EMPTY, Vocabulary


@frozen
class Macro:
    """A definition: a name, its parameters, and the shape that replaces it."""

    name: str
    parameters: tuple[str, ...]
    body: Shape


@frozen
class Use:
    """A use of a definition. Mistakes inside the definition are reported at its use."""

    macro: str
    span: Span


@frozen
class Argument:
    """The operand for a parameter of a definition, and the scope that it was written in."""

    shape: Item
    scope: NameScope


@frozen
class NameScope:
    """The names in scope. With `tools` None, any name is a tool."""

    tools: frozenset[str] | None
    groups: Mapping[str, tuple[ToolMember, ...]]
    vocabulary: Vocabulary
    constants: Mapping[str, Json] = field(default_factory=dict)
    macros: Mapping[str, Macro] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    """The bound variables as written, and their names in the formula."""
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    """Inside a definition: the operands for its parameters."""
    uses: tuple[Use, ...] = ()
    """Inside a definition: its use, after the uses of the definitions around it."""
    elsewhere: bool = False
    """Inside a definition: may this be read at an event other than that of the use?"""

    @classmethod
    def of(
        cls,
        tools: Iterable[str] | None = None,
        groups: Mapping[str, Iterable[str]] | None = None,
        vocabulary: Vocabulary | None = None,
        constants: Mapping[str, Json] | None = None,
        macros: Mapping[str, Macro] | None = None,
    ) -> NameScope:
        """A scope without variables. Every group must have a member."""
        known = None if tools is None else frozenset(tools)
        listed = {name: tuple(group) for name, group in (groups or {}).items()}
        members = {name: group_members(name, listed) for name in listed}
        if empty := [name for name, group in members.items() if not group]:
            raise SpecError(Diagnostic("E106", f"the group '{empty[0]}' is empty"))
        return cls(known, members, vocabulary or EMPTY, constants or {}, macros or {})

    def binding(self, variable: str) -> NameScope:
        """The scope inside a quantifier.

        Inside a definition the variable may be renamed, so that it does not capture a variable of
        the definition's operands.
        """
        name, taken = variable, _variables_in(self.arguments.values())
        if taken:  # the new name must not capture a variable of this scope either
            taken |= {given for key, given in self.variables.items() if key != variable}
        while name in taken:
            name += "_"
        arguments = {key: value for key, value in self.arguments.items() if key != variable}
        return replace(self, variables={**self.variables, variable: name}, arguments=arguments)

    def inside(self, macro: Macro, operands: Iterable[Item], span: Span) -> NameScope:
        """The scope inside a definition: it sees its parameters, and no variables of the use."""
        given = (Argument(operand, self) for operand in operands)
        return replace(
            self,
            variables={},
            arguments=dict(zip(macro.parameters, given, strict=True)),
            uses=(*self.uses, Use(macro.name, span)),
            elsewhere=False,
        )

    def at_other_events(self) -> NameScope:
        """The scope below an operator that looks at other events."""
        return replace(self, elsewhere=True) if self.uses else self

    def gives_value(self, name: str) -> bool:
        """Does this name stand for a value, or for something that is defined?"""
        bound = name in self.variables or name in self.arguments or name in self.constants
        return bound or name in self.macros or name in VALUES

    def knows_tool(self, name: str) -> bool:
        """May this name stand for a tool?"""
        return self.tools is None or name in self.tools or name == FINAL_ANSWER

    def suggest_tool(self, name: str) -> tuple[str, str | None]:
        """The help for an unknown tool, and the tool that may be meant."""
        known = sorted({*(self.tools or ()), *self.groups})
        close = closest(name, [*known, FINAL_ANSWER])
        if not known:
            return "The procedure lists no tools.", close
        tools = f"The procedure's tools are: {listing(known)}."
        return f"did you mean '{close}'? {tools}" if close else tools, close


def _variables_in(arguments: Iterable[Argument]) -> set[str]:
    """The variables that may occur in the operands of definitions."""
    found: set[str] = set()
    pending = list(arguments)
    while pending:
        scope = pending.pop().scope
        found.update(scope.variables.values())
        pending.extend(scope.arguments.values())
    return found


def group_members(name: str, groups: Mapping[str, tuple[str, ...]]) -> tuple[ToolMember, ...]:
    """The tools of a group. A member may be another group, or a pattern such as `get_*`."""
    found: dict[ToolMember, None] = {}
    pending, seen = [name], {name}
    while pending:
        for member in groups[pending.pop()]:
            if member in groups:
                if member not in seen:
                    seen.add(member)
                    pending.append(member)
            elif "*" in member:
                found[ToolGlob(member)] = None
            else:
                found[ToolName(member)] = None
    return tuple(found)


def group_problem(
    member: str, groups: Iterable[str], tools: Iterable[str] | None
) -> tuple[str, str | None] | None:
    """The message and the help for a member of a group that cannot be used, or None."""
    if tools is None or member in groups:
        return None
    if "*" in member:
        if any(is_named(tool, ToolGlob(member)) for tool in tools):
            return None
        return f"no tool matches '{member}'", None
    if member in tools or member == FINAL_ANSWER:
        return None
    return f"unknown tool '{member}'", did_you_mean(member, [*tools, *groups])


def check_closed(formula: f.Formula, vocabulary: Vocabulary) -> None:
    """Raises SpecError if a variable is not bound or a function is not registered."""
    problems = [
        Diagnostic("E108", f"no quantifier binds the variable '{name}'")
        for name in sorted(formula.free)
    ]
    functions = formula.contains(f.OpenPredicate, f.Extracted)
    for part in everything(formula) if functions else ():
        match part:
            case f.OpenPredicate(name) if name not in vocabulary.predicates:
                known, kind = set(vocabulary.predicates), "predicate"
            case f.Extracted(name) if name not in vocabulary.extractors:
                known, kind = set(vocabulary.extractors), "extractor"
            case _:
                continue
        help = did_you_mean(name, known) or (
            "Register it on a Vocabulary and pass that: --with module:vocabulary on the "
            "command line, vocabulary=… in Python."
        )
        problems.append(Diagnostic("E115", f"the {kind} '{name}' is not registered", help))
    if problems:
        raise SpecError(problems)
