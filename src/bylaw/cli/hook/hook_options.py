"""Options of the commands that are gates: the procedure, what is only observed, the state."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bylaw.cli.options import add_number, add_procedure, load_procedure
from bylaw.enforcement.decision import HINTS, SOFT_BLOCK_MODES
from bylaw.enforcement.severity import SETTINGS

if TYPE_CHECKING:
    from bylaw.protocols.hook_gate import HookGate

SOFT_BLOCK: Final = "in-a-row"
SOFT_BLOCK_LIMIT: Final = 10
"""Sessions are long: an agent that heeds a refusal may be refused again later."""
LISTEN: Final = "HOST:PORT, or the path of a Unix socket"


def add_gate(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a gate."""
    add_procedure(parser)
    add_enforcement(parser)
    help = "the SHA-256 that the procedure's file must have"
    parser.add_argument("--pin", metavar="DIGEST", help=help)


def add_enforcement(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say how rules are enforced."""
    for flag, choices, default, about in (
        ("--setting", SETTINGS, "as-written", "the severities that act"),
        ("--hints", HINTS, "rule", "what a refusal tells the agent"),
        (
            "--soft-block",
            SOFT_BLOCK_MODES,
            SOFT_BLOCK,
            "which SOFT_BLOCK refusals count towards the end of a run",
        ),
    ):
        help = f"{about}: {', '.join(choices)} (default: {default})"
        more: dict[str, Any] = {"choices": choices, "default": default, "metavar": "WORD"}
        parser.add_argument(flag, help=help, **more)
    add_number(parser, "--soft-block-limit", SOFT_BLOCK_LIMIT, "how many of them end a run")
    help = "refuse nothing, and only record what would have been refused"
    parser.add_argument("--observe", action="store_true", help=help)


def add_state(parser: argparse.ArgumentParser) -> None:
    """Adds the folder of the state."""
    help = "the folder of the sessions' records (default: ~/.local/state/bylaw)"
    parser.add_argument("--state", metavar="DIR", help=help)


def add_listening(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Adds the options of a gate that listens."""
    parser.add_argument("--listen", metavar="ADDRESS", required=required, help=LISTEN)
    help = "a file with the token that requests must carry; made if there is none"
    parser.add_argument("--token-file", metavar="FILE", help=f"{help} (default: in the state)")


def guard_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the guards."""
    return {
        "setting": options.setting,
        "hints": options.hints,
        "soft_block": options.soft_block,
        "soft_block_limit": options.soft_block_limit,
    }


def state_folder(options: argparse.Namespace) -> Path:
    """The folder of the state."""
    from bylaw.protocols.store import default_folder

    return Path(options.state) if options.state else default_folder()


def check_pin(options: argparse.Namespace) -> None:
    """Raises a UsageError unless the procedure is the one that was installed."""
    if options.pin:
        from bylaw.protocols.pinned import check_pinned

        check_pinned(Path(options.procedure), options.pin)


def hook_gate(options: argparse.Namespace) -> HookGate:
    """The gate that the options describe."""
    from bylaw.protocols.hook_gate import HookGate
    from bylaw.protocols.procedure_cache import cached_procedure
    from bylaw.protocols.store import SessionStore

    check_pin(options)
    store = SessionStore(state_folder(options))
    return HookGate(
        load_procedure(options)
        if options.vocabulary
        else cached_procedure(Path(options.procedure), store.folder, store.key()),
        store,
        observe=options.observe,
        options=guard_options(options),
    )
