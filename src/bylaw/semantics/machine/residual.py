"""Residuals: all requirements must be met, each by one of its alternatives.

An alternative is a set of obligations that suffice together. Obligations occur only positively,
so a requirement needs only its minimal alternatives, and these are unique. Requirements are kept
separate, not multiplied out: fourteen pending responses are fourteen requirements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

Alternative: TypeAlias = frozenset[int]
"""Obligations, by number, that suffice together."""
Requirement: TypeAlias = frozenset[Alternative]
"""Alternatives, one of which must be met; none contains another."""
Residual: TypeAlias = frozenset[Requirement]
"""Requirements, all of which must be met."""

TRUE: Final[Residual] = frozenset()
_IMPOSSIBLE: Final[Requirement] = frozenset()
FALSE: Final[Residual] = frozenset({_IMPOSSIBLE})

MAX_ALTERNATIVES: Final = 4_000


class TooLarge(Exception):
    """A requirement has more alternatives than the limit."""


def single(obligation: int) -> Residual:
    """The residual of one obligation."""
    return frozenset({frozenset({frozenset({obligation})})})


def both(left: Residual, right: Residual) -> Residual:
    """The conjunction of two residuals."""
    if left == FALSE or right == FALSE:
        return FALSE
    if not left or not right:
        return left or right
    return _without_implied(left | right)


def either(parts: Iterable[Residual]) -> Residual:
    """The disjunction of residuals."""
    possible = [part for part in dict.fromkeys(parts) if part != FALSE]
    if TRUE in possible:
        return TRUE
    if len(possible) < 2:
        return possible[0] if possible else FALSE
    alternatives: set[Alternative] = set()
    for part in possible:
        alternatives |= _multiplied(part)
    return _split(_minimal(alternatives))


def _multiplied(residual: Residual) -> set[Alternative]:
    """The residual as a single requirement: the product of its requirements."""
    combined: set[Alternative] = {frozenset()}
    for requirement in residual:
        if len(combined) * len(requirement) > MAX_ALTERNATIVES:
            raise TooLarge
        combined = set(_minimal({a | b for a in combined for b in requirement}))
    return combined


def _minimal(alternatives: set[Alternative]) -> Requirement:
    """The alternatives that contain no other."""
    if len(alternatives) > MAX_ALTERNATIVES:
        raise TooLarge
    kept: list[Alternative] = []
    for alternative in sorted(alternatives, key=len):
        if not any(smaller <= alternative for smaller in kept):
            kept.append(alternative)
    return frozenset(kept)


def _split(requirement: Requirement) -> Residual:
    """Obligations common to all alternatives become requirements of their own."""
    common = frozenset.intersection(*requirement)
    if not common:
        return frozenset({requirement})
    alone = {frozenset({frozenset({obligation})}) for obligation in common}
    rest = frozenset(alternative - common for alternative in requirement)
    return frozenset(alone if frozenset() in rest else {*alone, rest})


def _without_implied(residual: Residual) -> Residual:
    """The requirements that no other one implies."""
    certain = {o for r in residual if len(r) == 1 for a in r if len(a) == 1 for o in a}
    return frozenset(
        requirement
        for requirement in residual
        if len(requirement) == 1 or not any(a <= certain for a in requirement)
    )
