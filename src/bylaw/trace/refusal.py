"""A call that a gate refused. It did not run: a trace keeps it apart from its events."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias, get_args

from bylaw.frozen import frozen
from bylaw.trace.event import Call

OPENING: Final = ": Not executed"
"""The words after the tool's name, with which every refusal begins."""
RefusalAction: TypeAlias = Literal["warn", "block", "stop", "ask"]
"""The actions of a gate that keep a call from running."""
REFUSAL_ACTIONS: Final[tuple[str, ...]] = get_args(RefusalAction)

_NAMED: Final = r"(?m)^Rule (.+?): (.*)$"
_ALSO: Final = r"(?m)^Rules that it would break as well: (.+)\.$"


@frozen
class Refusal:
    """A refused call, with what the agent read in place of a result."""

    call: Call
    """The call as it was proposed. In a transcript, its result or error is the refusal itself."""
    action: RefusalAction
    message: str
    """The text that the agent read, without the gate's mark."""
    decision: str | None = None
    """The id of the gate's decision: run, turn and place in the turn."""
    events_before: int = 0
    """The number of the trace's events that precede it."""

    @property
    def constraints(self) -> tuple[str, ...]:
        """The rules that the message names."""
        return tuple(rule for rule, _ in self.reasons if rule is not None)

    @property
    def reasons(self) -> tuple[tuple[str | None, str], ...]:
        """The rules that the message names, each with its sentence; empty where there is none.

        If it names none, the reason is what is wrong with the call itself, without a rule.
        """
        also = re.search(_ALSO, self.message)
        others = also[1].split(", ") if also else ()
        named = (*re.findall(_NAMED, self.message), *((rule, "") for rule in others))
        if named:
            return named
        said = self.message.partition("\n")[0].partition(OPENING)[2].lstrip(".: ")
        return ((None, said),) if said else ()
