"""Events that start within some time of each other: `O a within 10 min`, `sofar(a, 24 h)`.

Times are compared in microseconds. An event without a start is near nothing. The start of a hidden
event is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bylaw.trace.event import MISSING
from bylaw.vocabulary.possible import UNSEEN, PossibleValue, one_of, some_of
from bylaw.vocabulary.view import View, mask_of, positions_of


def positions_near(
    view: View, found: int, *, limit: int, ahead: bool, apart: bool, certain: bool
) -> int:
    """The positions with one of the found positions at most `limit` microseconds away.

    The search goes ahead or back and includes the position itself; with `apart`, it leaves out
    the step of the position. Hidden events are near unless the answer must be `certain`.
    """
    starts, hidden = view.starts, frozenset() if certain else view.hidden
    wanted, pick = set(positions_of(found)), min if ahead else max
    near: list[int] = []
    nearest: int | None = None
    anywhere = False  # has an event been found whose start is unknown?
    for positions in _groups(view, ahead, apart):
        # What is apart from a step was found before it; else an event is near itself.
        for asking in (True, False) if apart else (False, True):
            for at in positions:
                start = starts[at]
                if not asking and at in wanted:
                    anywhere = anywhere or at in hidden
                    if start is not None:
                        nearest = start if nearest is None else pick(nearest, start)
                if not asking:
                    continue
                if at in hidden:
                    is_near = anywhere or nearest is not None
                elif start is None or nearest is None:
                    is_near = anywhere and start is not None
                else:
                    is_near = anywhere or (nearest - start if ahead else start - nearest) <= limit
                if is_near:
                    near.append(at)
    return mask_of(near)


def _groups(view: View, ahead: bool, by_step: bool) -> Iterable[Sequence[int]]:
    """The positions in the order of the search, those of one step together if asked for."""
    order = range(len(view) - 1, -1, -1) if ahead else range(len(view))
    if not by_step:
        return ((at,) for at in order)
    groups: dict[int, list[int]] = {}
    for at in order:
        groups.setdefault(view.step(at), []).append(at)
    return groups.values()


def in_window(
    view: View,
    at: int,
    limit: int,
    positions: Sequence[int],
    events: Sequence[PossibleValue],
    certain: Sequence[bool],
) -> PossibleValue:
    """The events that started at most `limit` microseconds before the one at a position.

    Undefined if one of the events, or the one at the position, has no start.
    """
    if at in view.hidden:
        return UNSEEN
    now = view.starts[at] if at < len(view) else None
    if now is None:
        return MISSING
    members: list[PossibleValue] = []
    sure: list[bool] = []
    perhaps_undefined = False
    for position, event, belongs in zip(positions, events, certain, strict=True):
        start = view.starts[position]
        if position in view.hidden:
            members.append(event)
            sure.append(False)
        elif start is None and belongs:
            return MISSING
        elif start is None:
            perhaps_undefined = True
        elif now - start <= limit:
            members.append(event)
            sure.append(belongs)
    found = some_of(members, sure)
    return one_of([found, MISSING]) if perhaps_undefined else found
