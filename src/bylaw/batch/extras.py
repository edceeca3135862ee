"""What has to be installed beside Bylaw for corpora, and what to do where it is not."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from bylaw.errors import Diagnostic, UsageError

SCORING: Final = ("numpy", "msgspec")
"""What scoring a corpus needs, whatever it is stored in. Formats ask for the rest themselves."""


def can_score_corpora() -> bool:
    """Is what scoring a corpus needs installed?"""
    return all(find_spec(module) for module in SCORING)


def needed(module: str, purpose: str, extra: str = "corpus") -> Any:
    """The module; where it is not installed, an error that names the command that installs it."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        message = f"{purpose} needs {package}, which is not installed"
        help = f"pip install 'bylaw[{extra}]'"
        raise UsageError(Diagnostic("E402", message, help)) from None
