"""The values seen so far, in groups of those whose instances are in the same state.

Groups that reach the same state are united by a pointer from one to the other, so an event costs
as much as there are groups, however many values they hold, and is undone as cheaply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from bylaw.semantics.undo import UndoLog

_State = TypeVar("_State")


class Standing(NamedTuple, Generic[_State]):
    """The state of an instance (or all possible ones), and whether its value is in the domain."""

    state: _State
    in_domain: bool


class _Group:
    """Values that move together. Groups united with others form a tree; its root has the state."""

    __slots__ = ("parent", "rank", "size")

    def __init__(self) -> None:
        self.parent: _Group | None = None
        self.rank = 0
        """The height of the tree below; it grows with the logarithm of the groups in it."""
        self.size = 0
        """The number of values in the tree."""


class ValueGroups(Generic[_State]):
    """The values seen, by their identities. Changes are noted in an undo log."""

    def __init__(self, log: UndoLog) -> None:
        self._log = log
        self._where: dict[str, _Group] = {}
        self._groups: dict[Standing[_State], _Group] = {}
        self._standings: dict[_Group, Standing[_State]] = {}

    def __iter__(self) -> Iterator[Standing[_State]]:
        """The standings that values have."""
        return (standing for standing, group in self._groups.items() if group.size)

    def __len__(self) -> int:
        """The number of groups."""
        return sum(1 for _ in self)

    def get(self, key: str) -> Standing[_State] | None:
        """The standing of a value; None if it was not seen yet."""
        found = self._where.get(key)
        return None if found is None else self._standings[_root(found)]

    def move(self, advance: Callable[[_State], _State]) -> None:
        """Moves all values."""
        groups, standings = self._groups, self._standings
        self._log.changed(partial(self._set, groups, standings))
        self._set({}, {})
        for (state, in_domain), group in groups.items():
            if group.size:
                self._unite(group, Standing(advance(state), in_domain))

    def _set(
        self, groups: dict[Standing[_State], _Group], standings: dict[_Group, Standing[_State]]
    ) -> None:
        self._groups, self._standings = groups, standings

    def _unite(self, group: _Group, standing: Standing[_State]) -> None:
        """Gives a group its new standing, together with the group that has it already."""
        other = self._groups.get(standing)
        if other is not None:
            lower, group = (group, other) if group.rank < other.rank else (other, group)
            self._log.changed(partial(_separate, lower, group, group.size, group.rank))
            lower.parent = group
            group.size += lower.size
            group.rank += lower.rank == group.rank
            self._standings.pop(lower, None)
        self._groups[standing], self._standings[group] = group, standing

    def remove(self, key: str) -> Standing[_State] | None:
        """Takes a value out; its standing, or None if it was not seen yet."""
        group = self._where.get(key)
        if group is None:
            return None
        root = _root(group)
        self._log.changed(partial(self._put_back, key, group, root, root.size))
        del self._where[key]
        root.size -= 1
        return self._standings[root]

    def _put_back(self, key: str, group: _Group, root: _Group, size: int) -> None:
        self._where[key], root.size = group, size

    def add(self, key: str, standing: Standing[_State]) -> None:
        """Puts in a value that is not there. To be called after `move`."""
        group = self._groups.get(standing)
        if group is None:
            group = self._groups[standing] = _Group()
            self._standings[group] = standing
        self._log.changed(partial(self._take_out, key, group, group.size))
        self._where[key] = group
        group.size += 1

    def _take_out(self, key: str, group: _Group, size: int) -> None:
        self._where.pop(key, None)  # it is not there yet if `add` was interrupted
        group.size = size

    def members(self) -> dict[Standing[_State], list[str]]:
        """The values of each standing."""
        found: dict[Standing[_State], list[str]] = {standing: [] for standing in self}
        for key, group in self._where.items():
            found[self._standings[_root(group)]].append(key)
        return found


def _root(group: _Group) -> _Group:
    while group.parent is not None:
        group = group.parent
    return group


def _separate(lower: _Group, group: _Group, size: int, rank: int) -> None:
    lower.parent, group.size, group.rank = None, size, rank
