"""A gate that stays and answers over HTTP."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bylaw.cli.hook.hook_options import hook_gate, state_folder
from bylaw.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from bylaw.protocols.litellm import RunsBy


def listen(options: argparse.Namespace) -> int:
    """Serves the gate until it is interrupted."""
    try:
        from bylaw.protocols.resident import kept_token, resident_app, serve
    except ModuleNotFoundError as error:
        raise UsageError(Diagnostic("E420", str(error))) from None
    gate = hook_gate(options)
    gate.new_guard()  # a promise that cannot be kept shows now, not at the first call
    token = kept_token(token_file(options))
    print(f"the gate listens at {options.listen}", file=sys.stderr)
    try:
        runs_by: RunsBy = getattr(options, "runs_by", "trace")
        serve(resident_app(gate, token, runs_by=runs_by), options.listen)
    finally:
        gate.store.close()
    return 0


def token_file(options: argparse.Namespace) -> Path:
    """The file of the token that requests must carry."""
    return Path(options.token_file) if options.token_file else state_folder(options) / "token"
