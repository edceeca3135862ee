"""Completion scripts for shells, generated from the argument parsers of the commands."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Final

from bylaw.cli.main import COMMANDS, module_of
from bylaw.frozen import frozen


@frozen
class CompletedArgument:
    """An option, or a positional argument without flags."""

    flags: tuple[str, ...]
    choices: tuple[str, ...]
    """The values that it takes; none if it takes a file, or any text."""
    takes_value: bool
    help: str


def arguments_of(command: str) -> Iterator[CompletedArgument]:
    """The arguments of a command, as its parser declares them."""
    parser = argparse.ArgumentParser()
    import_module(module_of(command)).configure(parser)
    for action in parser._actions:
        yield CompletedArgument(
            tuple(action.option_strings),
            tuple(map(str, action.choices or ())),
            action.nargs != 0,
            (action.help or "").replace("%%", "%"),
        )


def following(words: str) -> dict[str, str]:
    """The words that may follow these words of a command, each with what it does."""
    found: dict[str, str] = {}
    for name, summary in COMMANDS.items():
        if name.startswith(words):
            word, _, rest = name.removeprefix(words).lstrip().partition(" ")
            if word:
                found.setdefault(word, f"{word} …" if rest else summary)
    return found


def groups() -> list[str]:
    """The beginnings of commands: nothing, `bench`, `train`, `train data`, …"""
    beginnings = [" ".join(name.split()[:n]) for name in COMMANDS for n in range(3)]
    return [*dict.fromkeys(each for each in beginnings if each not in COMMANDS)]


def _words(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))


# ── bash ──────────────────────────────────────────────────────────────────────────────────

_BASH: Final = """\
# Completion for bylaw in bash.
_bylaw() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
    local command='' words='' values='' i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${{command:+$command }}${{COMP_WORDS[i]}}" in
            {known}) command=${{command:+$command }}${{COMP_WORDS[i]}} ;;
            *) break ;;
        esac
    done
    case "$command" in
{words}
    esac
    case "$command $previous" in
{values}
    esac
    COMPREPLY=()
    if [[ -n $values && ($previous == -* || $word != -*) ]]; then
        words=$values
    elif [[ $word != -* && $words == -* ]]; then
        return # a file, by default
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o bashdefault -o default -F _bylaw bylaw
"""


def bash_script() -> str:
    """The script for bash 4 or later."""
    words = [
        f"        {shlex.quote(each)}) words={_words(following(each))} ;;" for each in groups()
    ]
    values = []
    for name in COMMANDS:
        flags: list[str] = []
        for argument in arguments_of(name):
            flags += argument.flags
            for flag in argument.flags or (name.split()[-1],):
                if argument.choices:
                    pattern = shlex.quote(f"{name} {flag}")
                    values.append(f"        {pattern}) values={_words(argument.choices)} ;;")
        words.append(f"        {shlex.quote(name)}) words={_words(flags)} ;;")
    known = " | ".join(map(shlex.quote, filter(None, [*groups(), *COMMANDS])))
    return _BASH.format(known=known, words="\n".join(words), values="\n".join(values))


# ── zsh ───────────────────────────────────────────────────────────────────────────────────

_ZSH: Final = """\
#compdef bylaw
# Completion for bylaw in zsh.
_bylaw() {{
    local command='' i
    for ((i = 2; i < CURRENT; i++)); do
        case "${{command:+$command }}${{words[i]}}" in
            {known}) command="${{command:+$command }}${{words[i]}}" ;;
            *) break ;;
        esac
    done
    local -a parts=(${{=command}})
    words=("${{words[1]}}" "${{(@)words[$#parts + 2, -1]}}")
    ((CURRENT -= $#parts))
    case "$command" in
{cases}
    esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _bylaw "$@"
else
    compdef _bylaw bylaw
fi
"""


def zsh_script() -> str:
    """The script for zsh, with the help of each option."""
    cases = []
    for each in groups():
        rows = (shlex.quote(f"{word}:{told}") for word, told in following(each).items())
        listed = " ".join(rows)
        cases.append(
            f"        {shlex.quote(each)}) local -a found=({listed}); _describe command found ;;"
        )
    for name in COMMANDS:
        specs = " ".join(spec for each in arguments_of(name) for spec in _zsh_argument(each))
        cases.append(f"        {shlex.quote(name)}) _arguments {specs} ;;")
    known = " | ".join(map(shlex.quote, filter(None, [*groups(), *COMMANDS])))
    return _ZSH.format(known=known, cases="\n".join(cases))


def _zsh_argument(argument: CompletedArgument) -> Iterator[str]:
    values = f"({' '.join(argument.choices)})" if argument.choices else "_files"
    if not argument.flags:
        yield shlex.quote(f"*:argument:{values}")
    told = "".join(f"\\{letter}" if letter in "[]:\\" else letter for letter in argument.help)
    for flag in argument.flags:
        value = f":value:{values}" if argument.takes_value else ""
        yield shlex.quote(f"*{flag}[{told}]{value}")


# ── fish ──────────────────────────────────────────────────────────────────────────────────

_FISH: Final = """\
# Completion for bylaw in fish.
function __bylaw_at
    set -l command
    for word in (commandline -opc)[2..]
        contains -- (string trim -- "$command $word") {known}
        or break
        set -a command $word
    end
    test "$command" = "$argv"
end
{rows}
"""


def fish_script() -> str:
    """The script for fish."""
    rows = []
    for each in groups():
        for word, told in following(each).items():
            rows.append(f"{_fish_at(each)} -f -a {_fish(word)} -d {_fish(told)}")
    for name in COMMANDS:
        for argument in arguments_of(name):
            rows.append(_fish_argument(name, argument))
    known = " ".join(map(_fish, filter(None, [*groups(), *COMMANDS])))
    return _FISH.format(known=known, rows="\n".join(rows))


def _fish_argument(command: str, argument: CompletedArgument) -> str:
    flags = [
        f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in argument.flags
    ]
    values = f"-x -a {_fish(' '.join(argument.choices))}" if argument.choices else "-r -F"
    if not argument.flags:
        values = values.removeprefix("-r ").replace("-x", "-f")
    taken = [values] if argument.takes_value else []
    return " ".join([_fish_at(command), *flags, *taken, "-d", _fish(argument.help)])


def _fish_at(words: str) -> str:
    inner = f"__bylaw_at {_fish(words)}" if words else "__bylaw_at ''"
    return f"complete -c bylaw -n {_fish(inner)}"


def _fish(text: str) -> str:
    """The text in quotes, as fish reads them."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SCRIPTS: Final[dict[str, Callable[[], str]]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
"""The script of each shell."""
