"""Optional packages that corpora need, imported when they are used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from bylaw.errors import Diagnostic, UsageError

SCORING: Final = ("numpy", "msgspec")
"""The packages that scoring needs, whatever the format of the corpus."""


def can_score_corpora() -> bool:
    """Are the packages that scoring needs installed?"""
    return all(find_spec(module) for module in SCORING)


def import_extra(module: str, purpose: str, extra: str = "corpus") -> Any:
    """The module. If it is not installed, the error names the command that installs it."""
    try:
        return import_module(module)
    except ImportError:
        raise not_installed(module, purpose, extra) from None


def not_installed(module: str | None, purpose: str, extra: str = "corpus") -> UsageError:
    """The error for a module that could not be imported."""
    package = (module or "a package").partition(".")[0]
    message = f"{purpose} needs {package}, which is not installed"
    return UsageError(Diagnostic("E402", message, f"pip install 'bylaw[{extra}]'"))
