"""One hook event on standard input, and its answer on standard output. Whatever fails, refuses."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any, Final

from bylaw.cli.hook.hook_options import hook_gate
from bylaw.errors import BylawError, Diagnostic, UsageError
from bylaw.values import Json, read_json

MAX_EVENT: Final = 64 * 2**20
"""The longest event that is read, in bytes."""


def answer_event(
    options: argparse.Namespace,
    handled: Callable[[Any, Any], dict[str, Json]],
    refusal: Callable[[Any, str], dict[str, Json]],
) -> int:
    """Answers one event in the words of a protocol. An event that cannot be read exits with 2."""
    from bylaw.protocols.claude_code import session_of

    event = _event()
    try:
        session_of(event)
        answer = handled(hook_gate(options), event)
    except BylawError as error:
        first = error.diagnostics[0]
        answer = refusal(event, f"The gate refuses: {first.message}. {first.help or ''}".strip())
        print(error.render(), file=sys.stderr)
    except Exception as error:  # a mistake in the gate must not open it
        answer = refusal(event, f"The gate failed: {type(error).__name__}: {error}")
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    print(json.dumps(answer))
    return 0


def _event() -> Json:
    try:
        return read_json(sys.stdin.buffer.read(MAX_EVENT + 1).decode())
    except ValueError as error:
        message = f"the event cannot be read: {error}"
        help = "Give a hook event on standard input."
        raise UsageError(Diagnostic("E471", message, help)) from None
