"""`bylaw hook codex`: decides a hook event of Codex."""

from __future__ import annotations

import argparse
from typing import Final

from bylaw.cli.hook.hook_options import add_gate, add_state

EPILOG: Final = """\
Codex runs this command for each of its hook events, which it writes to standard
input. `bylaw install codex` writes the settings for it.

  bylaw hook codex -p coding.yaml < event.json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_gate(parser)
    add_state(parser)


def run(options: argparse.Namespace) -> int:
    """Answers one event."""
    from bylaw.cli.hook.one_event import answer_event
    from bylaw.protocols.codex import handled, refusal

    return answer_event(options, handled, refusal)
