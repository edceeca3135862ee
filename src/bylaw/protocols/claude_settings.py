"""The settings of Claude Code: our hooks put in, found again, and taken out.

Hooks fail open unless each says `"onFailure": "block"`; ours do. On Stop and SubagentStop Claude
Code ignores that, so a gate that is down cannot hold an answer back. Other entries are left as they
are. Managed settings are a file of our own beside those of others; it also keeps users' settings
from adding or disabling hooks.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from bylaw.errors import Diagnostic, UsageError
from bylaw.frozen import frozen
from bylaw.protocols.claude_code import EVENTS
from bylaw.protocols.own_command import is_own, own_arguments
from bylaw.values import Json, read_json

Scope: TypeAlias = Literal["project", "local", "user", "managed"]
SCOPES: Final[tuple[Scope, ...]] = ("project", "local", "user", "managed")
TIMEOUT: Final = 30
"""The seconds after which Claude Code gives up on a hook, and the call is refused."""
FAILS_OPEN: Final = ("Stop", "SubagentStop")
"""The events on which Claude Code ignores `onFailure`."""

_MANAGED: Final = {
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:/Program Files/ClaudeCode",
}


def settings_path(scope: Scope, project: Path, home: Path | None = None) -> Path:
    """The file of a scope. Managed settings have a file of our own."""
    match scope:
        case "project":
            return project / ".claude" / "settings.json"
        case "local":
            return project / ".claude" / "settings.local.json"
        case "user":
            return (home or Path.home()) / ".claude" / "settings.json"
        case "managed":
            folder = Path(_MANAGED.get(sys.platform, "/etc/claude-code"))
            return folder / "managed-settings.d" / "50-bylaw.json"


def command_hook(arguments: Sequence[str]) -> dict[str, Json]:
    """The hook that runs `bylaw hook claude-code` with these arguments, without a shell."""
    args: list[Json] = [*own_arguments("hook", "claude-code"), *arguments]
    hook: dict[str, Json] = {"type": "command", "command": sys.executable, "args": args}
    return {**hook, "timeout": TIMEOUT, "onFailure": "block"}


def http_hook(url: str, token: str) -> dict[str, Json]:
    """The hook that asks a gate that listens at this address."""
    where = f"{url.rstrip('/')}/claude-code"
    hook: dict[str, Json] = {"type": "http", "url": where}
    told: dict[str, Json] = {"Authorization": f"Bearer {token}"}
    return {**hook, "headers": told, "timeout": TIMEOUT, "onFailure": "block"}


def installed(
    settings: Mapping[str, Json],
    hook: dict[str, Json],
    scope: Scope,
    events: Sequence[str] = EVENTS,
) -> dict[str, Json]:
    """The settings with our hook at every event that the gate needs."""
    cleared = removed(settings)
    hooks = dict(_table(cleared.get("hooks", {}), "hooks"))
    for event in events:
        hooks[event] = [*_list(hooks.get(event, []), f"hooks.{event}"), {"hooks": [dict(hook)]}]
    new: dict[str, Json] = {**cleared, "hooks": hooks}
    return new | {"allowManagedHooksOnly": True} if scope == "managed" else new


def removed(settings: Mapping[str, Json]) -> dict[str, Json]:
    """The settings without our hooks. Nothing else is changed."""
    if "hooks" not in settings:
        return dict(settings)
    left: dict[str, Json] = {}
    for event, groups in _table(settings["hooks"], "hooks").items():
        kept: list[Json] = []
        found = False
        for group in _list(groups, f"hooks.{event}"):
            hooks = group.get("hooks") if isinstance(group, dict) else None
            others = (
                [each for each in hooks if not is_ours(each)] if isinstance(hooks, list) else []
            )
            if not isinstance(hooks, list) or len(others) == len(hooks):
                kept.append(group)
                continue
            found = True
            if others and isinstance(group, dict):
                kept.append({**group, "hooks": others})
        if kept or not found:
            left[event] = kept
    new = dict(settings)
    if left or not any(True for _ in our_hooks(settings)):
        return new | {"hooks": left}
    del new["hooks"]
    return new


def is_ours(hook: object) -> bool:
    """Is this a hook that `bylaw install` writes?"""
    if not isinstance(hook, Mapping):
        return False
    match hook.get("type"):
        case "command":
            args = hook.get("args")
            return is_own(args if isinstance(args, list) else _words(hook)[1:], "hook")
        case "http":
            return str(hook.get("url", "")).endswith("/claude-code")
        case _:
            return False


def _words(hook: Mapping[str, Any]) -> list[str]:
    """The words of a command for a shell."""
    try:
        return shlex.split(str(hook.get("command", "")))
    except ValueError:
        return []


@frozen
class FoundHook:
    """A hook of ours in some settings."""

    event: str
    hook: Mapping[str, Any]
    matcher: Json
    """The tools that it is limited to; None for all of them."""


def our_hooks(settings: Mapping[str, Json]) -> Iterator[FoundHook]:
    """Our hooks in settings. Parts that are not as Claude Code writes them are passed over."""
    hooks = settings.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            listed = group.get("hooks") if isinstance(group, dict) else None
            for hook in listed if isinstance(listed, list) else ():
                if is_ours(hook):
                    yield FoundHook(event, hook, group.get("matcher") or None)


def read_settings(path: Path) -> dict[str, Json]:
    """The settings in a file; none if there is no file."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _unreadable(path, str(error)) from None
    try:
        found = read_json(text)
    except ValueError as error:
        raise _unreadable(path, str(error)) from None
    if not isinstance(found, dict):
        raise _unreadable(path, "it is not an object")
    return found


def _table(value: Json, name: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _unreadable(name, "it is not an object")
    return value


def _list(value: Json, name: str) -> list[Json]:
    if not isinstance(value, list):
        raise _unreadable(name, "it is not a list")
    return value


def _unreadable(what: object, reason: str) -> UsageError:
    help = "Correct it first: nothing was changed."
    return UsageError(Diagnostic("E473", f"cannot use {what}: {reason}", help))
