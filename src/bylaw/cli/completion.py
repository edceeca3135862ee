"""`bylaw completion`: prints a script that completes commands in a shell."""

from __future__ import annotations

import argparse
from typing import Final

from bylaw.cli.completion_scripts import SCRIPTS
from bylaw.cli.main import exit_code

EPILOG: Final = """\
The script completes commands, options and their values. It is generated from
the commands themselves, so print it again after an upgrade.

  bylaw completion bash > ~/.local/share/bash-completion/completions/bylaw
  bylaw completion zsh > ~/.zfunc/_bylaw        a folder of your fpath
  bylaw completion fish > ~/.config/fish/completions/bylaw.fish

To try it in the current bash: source <(bylaw completion bash)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("shell", choices=tuple(SCRIPTS), metavar="SHELL", help=", ".join(SCRIPTS))


def run(options: argparse.Namespace) -> int:
    """Prints the script."""
    print(SCRIPTS[options.shell](), end="")
    return exit_code()
