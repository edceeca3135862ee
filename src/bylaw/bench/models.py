"""Models by name: `kind:which`. What a kind needs is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bylaw.agents.protocol import ChatModel
from bylaw.agents.simulated import simulated
from bylaw.bench.episodes import script_for
from bylaw.errors import Diagnostic, UsageError


def _simulated(which: str, options: Mapping[str, Any]) -> ChatModel:
    return simulated(which, script_for)


KINDS: Final[Mapping[str, Callable[[str, Mapping[str, Any]], ChatModel]]] = {
    "sim": _simulated,
}


def named(name: str, options: Mapping[str, Any]) -> ChatModel:
    """The model of this name, with those of the options that its kind knows."""
    kind, colon, which = name.partition(":")
    if not colon or not which or kind not in KINDS:
        help = f"A model is KIND:WHICH; the kinds are {', '.join(KINDS)}. For example: sim:gold."
        raise UsageError(Diagnostic("E420", f"'{name}' is not a model", help))
    return KINDS[kind](which, options)
