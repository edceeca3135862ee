"""The names that a formula may use, and what each stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from bylaw.errors import Diagnostic, SpecError, did_you_mean, listing
from bylaw.names import FINAL_ANSWER
from bylaw.vocabulary.registry import EMPTY, Vocabulary


@dataclass(frozen=True, slots=True)
class Scope:
    """Tools (None: any name is a tool), groups of tools, registered functions, bound variables."""

    tools: frozenset[str] | None
    groups: Mapping[str, tuple[str, ...]]
    vocabulary: Vocabulary
    variables: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        tools: Iterable[str] | None = None,
        groups: Mapping[str, Iterable[str]] | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> Scope:
        """A scope without variables. Every group must have a member."""
        members = {name: tuple(group) for name, group in (groups or {}).items()}
        if empty := [name for name, group in members.items() if not group]:
            raise SpecError(Diagnostic("E106", f"the group '{empty[0]}' is empty"))
        known = None if tools is None else frozenset(tools)
        return cls(known, members, vocabulary or EMPTY)

    def binding(self, variable: str) -> Scope:
        """The scope inside a quantifier."""
        return replace(self, variables=self.variables | {variable})

    def knows_tool(self, name: str) -> bool:
        """May this name stand for a tool?"""
        return self.tools is None or name in self.tools or name == FINAL_ANSWER

    def suggest_tool(self, name: str) -> str:
        """What to write instead of a tool that is not known."""
        known = sorted({*(self.tools or ()), *self.groups})
        close = did_you_mean(name, [*known, FINAL_ANSWER])
        tools = f"The procedure's tools are: {listing(known)}."
        return f"{close} {tools}" if close else tools
