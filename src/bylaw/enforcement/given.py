"""What a guard is given, looked at before anything is decided: nothing is guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from threading import TIMEOUT_MAX
from typing import Any

from bylaw.errors import Diagnostic, UsageError, shown
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call
from bylaw.values import copied, problem


def unusable(message: str, help: str) -> UsageError:
    """The error for something that a guard does not know."""
    return UsageError(Diagnostic("E414", message, help))


def check_procedure(given: object) -> None:
    """A guard takes a procedure, not the name of its file."""
    if not isinstance(given, Procedure):
        message = f"the procedure cannot be {shown(given)}"
        raise unusable(message, 'Load the file: Guard(Procedure.load("procedure.yaml")).')


def check_asking(ask: object, timeout: Any) -> None:
    """Whoever is asked is asked through a function, and has some seconds."""
    if ask is not None and not callable(ask):
        help = "It is a function of the call and of the rules that it breaks."
        raise unusable(f"ask cannot be {shown(ask)}", help)
    seconds = type(timeout) in (int, float) and 0 < timeout <= TIMEOUT_MAX
    if timeout is not None and not seconds:
        help = "It is a number of seconds above 0, or None to wait for as long as it takes."
        raise unusable(f"ask_timeout cannot be {shown(timeout)}", help)


def tools_of(given: object) -> Mapping[str, Callable[..., Any]]:
    """The tools, if each is a function under its name."""
    help = 'Give them by name: {"search": search}.'
    if not isinstance(given, Mapping):
        raise unusable(f"expected tools by name, found {shown(given)}", help)
    for name, tool in given.items():
        if not isinstance(name, str):
            raise unusable(f"a tool cannot be named {shown(name)}", help)
        if not callable(tool):
            raise unusable(f"the tool '{name}' cannot be {shown(tool)}", help)
    return given


def calls_of(given: object) -> list[Call]:
    """What was proposed, if it is calls."""
    if not isinstance(given, Iterable):
        help = 'A turn is a list: [Call("search", {"q": "x"})].'
        raise unusable(f"expected a list of calls, found {shown(given)}", help)
    listed = list(given)
    for call in listed:
        if not isinstance(call, Call):
            raise unusable(f"expected a Call, found {shown(call)}", 'Call("search", {"q": "x"})')
    return listed


def checked(calls: object) -> list[Call]:
    """The calls, if their arguments can be compared and written down; nobody can change them."""
    listed = calls_of(calls)
    for call in listed:
        if reason := problem(call.args):
            message = f"the arguments of '{call.tool}' are not JSON: {reason}"
            raise UsageError(Diagnostic("E413", message, "Propose calls as the model wrote them."))
    return [replace(call, args=copied(call.args)) for call in listed]
