"""`bylaw`: finds the command, runs it, and turns every expected error into words."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NoReturn

from bylaw import __version__
from bylaw.errors import BylawError, Diagnostic, UsageError, did_you_mean

OK: Final = 0
VIOLATED: Final = 1
UNUSABLE: Final = 2
INTERRUPTED: Final = 130
CLOSED: Final = 141
"""Nobody reads the output any more: what a shell reports of a program that a closed pipe ended."""

COMMANDS: Final = {
    "init": "write a starter procedure from recorded traces",
    "verify": "score traces against a procedure",
    "lint": "find rules that do not mean what they seem to",
    "explain": "show a rule by example, or which calls decided it; or a code's meaning",
    "diff": "show what an edit to a procedure changes, by a trace",
    "view": "write a page that shows a trace and its verdicts",
    "replay": "show what a gate would have done on recorded traces",
    "log check": "check that an audit log is what it was",
    "ground check": "check that answers speak only of what the tools returned",
    "ground questions": "make questions about repositories whose answers are known",
    "ground study": "measure how well models answer from what they read",
    "bench instance": "show a task of the benchmark: prompt, gold trace, rules",
    "bench run": "measure how well models follow procedures",
    "bench report": "show what benchmark runs say: tables, figures, a page",
    "train data build": "write the training corpus and the evaluation splits",
    "train data inspect": "show an example of the training data",
    "train sft": "warm a model up on gold transcripts",
    "train grpo": "fine-tune a model by GRPO, with compliance in its reward",
    "train curves": "show how runs of GRPO went, side by side",
    "train eval": "try a checkpoint on the splits and the benchmark",
}
"""Each command and what it does."""
_ROOMS: Final = ("bench", "ground", "train")
"""Groups of commands that have a package of their own."""

_INTRODUCTION: Final = """\
Checks what tool-using LLM agents did against the procedure they should follow.

  bylaw init runs/*.json -o procedure.yaml      start from what your agents do
  bylaw verify -p procedure.yaml runs/*.json    score traces
  bylaw explain RULE -p procedure.yaml run.json which calls decided it
  bylaw view run.json -p procedure.yaml         look at it in a browser
  bylaw diff old.yaml new.yaml                  what an edit changes
  bylaw replay -p procedure.yaml runs/*.json    what a gate would have refused
  bylaw bench run sim:careless -o results.jsonl how well does a model follow?
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):  # any text can be printed, whatever the terminal
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:
        print("error: standard output is closed", file=sys.stderr)
        return UNUSABLE
    try:
        code = _answered(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except OSError as error:
        if _can_print():
            raise
        # What is still to be written would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader has seen enough
            return CLOSED
        reason = error.strerror or error
        print(f"error: standard output cannot be written: {reason}", file=sys.stderr)
        return UNUSABLE


def _can_print() -> bool:
    """Does standard output still take text? Errors do not tell which file they are about."""
    try:
        print(flush=True)
    except OSError:
        return False
    return True


def _answered(given: list[str]) -> int:
    try:
        return _run(given)
    except BylawError as error:
        _tell(error, as_json="--json" in given)
        return UNUSABLE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
        return UNUSABLE


def _run(given: list[str]) -> int:
    if not given or given[0] in ("-h", "--help"):
        print(_overview())
        return OK if given else UNUSABLE
    if given[0] == "--version":
        print(f"bylaw {__version__}")
        return OK
    name, rest = _named(given)
    # Only the one that is asked for is imported: start is quick.
    command = import_module(module_of(name))
    parser = _Parser(
        prog=f"bylaw {name}",
        description=f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.",
        epilog=command.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.configure(parser)
    code: int = command.run(parser.parse_intermixed_args(rest))
    return code


def module_of(command: str) -> str:
    """The module of a command: `bench run` is in `bylaw.cli.bench.run`."""
    group, _, rest = command.partition(" ")
    path = f"{group}.{rest}" if group in _ROOMS else command
    return f"bylaw.cli.{path.replace(' ', '_')}"


def _named(given: list[str]) -> tuple[str, list[str]]:
    """The command that is meant, of up to three words, and what follows it."""
    for words in (3, 2, 1):
        name = " ".join(given[:words])
        if name in COMMANDS:
            return name, given[words:]
    group = [name for name in COMMANDS if name.startswith(f"{given[0]} ")]
    if group:
        rows = "; ".join(f"`bylaw {name}`: {COMMANDS[name]}" for name in group)
        raise UsageError(Diagnostic("E402", f"`bylaw {given[0]}` needs another word", rows))
    help = did_you_mean(given[0], COMMANDS) or f"The commands are: {', '.join(COMMANDS)}."
    raise UsageError(Diagnostic("E402", f"there is no command '{given[0]}'", help))


def _overview() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return (
        f"usage: bylaw COMMAND …\n\n{_INTRODUCTION}\ncommands:\n{rows}\n\n"
        "`bylaw COMMAND --help` tells more. Exit codes: 0 all satisfied, 1 something\n"
        "violated, 2 the input could not be used."
    )


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaints look like every other diagnostic."""

    def error(self, message: str) -> NoReturn:
        usage = " ".join(self.format_usage().split())
        raise UsageError(Diagnostic("E402", message, usage))


def _tell(error: BylawError, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"errors": [d.to_dict() for d in error.diagnostics]}))
    print(error, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
