"""`bylaw hook claude-code`: decides a hook event of Claude Code, or listens for such events."""

from __future__ import annotations

import argparse
from typing import Final

from bylaw.cli.hook.hook_options import add_gate, add_listening, add_state

EPILOG: Final = """\
Claude Code runs this command for each of its hook events, which it writes to
standard input; the answer goes to standard output. `bylaw install claude-code`
writes the settings for it. Whatever goes wrong, the call is refused: an event
that cannot be read exits with 2, which Claude Code takes as a refusal.

  bylaw hook claude-code -p coding.yaml < event.json

With --listen, one process stays and answers the events over HTTP, which takes a
few milliseconds an event instead of the start of a process.

  bylaw hook claude-code -p coding.yaml --listen 127.0.0.1:8181
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_gate(parser)
    add_state(parser)
    add_listening(parser)


def run(options: argparse.Namespace) -> int:
    """Answers one event, or listens."""
    if options.listen:
        from bylaw.cli.hook.listening import listen

        return listen(options)
    from bylaw.cli.hook.one_event import answer_event
    from bylaw.protocols.claude_code import handled, refusal

    return answer_event(options, handled, refusal)
