"""`bylaw install claude-code`: puts a gate before Claude Code, or removes it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bylaw.cli.hook.hook_options import state_folder
from bylaw.cli.install.change import add_change, make_change
from bylaw.cli.install.gate_arguments import add_installed, gate_arguments
from bylaw.errors import Diagnostic, UsageError
from bylaw.values import Json

if TYPE_CHECKING:
    from bylaw.protocols.claude_settings import Scope

EPILOG: Final = """\
The change is shown first. It is made after a yes, or with --yes. Each hook says
that its failure refuses the call. --observe installs a gate that only records
what it would have refused: `bylaw hook report` shows it.

  bylaw install claude-code -p coding.yaml              for this project
  bylaw install claude-code -p coding.yaml --user --yes for all projects
  bylaw install claude-code -p coding.yaml --observe
  bylaw install claude-code --remove --yes
  bylaw doctor claude-code                              check that it works

With --url, Claude Code asks a gate that listens, instead of starting one for
each event: `bylaw hook claude-code -p coding.yaml --listen 127.0.0.1:8181`.
The token is then written to a file for you alone (--local), unless you choose
another place.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    scopes = parser.add_mutually_exclusive_group()
    for scope, where in (
        ("project", ".claude/settings.json, which a team shares (default)"),
        ("local", ".claude/settings.local.json, for you alone"),
        ("user", "~/.claude/settings.json"),
        ("managed", "the settings that users cannot change; needs an administrator"),
    ):
        told = f"write to {where}"
        scopes.add_argument(
            f"--{scope}", dest="scope", action="store_const", const=scope, help=told
        )
    add_installed(parser)
    parser.add_argument("--url", help="the address of a gate that listens")
    parser.add_argument("--token-file", metavar="FILE", help="the file of that gate's token")
    add_change(parser)


def run(options: argparse.Namespace) -> int:
    """Shows the change, and makes it."""
    from bylaw.protocols.claude_settings import installed, read_settings, removed, settings_path

    scope: Scope = options.scope or ("local" if options.url else "project")
    path = settings_path(scope, Path.cwd())
    before = read_settings(path)
    if options.remove:
        if scope == "managed":  # the file is ours alone
            return 0 if make_change(path, {}, options) else 1
        return 0 if make_change(path, removed(before), options) else 1
    hook = _listening(options) if options.url else _command(options)
    after = installed(before, hook, scope)
    return 0 if make_change(path, after, options, private=bool(options.url)) else 1


def _command(options: argparse.Namespace) -> dict[str, Json]:
    from bylaw.protocols.claude_settings import command_hook

    return command_hook(gate_arguments(options))


def _listening(options: argparse.Namespace) -> dict[str, Json]:
    from bylaw.protocols.claude_settings import http_hook

    file = Path(options.token_file) if options.token_file else state_folder(options) / "token"
    try:
        token = file.read_text("utf-8").strip()
    except OSError as error:
        help = "Start the gate first: `bylaw hook claude-code … --listen` makes the token."
        message = f"cannot read {file}: {error.strerror}"
        raise UsageError(Diagnostic("E402", message, help)) from None
    return http_hook(options.url, token)
