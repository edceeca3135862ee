"""Questions about a whole script, before its commands are listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bylaw.shell.programs import names
from bylaw.shell.script import (
    Assignment,
    Compound,
    Expansion,
    Redirection,
    ShellPipeline,
    ShellScript,
    ShellWord,
    SimpleCommand,
    Statement,
    Substitution,
    Text,
)

CHANGING: Final = names(
    "read mapfile readarray printf getopts unset let declare typeset local readonly export "
    "set shift source eval"
)
"""Builtins that may change variables."""


def simple_commands(scripts: Iterator[ShellScript]) -> Iterator[SimpleCommand]:
    """All simple commands in scripts, without those in substitutions and functions' names."""
    pending = [statement for script in scripts for statement in script]
    while pending:
        for _, pipeline in pending.pop().pipelines:
            for command in pipeline.commands:
                if isinstance(command, SimpleCommand):
                    yield command
                else:
                    pending += [s for _, script in command.scripts for s in script]


def evaluates_text(tree: ShellScript) -> bool:
    """May a text be evaluated as arithmetic, with a substitution in a subscript?"""
    arithmetic, suspicious = False, False
    pending: list[Any] = [tree]
    while pending:
        part = pending.pop()
        match part:
            case Text(text, _):
                suspicious = suspicious or ("[" in text and ("$(" in text or "`" in text))
            case Expansion():
                arithmetic = arithmetic or part.arithmetic
                pending += part.inner
            case Substitution():
                pending.append(part.script)
            case ShellWord():
                pending += part.parts
            case Assignment():
                pending += part.value
                arithmetic = arithmetic or not part.simple
            case Redirection():
                pending.append(part.target)
            case SimpleCommand():
                first = part.words[0].plain if part.words else None
                arithmetic = arithmetic or first in CHANGING or first in ("test", "[")
                pending += [*part.assignments, *part.words, *part.redirections]
            case Compound():
                arithmetic = arithmetic or part.kind in ("arithmetic", "test")
                pending += [*part.words, *part.redirections, *(s for _, s in part.scripts)]
            case ShellPipeline():
                pending += part.commands
            case Statement():
                pending += [pipeline for _, pipeline in part.pipelines]
            case tuple():
                pending += part
    return arithmetic and suspicious
