"""The hooks of Codex: ours put in, and examined.

Codex runs a hook by a shell, and lets a call run if the hook exits with anything but 0 or 2. So the
command turns every failure into exit code 2, with a reason. A hook that takes too long is beyond
that: Codex lets the call run. Codex asks its user to trust new hooks before it runs them.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bylaw.protocols.claude_doctor import GateCheck, gated_events, tried
from bylaw.protocols.claude_settings import our_hooks, read_settings
from bylaw.protocols.codex import EVENTS
from bylaw.protocols.own_command import own_arguments
from bylaw.values import Json

TIMEOUT: Final = 600
"""The seconds after which Codex gives up on a hook, and lets the call run."""
_OTHERWISE: Final = "|| { echo 'the gate failed' >&2; exit 2; }"


def hooks_path(scope: str, project: Path) -> Path:
    """The file of a scope: `project` or `user`."""
    return (project if scope == "project" else Path.home()) / ".codex" / "hooks.json"


def codex_hook(arguments: Sequence[str]) -> dict[str, Json]:
    """The hook that runs `bylaw hook codex` with these arguments."""
    words = [sys.executable, *own_arguments("hook", "codex"), *arguments]
    command = f"{shlex.join(words)} {_OTHERWISE}"
    return {"type": "command", "command": command, "timeout": TIMEOUT}


def examined_codex(project: Path) -> list[GateCheck]:
    """Everything that was found out about the gate of a project."""
    found: list[GateCheck] = []
    hooks = []
    for scope in ("project", "user"):
        path = hooks_path(scope, project)
        ours = list(our_hooks(read_settings(path)))
        if ours:
            found.append(GateCheck(True, f"the gate is installed in {path}"))
        hooks += ours
    if not hooks:
        return [GateCheck(False, "the gate is installed", "bylaw install codex")]
    found += gated_events(hooks, EVENTS)
    failing = [each for each in hooks if not str(each.hook["command"]).endswith(_OTHERWISE)]
    found.append(GateCheck(not failing, "a gate that fails refuses the call"))
    commands = {str(each.hook["command"]): each.hook for each in hooks}
    for hook in commands.values():
        found += tried(hook)
    return found
