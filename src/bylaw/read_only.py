"""JSON values that cannot be changed, for functions that are not ours.

A registered function sees what is judged. If it sorts a list in place or takes an argument out of a
mapping, later rules, later decisions and the tool itself must not notice. It gets lists and
dictionaries that refuse to be changed; copies of them are ordinary ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from bylaw.values import Json, copied

_MESSAGE: Final = "what is judged cannot be changed: change a copy"


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError(_MESSAGE)


def _plain(self: Any, *_: object) -> Json:
    return copied(self)


def _reduce(self: Any) -> tuple[Any, ...]:
    return copied, (copied(self),)


class ReadOnlyDict(dict[str, Json]):
    """A dictionary that cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __copy__ = __deepcopy__ = copy = _plain
    __reduce__ = _reduce  # as an ordinary one


class ReadOnlyList(list[Json]):
    """A list that cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __copy__ = __deepcopy__ = copy = _plain
    __reduce__ = _reduce


def read_only(value: Json) -> Json:
    """A copy of a value that cannot be changed."""
    if isinstance(value, Mapping):
        return ReadOnlyDict({key: read_only(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return ReadOnlyList([read_only(item) for item in value])
    return value
