"""Proof that a gate stands before Claude Code: the settings in force are read and tried.

The hooks are run as Claude Code runs them, with a probe: a call that every gate refuses. Nothing
else shows that a hook is found, starts, answers in time, and is obeyed on failure.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bylaw.errors import BylawError
from bylaw.frozen import frozen
from bylaw.protocols.claude_code import EVENTS, is_refusal
from bylaw.protocols.claude_settings import (
    FAILS_OPEN,
    SCOPES,
    FoundHook,
    our_hooks,
    read_settings,
    settings_path,
)
from bylaw.protocols.hooked_run import PROBE, PROBE_ANSWER
from bylaw.values import Json

_PROBE: Final = {
    "hook_event_name": "PreToolUse",
    "session_id": "bylaw-doctor",
    "tool_name": PROBE,
    "tool_input": {},
    "tool_use_id": "probe",
}
_START: Final = {"hook_event_name": "SessionStart", "session_id": "bylaw-doctor"}
_SECONDS: Final = 60


@frozen
class GateCheck:
    """One thing that the doctor looked at."""

    ok: bool
    about: str
    detail: str = ""

    def to_dict(self) -> dict[str, Json]:
        """The finding as JSON."""
        return {"ok": self.ok, "about": self.about, "detail": self.detail}


def examined(project: Path) -> list[GateCheck]:
    """Everything that was found out about the gate of a project."""
    found: list[GateCheck] = []
    hooks: list[FoundHook] = []
    for scope in SCOPES:
        path = settings_path(scope, project)
        try:
            settings = read_settings(path)
        except BylawError as error:
            found.append(GateCheck(False, f"{path} can be read", error.diagnostics[0].message))
            continue
        ours = list(our_hooks(settings))
        if ours:
            found.append(GateCheck(True, f"the gate is installed in {path}"))
        hooks += ours
        found += _disabled(path, settings)
    if not hooks:
        return [*found, GateCheck(False, "the gate is installed", "bylaw install claude-code")]
    found += _complete(hooks)
    different = {json.dumps(each.hook, sort_keys=True): each.hook for each in hooks}
    for hook in different.values():
        found += tried(hook)
    return found


def _disabled(path: Path, settings: Mapping[str, Json]) -> Iterator[GateCheck]:
    if settings.get("disableAllHooks"):
        yield GateCheck(False, "hooks are enabled", f"{path} says disableAllHooks")
    urls = settings.get("allowedHttpHookUrls")
    for each in our_hooks(settings):
        if each.hook["type"] == "http" and isinstance(urls, list) and each.hook["url"] not in urls:
            yield GateCheck(False, "the gate's address is allowed", f"{path}: allowedHttpHookUrls")
            return


def gated_events(hooks: list[FoundHook], events: Sequence[str]) -> Iterator[GateCheck]:
    """Is there a hook for every event, for all tools?"""
    for event in events:
        at = [each for each in hooks if each.event == event]
        if not any(each.matcher in (None, "", "*") for each in at):
            why = "only for some tools" if at else "there is no hook"
            yield GateCheck(False, f"{event} is gated", why)


def _complete(hooks: list[FoundHook]) -> Iterator[GateCheck]:
    """Is there a hook for every event, for all tools, whose failure refuses the call?"""
    yield from gated_events(hooks, EVENTS)
    for event in EVENTS:
        whole = [each for each in hooks if each.event == event]
        if whole and event not in FAILS_OPEN and not any(_blocks(each.hook) for each in whole):
            yield GateCheck(False, f"a failure at {event} refuses", 'onFailure is not "block"')
    if all(each.hook.get("onFailure") == "block" for each in hooks):
        yield GateCheck(True, "a gate that fails refuses the call")


def _blocks(hook: Mapping[str, Any]) -> bool:
    background = hook.get("async") or hook.get("asyncRewake")
    return hook.get("onFailure") == "block" and not background


def tried(hook: Mapping[str, Any]) -> Iterator[GateCheck]:
    """Runs a hook as its program would, with a call and an event that it must refuse."""
    send = _asked if hook["type"] == "http" else _run
    try:
        send(hook, json.dumps(_START))
        answer = send(hook, json.dumps(_PROBE))
        refused = is_refusal(answer)
        yield GateCheck(
            refused, "a harmless call is refused", "" if refused else json.dumps(answer)
        )
        if refused and PROBE_ANSWER not in json.dumps(answer):
            yield GateCheck(False, "the gate can decide calls", _reason(answer))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        yield GateCheck(False, "a harmless call is refused", f"{type(error).__name__}: {error}")
        return
    try:
        answer = send(hook, '{"hook_event_name": "PreToolUse", ')
        yield GateCheck(is_refusal(answer), "an event that cannot be read is refused", str(answer))
    except (OSError, ValueError, subprocess.SubprocessError):
        yield GateCheck(True, "an event that cannot be read is refused")
    if hook["type"] == "http":
        yield from _guarded(hook)


def _reason(answer: Mapping[str, Any]) -> str:
    return str(answer["hookSpecificOutput"].get("permissionDecisionReason"))


def _run(hook: Mapping[str, Any], event: str) -> dict[str, Any]:
    """The answer of a command, run as Claude Code runs it."""
    arguments = hook.get("args")
    exact = isinstance(arguments, list)
    command: Any = [hook["command"], *arguments] if isinstance(arguments, list) else hook["command"]
    done = subprocess.run(
        command, input=event.encode(), capture_output=True, timeout=_SECONDS, shell=not exact
    )
    if done.returncode:
        raise ValueError(f"exit {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}")
    return dict(json.loads(done.stdout or b"{}"))


def _asked(hook: Mapping[str, Any], event: str, **headers: str) -> dict[str, Any]:
    """The answer of a gate that listens."""
    from urllib.request import ProxyHandler, Request, build_opener

    sent = {"Content-Type": "application/json", **hook.get("headers", {}), **headers}
    request = Request(hook["url"], event.encode(), sent)
    with build_opener(ProxyHandler({})).open(request, timeout=_SECONDS) as response:
        return dict(json.loads(response.read()))


def _guarded(hook: Mapping[str, Any]) -> Iterator[GateCheck]:
    about = "a request without the token is refused"
    try:
        _asked(hook, json.dumps(_PROBE), Authorization="Bearer wrong-token-wrong-token")
        yield GateCheck(False, about, "it was answered")
    except (OSError, ValueError):
        yield GateCheck(True, about)
