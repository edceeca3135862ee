"""Checks of the arguments that a guard is given."""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import TIMEOUT_MAX
from typing import Any

from bylaw.errors import Diagnostic, UsageError, not_a_choice, shown
from bylaw.plain import NotJson, OversizedValue, rebuilt
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING
from bylaw.trace.record import OWN_FIELDS
from bylaw.trace.refusal_mark import RUN_ID
from bylaw.values import Json


def unusable(message: str, help: str) -> UsageError:
    """The error for an argument that a guard cannot use."""
    return UsageError(Diagnostic("E414", message, help))


def not_json(subject: str, reason: str) -> UsageError:
    """The error for arguments or results that rules cannot judge."""
    help = "Use null, true, false, finite numbers, strings, and lists and dictionaries of these."
    return UsageError(Diagnostic("E416", f"{subject} not JSON: {reason}", help))


def check_procedure(given: object) -> None:
    """A guard takes a procedure, not the name of its file."""
    if not isinstance(given, Procedure):
        message = f"the procedure cannot be {shown(given)}"
        raise unusable(message, 'Load the file: Guard(Procedure.load("procedure.yaml")).')


def check_asking(ask: object, timeout: Any) -> None:
    """`ask` must be a function, and `timeout` a number of seconds."""
    if ask is not None and not callable(ask):
        help = "It is a function of the call and of the rules that it breaks."
        raise unusable(f"ask cannot be {shown(ask)}", help)
    seconds = type(timeout) in (int, float) and 0 < timeout <= TIMEOUT_MAX
    if timeout is not None and not seconds:
        help = "It is a number of seconds above 0, or None to wait without a limit."
        raise unusable(f"ask_timeout cannot be {shown(timeout)}", help)


def check_choice(name: str, given: object, choices: Sequence[str]) -> None:
    """Some arguments are one of a few words."""
    if given not in choices:
        raise unusable(*not_a_choice(name, given, choices))


def check_positive(name: str, given: object, least: int = 1) -> None:
    """A limit is a whole number, 1 or more unless `least` says otherwise."""
    if type(given) is not int or given < least:
        raise unusable(
            f"{name} cannot be {shown(given)}", f"It is a whole number, {least} or more."
        )


def checked_table(name: str, given: object) -> dict[str, Json]:
    """The labels or the metrics of a run, copied."""
    try:
        table = rebuilt({} if given is None else given)
    except NotJson as reason:
        raise not_json(f"the {name} are", str(reason)) from None
    if type(table) is not dict:
        raise unusable(f"{name} cannot be {shown(given)}", "They are a dictionary.")
    return table


def checked_metrics(given: object) -> dict[str, Json]:
    """The metrics of a run, copied. In a record they stand beside its other fields."""
    metrics = checked_table("metrics", given)
    for name in metrics.keys() & set(OWN_FIELDS):
        raise unusable(f"a metric cannot be called '{name}'", "A record has a field of that name.")
    return metrics


def checked_run_id(given: object) -> str:
    """The id of a run, or a random one if none is given."""
    if given is None:
        return os.urandom(8).hex()
    if not isinstance(given, str) or not RUN_ID.fullmatch(given):
        help = "It is a text of up to 64 letters, digits, hyphens and underscores."
        raise unusable(f"run_id cannot be {shown(given)}", help)
    return given


def checked_text(name: str, given: object) -> str:
    """A text as rules see it."""
    if not isinstance(given, str):
        raise unusable(f"{name} cannot be {shown(given)}", "It is a string.")
    return str.__str__(given)


def checked_message(given: object, max_text: float) -> str:
    """The text of a message as rules see it."""
    text = checked_text("text", given)
    if len(text) > max_text:
        help = "Raise max_text, or shorten the message for the guard and for the agent."
        raise unusable(f"the message has more than {max_text:,} characters", help)
    return text


def checked_result(
    tool: str, result: object, error: object, max_text: float
) -> tuple[Json, str | None]:
    """A result and an error as rules see them. OversizedValue is raised if there is too much."""
    said = None if error is None else checked_text("error", error)
    if result is None and said is not None:
        result = MISSING  # null would be a part of what rules read as the call's text
    rest = max_text - len(said or "")
    try:
        plain = result if result is MISSING else rebuilt(result, max_text=rest)
    except OversizedValue:
        raise
    except NotJson as reason:
        raise not_json(f"the result of '{tool}' is", str(reason)) from None
    if rest < 0:
        raise OversizedValue(f"the error has more than {max_text:,} characters")
    return plain, said
