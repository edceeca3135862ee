"""The events that a part of a rule can be about, by tool and role.

Most rules are about a few tools. An event that a rule can neither be broken by nor remember is not
shown to it, so that a procedure of many rules costs an event no more than the rules about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.logic.terms import Tool
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.engine import NAMELESS, heard_role
from bylaw.trace.event import ROLES
from bylaw.vocabulary.patterns import forms_of, is_named, names_of

_ROLES: Final = frozenset(map(heard_role, ROLES))


@frozen
class Hearing:
    """Some tools and roles."""

    names: frozenset[str] = frozenset()
    """Names of tools, and of roles as `heard_role` has them."""
    globs: tuple[Tool, ...] = ()
    """Tools that stand for all names of a form: `get_*`."""
    every_call: bool = False
    """All calls, but not the final answer."""

    def __contains__(self, name: str) -> bool:
        if name in self.names:
            return True
        if name in _ROLES:
            return False
        if name == NAMELESS:  # a form may fit it
            return self.every_call or bool(self.globs)
        if self.every_call and name != FINAL_ANSWER:
            return True
        return any(is_named(name, tool) for tool in self.globs)

    @staticmethod
    def together(several: Iterable[Hearing | None]) -> Hearing | None:
        """Everything that one of them hears; None for all events."""
        found = Hearing()
        for each in several:
            if each is None:
                return None
            found = Hearing(
                found.names | each.names,
                (*found.globs, *each.globs),
                found.every_call or each.every_call,
            )
        return found


def heard_by(parts: Sequence[f.Formula]) -> Hearing | None:
    """The events that can meet all conditions, as far as one of them tells; None for any event."""
    found = [heard for part in parts if (heard := _heard(part)) is not None]
    # The one that lists its names is the narrower one, as a rule.
    return min(found, key=lambda each: (each.every_call, bool(each.globs)), default=None)


def _heard(part: f.Formula) -> Hearing | None:
    match part:
        case f.EventAtom(None):
            return Hearing(every_call=True)
        case f.EventAtom(tool) if tool is not None and not tool.free:
            return Hearing(globs=(tool,)) if forms_of(tool) else Hearing(frozenset(names_of(tool)))
        case f.Says(role):
            return Hearing(frozenset({heard_role(role)}))
        case f.And(operands):
            return heard_by(operands)
        case f.Or(operands):
            return Hearing.together(map(_heard, operands))
        case _:
            return None
