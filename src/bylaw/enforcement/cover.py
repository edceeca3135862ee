"""How few calls can carry many argument patterns: those that exclude each other need their own."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.enforcement.forms import Wanted
from bylaw.trace.event import Call
from bylaw.values import Json, equal
from bylaw.vocabulary.patterns import lookup
from bylaw.vocabulary.tracker import value_of


def compatible(one: Wanted, other: Wanted) -> bool:
    """Can one call have both sets of arguments?"""
    built: dict[str, Json] = {}
    for pattern in sorted((*one.patterns, *other.patterns), key=lambda p: len(p.path)):
        expected = value_of(pattern.expected)
        found = lookup(built, pattern.path)
        if not _planted(built, pattern.path, expected) and not equal(found, expected):
            return False
    call = Call("any", built)
    return one.met_by(call) and other.met_by(call)


def _planted(tree: dict[str, Json], path: Sequence[str], value: Json) -> bool:
    """Puts a value at a path where nothing stands yet."""
    for key in path[:-1]:
        below = tree.setdefault(key, {})
        if not isinstance(below, dict):
            return False
        tree = below
    if path[-1] in tree:
        return False
    tree[path[-1]] = value
    return True


def _conflicts(wanted: Sequence[Wanted]) -> list[set[int]]:
    return [
        {j for j, other in enumerate(wanted) if j != i and not compatible(one, other)}
        for i, one in enumerate(wanted)
    ]


def clique(wanted: Sequence[Wanted]) -> int:
    """How many of the patterns exclude each other pairwise: so many calls at least."""
    conflicts = _conflicts(wanted)
    best = 1
    for start in range(len(wanted)):
        members, candidates = {start}, set(conflicts[start])
        while candidates:
            chosen = max(candidates, key=lambda i: len(conflicts[i] & candidates))
            members.add(chosen)
            candidates &= conflicts[chosen]
        best = max(best, len(members))
    return best


def fewest_groups(wanted: Sequence[Wanted]) -> int:
    """The smallest number of groups such that no two patterns of a group exclude each other."""
    conflicts = _conflicts(wanted)
    order = sorted(range(len(wanted)), key=lambda i: -len(conflicts[i]))
    best = len(wanted)

    def place(at: int, colour: dict[int, int], used: int) -> None:
        nonlocal best
        if used >= best:
            return
        if at == len(order):
            best = used
            return
        node = order[at]
        taken = {colour[j] for j in conflicts[node] if j in colour}
        for each in range(used + 1):
            if each not in taken:
                colour[node] = each
                place(at + 1, colour, max(used, each + 1))
                del colour[node]

    place(0, {}, 0)
    return best
