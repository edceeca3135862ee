"""Checks of the arguments that a guard is given."""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any, Final

from bylaw.errors import Diagnostic, UsageError, not_a_choice, shown
from bylaw.plain import NotJson, OversizedValue, rebuilt
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import MISSING
from bylaw.trace.record import OWN_FIELDS
from bylaw.trace.refusal_mark import RUN_ID
from bylaw.values import Json

if TYPE_CHECKING:
    from bylaw.enforcement.shared.rules import SharedRules

LATEST: Final = 1e11
"""In seconds, the year 5138: a larger number counts milliseconds."""
_CHOICE_WORDS: Final = {
    **dict.fromkeys(("human", "customer", "client"), "did you mean 'user'? "),
    **dict.fromkeys(("ai", "bot", "model", "agent"), "did you mean 'assistant'? "),
    **dict.fromkeys(
        ("tool", "function"), "A tool's result is recorded: guard.record(decision, result). "
    ),
}
"""Advice for words that others use for those who speak."""


_CONVERSIONS: Final = {
    **dict.fromkeys(("date", "datetime", "time"), "value.isoformat()"),
    **dict.fromkeys(("set", "frozenset", "tuple"), "list(value)"),
    **dict.fromkeys(("Decimal", "Fraction"), "float(value), or str(value)"),
    **dict.fromkeys(("PosixPath", "WindowsPath", "UUID"), "str(value)"),
    **dict.fromkeys(("bytes", "bytearray"), "value.decode()"),
}
"""The conversions of some types to JSON."""


def unusable(message: str, help: str) -> UsageError:
    """The error for an argument that a guard cannot use."""
    return UsageError(Diagnostic("E414", message, help))


def not_json(subject: str, reason: str, help: str | None = None) -> UsageError:
    """The error for arguments or results that rules cannot judge."""
    if help is None:
        help = "Use null, true, false, finite numbers, strings, lists and dictionaries of these."
        if conversion := _CONVERSIONS.get(reason.split(" ")[0]):
            help = f"Convert it first: {conversion}. {help}"
    return UsageError(Diagnostic("E416", f"{subject} not JSON: {reason}", help))


def check_procedure(given: object) -> None:
    """A guard takes a procedure, not the name of its file."""
    if not isinstance(given, Procedure):
        message = f"the procedure cannot be {shown(given)}"
        help = 'Load the file: Guard(Procedure.load("procedure.yaml")).'
        if isinstance(given, dict):
            help = "Read it first: Guard(Procedure.from_dict(…))."
        raise unusable(message, help)


def check_shared(shared: SharedRules | None, procedure: Procedure, *settings: Any) -> None:
    """A procedure with rules across runs needs shared rules of its own, and no other has any."""
    if shared is None:
        if procedure.across:
            message = "the procedure has rules across runs, and their state is not given"
            help = (
                "Share one among all guards: shared = SharedRules(procedure), then shared=shared."
            )
            raise UsageError(Diagnostic("E422", message, help))
        return
    from bylaw.enforcement.shared.rules import SharedRules  # most guards have none

    if not isinstance(shared, SharedRules):
        raise unusable(f"shared cannot be {shown(shared)}", "It is SharedRules(procedure).")
    shared.check_guard(procedure, *settings)


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
        message, help = not_a_choice(name, given, choices)
        raise unusable(message, _CHOICE_WORDS.get(str(given), "") + help)


def check_positive(name: str, given: object, least: int = 1) -> None:
    """A limit is a whole number, 1 or more unless `least` says otherwise."""
    if type(given) is not int or given < least:
        raise unusable(
            f"{name} cannot be {shown(given)}", f"It is a whole number, {least} or more."
        )


def check_limit(name: str, given: object, *, least: int = 1) -> None:
    """A limit that None lifts."""
    if given is not None:
        check_positive(name, given, least)


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


def checked_time(name: str, given: Any) -> float:
    """A time: a number of seconds since 1970, UTC."""
    if type(given) not in (int, float) or not -LATEST < given < LATEST:
        help = "A time is a number of seconds since 1970, UTC, as `time.time()` returns it."
        raise unusable(f"{name} cannot be {shown(given)}", help)
    return float(given)


def check_clock(given: object) -> None:
    """A clock is a function, such as `time.time`."""
    if given is not None and not callable(given):
        help = "It is a function that returns the time in seconds since 1970, such as time.time."
        raise unusable(f"clock cannot be {shown(given)}", help)


def checked_text(name: str, given: object) -> str:
    """A text as rules see it."""
    if not isinstance(given, str):
        raise unusable(f"{name} cannot be {shown(given)}", _text_advice(name, given))
    return str.__str__(given)


def _text_advice(name: str, given: object) -> str:
    if isinstance(given, BaseException):
        return f"It is a string: {name}=str(error)."
    if isinstance(given, list):
        return "It is a string: join the texts of the parts."
    if isinstance(given, dict):
        return "It is a string: take the text out of it, or write json.dumps(…)."
    return "It is a string."


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
