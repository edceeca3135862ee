"""The state of the shell at a command, and the entry that is made of the command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from bylaw.frozen import record
from bylaw.shell.expansion import KnownWord, value_of
from bylaw.shell.options import ReadLine, read_line
from bylaw.shell.paths import joined, resolved
from bylaw.shell.programs import names
from bylaw.shell.script import SimpleCommand

_MAX_DIRECTORIES: Final = 8
_READING: Final = frozenset({"<", "<>"})
_WRITING: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
RUNS_FILES: Final = names(
    "bash sh dash zsh ksh ash mksh rbash source python node deno bun perl ruby php lua Rscript"
)
_UNSET: Final = KnownWord("", literal=False)


_WRITTEN: Final = {
    "curl": ("--output", "--output-dir"),
    "git": ("--output",),
    "wget": ("--output-document", "--output-file", "--directory-prefix"),
    "sort": ("--output",),
    "tar": ("--directory",),
    "unzip": ("-d",),
}
"""The options that name a file or folder to write to."""
_RUN_BY: Final = {"make": "--file", "awk": "--file", "sed": "--file"}
"""The options that name a file with commands."""


def _files_written(program: str, line: ReadLine) -> list[KnownWord]:
    """The files that a command writes because its words say so."""
    found = [word for name in _WRITTEN.get(program, ()) for word in line.values.get(name, ())]
    if program in ("tee", "sponge"):
        found += line.operands
    if program == "dd":
        named = [word for word in line.operands if word.text.startswith("of=")]
        found += [KnownWord(word.text.removeprefix("of="), word.literal) for word in named]
    return [word for word in found if word.text not in ("-", "/dev/stdout")]


@record
class ShellState:
    """The variables and directories that are known at one place of a script."""

    variables: dict[str, KnownWord | None]
    directories: tuple[str, ...] | None
    """The directories that may be the working directory; None is unknown."""

    def copy(self) -> ShellState:
        return ShellState(dict(self.variables), self.directories)

    def merge(self, others: Sequence[ShellState]) -> None:
        """Keeps what is the same in all, and every directory."""
        for other in others:
            for name in {*self.variables, *other.variables}:
                if self.variables.get(name, _UNSET) != other.variables.get(name, _UNSET):
                    self.variables[name] = None
            if self.directories is not None and other.directories is not None:
                union = tuple(dict.fromkeys((*self.directories, *other.directories)))
                self.directories = union if len(union) <= _MAX_DIRECTORIES else None
            else:
                self.directories = None


@record
class CommandSetting:
    """A simple command and where it stands."""

    command: SimpleCommand
    environment: dict[str, KnownWord]
    within: tuple[str, ...]
    fed_by: list[str] | None

    def stdin(self, state: ShellState) -> KnownWord | None:
        """The text that the command reads: from a here-document, or unknown from elsewhere."""
        found = KnownWord("", literal=False) if self.fed_by is not None else None
        for each in self.command.redirections:
            if each.operator in ("<<", "<<-", "<<<") and each.descriptor in ("", "0"):
                found = value_of(each.target, state.variables)
            elif each.operator in ("<", "<>", "<&") and each.descriptor in ("", "0"):
                found = KnownWord("", literal=False)
        return found

    def entry(
        self,
        written: str,
        program: str,
        words: Sequence[KnownWord],
        via: tuple[str, ...],
        state: ShellState,
    ) -> dict[str, Any]:
        """The fields of a command. `written` is the program with its folder."""
        line = read_line(program, words)
        around = state.directories
        if program == "git" and "-C" in line.values and around is not None:
            for value in line.values["-C"]:
                around = tuple(joined(directory, value.text) for directory in around)
        here = around if around is not None else ("$PWD",)
        dynamic = [word.text for word in line.unknown]
        if around is None:
            dynamic.append("$PWD")
        reads, writes = [], []
        for each in self.command.redirections:
            if each.operator in _READING | _WRITING:
                target = value_of(each.target, state.variables)
                if each.operator == ">&" and re.fullmatch(r"\d+-?|-", target.text):
                    continue
                files = resolved(target.text, here)
                reads += files if each.operator in _READING else []
                writes += files if each.operator in _WRITING else []
                dynamic += [] if target.literal else [target.text]
        for file in _files_written(program, line):
            writes += resolved(file.text, here)
            dynamic += [] if file.literal else [file.text]
        operands = line.operands or ([KnownWord(".")] if program == "find" else [])
        return {
            "kind": "command",
            "program": program,
            "subcommand": line.subcommand,
            "words": [word.text for word in words],
            "options": line.options,
            "values": {name: [v.text for v in given] for name, given in line.values.items()},
            "operands": [word.text for word in line.operands],
            "paths": [path for w in operands for path in resolved(w.text, here)],
            "runs": self._files_run(written, program, line, here),
            "reads": reads,
            "writes": writes,
            "environment": {name: value.text for name, value in self.environment.items()},
            "via": list(via),
            "fed_by": list(dict.fromkeys(self.fed_by or ())),
            "dynamic": dynamic,
            "source": self.command.source,
        }

    def _files_run(
        self, written: str, program: str, line: ReadLine, here: Sequence[str]
    ) -> list[str]:
        """The files whose commands are run: the program, if it is written with its folder, the
        first operand of an interpreter, or the rules of `make -f`.
        """
        files = [written] if "/" in written else []
        if program in RUNS_FILES:
            files += [word.text for word in line.operands[:1]]
        if program in _RUN_BY:
            files += [word.text for word in line.values.get(_RUN_BY[program], ())]
        return [path for file in files for path in resolved(file, here)]
