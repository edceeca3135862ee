"""Models by name, as in `openai:gpt-4.1-mini`. Their libraries are imported on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bylaw.agents.protocol import ChatModel
from bylaw.agents.simulated import simulated
from bylaw.bench.jobs import script_for
from bylaw.errors import Diagnostic, UsageError, did_you_mean


def _simulated(which: str, **_: Any) -> ChatModel:
    return simulated(which, script_for)


def _openai(which: str, *, max_new_tokens: int | None = None, **options: Any) -> ChatModel:
    from bylaw.agents.openai import OpenAIModel

    return OpenAIModel(which, max_tokens=max_new_tokens, **options)


def _hf(which: str, **options: Any) -> ChatModel:
    from bylaw.agents.hf.model import HFModel

    return HFModel(which, **options)


def _gguf(which: str, **options: Any) -> ChatModel:
    from bylaw.agents.gguf import GGUFModel

    return GGUFModel(which, **options)


_COMMON: Final = ("temperature", "max_new_tokens", "width")
_LOCAL: Final = ("constrained", "line_tokens", "max_context", "top_p")
KINDS: Final[Mapping[str, tuple[Callable[..., ChatModel], tuple[str, ...]]]] = {
    "sim": (_simulated, ()),
    "openai": (_openai, (*_COMMON, "base_url", "requests_per_minute")),
    "hf": (_hf, (*_COMMON, *_LOCAL, "adapter")),
    "gguf": (_gguf, (*_COMMON, *_LOCAL)),
}
"""For each kind of model, its constructor and the options that it accepts."""


def model_named(name: str, options: Mapping[str, Any]) -> ChatModel:
    """The model with this name. Options that are None are ignored; unknown ones are an error."""
    kind, colon, which = name.partition(":")
    if not colon or not which or kind not in KINDS:
        kinds = f"The kinds are {', '.join(KINDS)}; for example, sim:gold."
        help = kinds if kind in KINDS else did_you_mean(kind, KINDS) or kinds
        raise UsageError(Diagnostic("E420", f"unknown model '{name}'", help))
    make, known = KINDS[kind]
    given = {key: value for key, value in options.items() if value is not None}
    unknown = [key for key in given if key not in known]
    if unknown and kind != "sim":  # options meant for a real model run in the same command
        flags = ", ".join(f"--{key.replace('_', '-')}" for key in unknown)
        help = f"{kind}: accepts {', '.join(known)}."
        raise UsageError(Diagnostic("E420", f"{kind}: does not accept {flags}", help))
    try:
        return make(which, **given)
    except (ModuleNotFoundError, OSError, ValueError) as error:
        raise UsageError(Diagnostic("E420", f"'{name}' cannot be used: {error}")) from error
