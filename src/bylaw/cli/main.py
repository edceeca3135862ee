"""`bylaw`: finds the command, runs it, and turns every expected error into a message."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Final, NoReturn

from bylaw import __version__
from bylaw.cli.options import check_outputs
from bylaw.errors import TERMINAL_WIDTH, BylawError, Diagnostic, UsageError, did_you_mean
from bylaw.terminal import printable_streams

OK: Final = 0
VIOLATED: Final = 1
UNUSABLE: Final = 2
INTERRUPTED: Final = 130
CLOSED: Final = 141
"""The reader closed the pipe; shells report 128 + SIGPIPE."""

TRACEBACK: Final = "BYLAW_TRACEBACK"
"""The environment variable that shows where an unexpected exception was raised."""

COMMANDS: Final = {
    "init": "write a starter procedure, from traces or --from coding",
    "mine": "propose rules from good and bad runs, with evidence",
    "lint": "find rules that do not mean what they seem to",
    "explain": "explain a rule, a verdict, or a diagnostic code",
    "diff": "show what an edit to a procedure changes",
    "verify": "score traces against a procedure",
    "view": "write a page that shows a trace and its verdicts",
    "replay": "show what a gate would have refused in recorded traces",
    "serve": "run a gate for many agents, whose state survives crashes",
    "mcp": "decide the tool calls between an MCP client and a server",
    "install claude-code": "put a gate before Claude Code, or remove it",
    "install codex": "put a gate before Codex, or remove it",
    "install mcp": "put a gate before an MCP server, or remove it",
    "doctor claude-code": "check that calls of Claude Code pass the gate",
    "doctor codex": "check that calls of Codex pass the gate",
    "doctor mcp": "check that calls to an MCP server pass the gate",
    "hook claude-code": "decide a hook event of Claude Code, or listen for them",
    "hook codex": "decide a hook event of Codex",
    "hook litellm": "listen for the guardrail requests of LiteLLM",
    "hook report": "show what hooks refused, or would have refused",
    "log check": "verify that an audit log has not been altered",
    "log show": "print the entries of an audit log",
    "log export": "write the runs of an audit log as trace records",
    "log anchor": "print the head of an audit log, to keep elsewhere",
    "ground check": "check that answers mention only what tools returned",
    "ground questions": "generate questions about repositories, with answers",
    "ground study": "measure how well models ground their answers",
    "bench instance": "show a task of the benchmark: prompt, gold trace, rules",
    "bench run": "measure how well models follow procedures",
    "bench report": "report on benchmark runs: tables, figures, a page",
    "train data build": "write the training corpus and the evaluation splits",
    "train data inspect": "show an example of the training data",
    "train sft": "warm a model up on gold transcripts",
    "train grpo": "fine-tune a model with GRPO, with the score in the reward",
    "train curves": "compare the training curves of GRPO runs",
    "train eval": "evaluate a checkpoint on the splits and the benchmark",
    "completion": "complete commands in bash, zsh or fish",
}
"""Each command and what it does."""
_SECTIONS: Final = {
    "Write rules": "init mine lint explain diff",
    "Check recorded runs": "verify view replay",
    "Guard agents": "serve mcp install doctor hook",
    "Read audit logs": "log",
    "Check and study grounding": "ground",
    "Measure models": "bench",
    "Train models": "train",
    "Set up": "completion",
}
"""The first words of commands, by what people want to do."""
_ROOMS: Final = ("bench", "doctor", "ground", "hook", "install", "log", "train")
"""Groups of commands that have a package of their own."""

_INTRODUCTION: Final = """\
Checks what LLM agents do with their tools against the procedure they should
follow.

  bylaw init runs/*.json -o procedure.yaml        start from what your agents do
  bylaw verify -p procedure.yaml runs/*.json      score recorded runs
  bylaw explain RULE -p procedure.yaml run.json   see which calls decided a rule
  bylaw view run.json -p procedure.yaml           look at a run in a browser
  bylaw replay -p procedure.yaml runs/*.json      see what a gate would refuse
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    with printable_streams():
        return _main(list(sys.argv[1:] if arguments is None else arguments))


def _main(arguments: list[str]) -> int:
    if sys.stdout is None:
        print("error: standard output is closed", file=sys.stderr)
        return UNUSABLE
    try:
        code = _run_reporting_errors(arguments)
        sys.stdout.flush()
        return code
    except OSError as error:
        if _can_print():
            return _report_mistake(error, arguments)
        # Python flushes standard output once more at exit, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return CLOSED
        reason = error.strerror or error
        print(f"error: cannot write to standard output: {reason}", file=sys.stderr)
        return UNUSABLE


def exit_code(*, unusable: object = False, violated: object = False) -> int:
    """The exit code of a command that judges: an unusable input outranks a violation."""
    return UNUSABLE if unusable else VIOLATED if violated else OK


def _can_print() -> bool:
    """Does standard output still accept text? An OSError does not name its stream."""
    try:
        print(flush=True)
    except OSError:
        return False
    return True


def _run_reporting_errors(arguments: list[str]) -> int:
    try:
        return _run(arguments)
    except BylawError as error:
        return _report(error, arguments)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
        return UNUSABLE
    except OSError:  # perhaps of standard output
        raise
    except Exception as error:
        return _report_mistake(error, arguments)


def _report(error: BylawError, arguments: Sequence[str]) -> int:
    if "--json" in arguments or "json" in _printed_formats(arguments):
        print(json.dumps({"errors": [d.to_dict() for d in error.diagnostics]}))
    print(error.render(TERMINAL_WIDTH), file=sys.stderr)
    return UNUSABLE


def _printed_formats(arguments: Sequence[str]) -> list[str]:
    """The values of `--format`."""
    following = pairwise(arguments)
    joined = (each.removeprefix("--format=") for each in arguments if "--format=" in each)
    return [*joined, *(value for option, value in following if option == "--format")]


def _report_mistake(error: Exception, arguments: Sequence[str]) -> int:
    """Reports an exception that should not occur. Uncaught, it would exit with 1: violated."""
    if TRACEBACK in os.environ:
        raise error
    message = f"unexpected {type(error).__name__}: {error}"
    help = f"This is a mistake in bylaw: please report it, with what {TRACEBACK}=1 prints."
    return _report(UsageError(Diagnostic("E499", message, help)), arguments)


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview())
        return OK if arguments else UNUSABLE
    if arguments[0] == "--version":
        print(f"bylaw {__version__}")
        return OK
    name, rest = _split_command(arguments)
    command = import_module(module_of(name))  # only this one: start-up stays quick
    parser = _Parser(
        prog=f"bylaw {name}",
        description=f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.",
        epilog=command.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.configure(parser)
    inner = getattr(command, "INNER_COMMAND", None)
    if inner and "--" in rest:  # what follows is for another program, options included
        at = rest.index("--")
        parser.set_defaults(**{inner: rest[at + 1 :]})
        rest = rest[:at]
    parser.given = rest
    options = parser.parse_intermixed_args(rest)
    options.command_line = ("bylaw", *arguments)
    check_outputs(options)
    code: int = command.run(options)
    return code


def module_of(command: str) -> str:
    """The module of a command: `bench run` is in `bylaw.cli.bench.run`."""
    group, _, rest = command.partition(" ")
    path = f"{group}.{rest}" if group in _ROOMS else command
    return f"bylaw.cli.{path.replace(' ', '_').replace('-', '_')}"


def _split_command(arguments: list[str]) -> tuple[str, list[str]]:
    """The command, of up to three words, and its arguments."""
    for words in (3, 2, 1):
        name = " ".join(arguments[:words])
        if name in COMMANDS:
            return name, arguments[words:]
    first = arguments[0]
    group = [name for name in COMMANDS if name.startswith(f"{first} ")]
    if group:
        rows = "; ".join(f"`bylaw {name}`: {COMMANDS[name]}" for name in group)
        raise UsageError(Diagnostic("E402", f"`bylaw {first}` needs a subcommand", rows))
    help = did_you_mean(first, COMMANDS) or f"The commands are: {', '.join(COMMANDS)}."
    raise UsageError(Diagnostic("E402", f"unknown command '{first}'", help))


def _overview() -> str:
    width = max(map(len, COMMANDS))
    sections = "\n\n".join(
        f"{title}:\n"
        + "\n".join(
            f"  {name:<{width}}  {summary}"
            for name, summary in COMMANDS.items()
            if name.split()[0] in words.split()
        )
        for title, words in _SECTIONS.items()
    )
    return (
        f"usage: bylaw COMMAND …\n\n{_INTRODUCTION}\n{sections}\n\n"
        "`bylaw COMMAND --help` describes a command. Exit codes: 0 all rules are\n"
        "satisfied, 1 a rule is violated, 2 an input could not be used."
    )


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are diagnostics."""

    given: Sequence[str] = ()
    """The arguments, for advice."""

    def error(self, message: str) -> NoReturn:
        usage = " ".join(self.format_usage().split())
        help, rewrite = usage, None
        unknown = message.removeprefix("unrecognized arguments: ").split(" ")[0]
        files = [each for each in self.given if each.endswith((".yaml", ".yml"))]
        if "--procedure" in message and files:
            others = [each for each in self.given if each != files[0]]
            help = "A procedure is named with -p."
            rewrite = " ".join([self.prog, "-p", files[0], *others])
        elif unknown.startswith("--"):
            close = did_you_mean(unknown, self._option_string_actions)
            help = f"{close} {usage}" if close else usage
        raise UsageError(Diagnostic("E402", message, help, rewrite=rewrite))


if __name__ == "__main__":
    sys.exit(main())
