"""The calls of many traces at once, as the columns of a predicate see them.

A predicate's `columns` gets a `CorpusCalls` and the operands, and returns one truth value per
trace. It only combines arrays with operators (`&`, `>`), so no predicate imports NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from bylaw.frozen import frozen
from bylaw.logic.terms import Tool
from bylaw.vocabulary.predicate import Probe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TraceMask: TypeAlias = "NDArray[np.bool_]"
"""True or false for each trace."""
TraceNumbers: TypeAlias = "NDArray[np.integer]"
"""A whole number for each trace."""


@frozen
class CallMoments:
    """One call in each trace, for the traces that have such a call."""

    exist: TraceMask
    """The traces that have such a call."""
    positions: TraceNumbers
    """Its position; any number where there is no such call."""
    times: TraceNumbers
    """Its position, or its step under `order: step`."""


class CorpusCalls(Protocol):
    """The calls of many traces. The counterpart of `View`, which shows one."""

    @property
    def never(self) -> TraceMask:
        """False for each trace."""

    def counts(self, probe: Probe) -> TraceNumbers:
        """The number of calls that match the probe."""

    def nth(self, tool: Tool, index: int) -> CallMoments:
        """The call of the tool with this index, counted from 0."""

    def first(self, tool: Tool) -> CallMoments:
        """The first call of the tool."""

    def before(self, one: CallMoments, other: CallMoments) -> TraceMask:
        """Do both calls exist, and does one come strictly before the other?"""

    def at_or_after(self, tool: Tool, start: CallMoments) -> CallMoments:
        """The first call of the tool at the position of `start` or after it."""

    def after(self, tool: Tool, start: CallMoments) -> CallMoments:
        """The first call of the tool that is strictly later than `start`."""
