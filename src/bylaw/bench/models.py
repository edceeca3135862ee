"""Models by name, as in `openai:gpt-4.1-mini`. Their libraries are imported on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from bylaw.agents.driving import close
from bylaw.agents.local import existing_path
from bylaw.agents.protocol import ChatModel
from bylaw.agents.simulated import simulated
from bylaw.bench.jobs import script_for
from bylaw.errors import Diagnostic, UsageError, did_you_mean

T = TypeVar("T")


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


def _check_simulated(which: str, **_: Any) -> None:
    simulated(which, script_for)


def _check_openai(which: str, **options: Any) -> None:
    close(_openai(which, **options))


def _check_local(*libraries: str) -> Callable[..., None]:
    """Checks that the libraries are installed and that the files exist, and loads nothing."""

    def check(which: str, *, adapter: str | None = None, **_: Any) -> None:
        for library in libraries:
            if find_spec(library) is None:
                raise ModuleNotFoundError(f"{library} is not installed")
        for path in filter(None, (which, adapter)):
            existing_path(Path(path))

    return check


class ModelKind(NamedTuple):
    """A kind of model: how it is made, how its name is checked, the options that it accepts."""

    make: Callable[..., ChatModel]
    check: Callable[..., None]
    options: tuple[str, ...] = ()


_COMMON: Final = ("temperature", "max_new_tokens", "width")
_LOCAL: Final = ("constrained", "line_tokens", "max_context", "top_p")
KINDS: Final[Mapping[str, ModelKind]] = {
    "sim": ModelKind(_simulated, _check_simulated),
    "openai": ModelKind(_openai, _check_openai, (*_COMMON, "base_url", "requests_per_minute")),
    "hf": ModelKind(_hf, _check_local("torch", "transformers"), (*_COMMON, *_LOCAL, "adapter")),
    "gguf": ModelKind(_gguf, _check_local("xllamacpp"), (*_COMMON, *_LOCAL)),
}


def check_model(name: str, options: Mapping[str, Any]) -> None:
    """Raises a UsageError if the model cannot be used, as far as that shows without loading it."""
    kind, which, given = _resolved(name, options)
    _usable(name, kind.check, which, given)


def model_named(name: str, options: Mapping[str, Any]) -> ChatModel:
    """The model with this name. Options that are None are ignored; unknown ones are an error."""
    kind, which, given = _resolved(name, options)
    return _usable(name, kind.make, which, given)


def _resolved(name: str, options: Mapping[str, Any]) -> tuple[ModelKind, str, dict[str, Any]]:
    """The kind of a model, its name within the kind, and the options that are given."""
    kind, colon, which = name.partition(":")
    if not colon or not which or kind not in KINDS:
        kinds = f"The kinds are {', '.join(KINDS)}; for example, sim:gold."
        help = kinds if kind in KINDS else did_you_mean(kind, KINDS) or kinds
        raise UsageError(Diagnostic("E420", f"unknown model '{name}'", help))
    known = KINDS[kind].options
    given = {key: value for key, value in options.items() if value is not None}
    unknown = [key for key in given if key not in known]
    if unknown and kind != "sim":  # options meant for a real model run in the same command
        flags = ", ".join(f"--{key.replace('_', '-')}" for key in unknown)
        help = f"{kind}: accepts {', '.join(known)}."
        raise UsageError(Diagnostic("E420", f"{kind}: does not accept {flags}", help))
    return KINDS[kind], which, given


def _usable(name: str, use: Callable[..., T], which: str, given: Mapping[str, Any]) -> T:
    try:
        return use(which, **given)
    except (ModuleNotFoundError, OSError, ValueError) as error:
        raise UsageError(Diagnostic("E420", f"'{name}' cannot be used: {error}")) from error
