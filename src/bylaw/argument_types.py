"""Checks that a function was given an argument of the right type, with advice if it was not."""

from __future__ import annotations

from bylaw.errors import Diagnostic, UsageError, shown


def expect(given: object, kind: type | tuple[type, ...], wanted: str, help: str) -> None:
    """Raises UsageError unless the argument is of this kind."""
    if not isinstance(given, kind):
        raise UsageError(Diagnostic("E414", f"expected {wanted}, found {shown(given)}", help))
