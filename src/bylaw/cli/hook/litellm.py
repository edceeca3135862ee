"""`bylaw hook litellm`: listens for the generic guardrail requests of LiteLLM."""

from __future__ import annotations

import argparse
from typing import Final

from bylaw.cli.hook.hook_options import add_gate, add_listening, add_state
from bylaw.cli.options import add_choice
from bylaw.protocols.litellm import RUNS_BY

EPILOG: Final = """\
LiteLLM asks the gate before a model is called and after it answered. A turn
with a call that a rule refuses is blocked as a whole. Its configuration:

  guardrails:
    - guardrail_name: bylaw
      litellm_params:
        guardrail: generic_guardrail_api
        mode: [pre_call, post_call]
        api_base: http://127.0.0.1:8181
        api_key: os.environ/BYLAW_TOKEN
        default_on: true

  bylaw hook litellm -p desk.yaml --listen 127.0.0.1:8181
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_gate(parser)
    add_state(parser)
    add_listening(parser, required=True)
    add_choice(parser, "--runs-by", RUNS_BY, "trace", "a run is a trace id of a key, or the key")


def run(options: argparse.Namespace) -> int:
    """Listens."""
    from bylaw.cli.hook.listening import listen

    return listen(options)
