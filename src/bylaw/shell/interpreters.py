"""Programs that run code in their words or settings: `python -c`, `awk`, `git -c`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from bylaw.shell.expansion import KnownWord
from bylaw.shell.inside import Inside, RunsScript, RunsUnknown, RunsWords
from bylaw.shell.options import ReadLine, read_line
from bylaw.shell.programs import GIT_COMMANDS

_CODE: Final = {
    "python": ("-c",),
    "node": ("-e", "--eval", "-p", "--print"),
    "deno": ("eval",),
    "bun": ("-e", "--eval"),
    "perl": ("-e", "-E"),
    "ruby": ("-e",),
    "php": ("-r", "-R", "-B", "-E"),
    "lua": ("-e",),
    "Rscript": ("-e",),
    "R": ("-e",),
    "timeit": (),
    "code": (),
    "pdb": ("-c",),
    "osascript": ("-e",),
    "pwsh": ("-c", "-Command", "-EncodedCommand", "-e", "-ec"),
    "powershell": ("-c", "-Command", "-EncodedCommand", "-e", "-ec"),
    "fish": ("-c", "--command"),
    "tclsh": (),
    "jshell": (),
    "irb": (),
    "csh": ("-c",),
    "tcsh": ("-c",),
    "nu": ("-c",),
    "elvish": ("-c",),
    "xonsh": ("-c",),
    "cmd": ("/c", "/C"),
}
"""The options that are followed by code. Without a file, each of these reads code from stdin."""

_HARMLESS: Final = frozenset({"--version", "--help", "-V", "-h", "-v"})
"""Options with which no code is read."""
_EDITORS: Final = frozenset({"vi", "vim", "nvim", "ex", "ed", "emacs", "gdb", "lldb", "expect"})
"""Programs with a language of their own that can run commands."""


def interpreted(
    program: str, words: Sequence[KnownWord], stdin: KnownWord | None
) -> Iterator[Inside]:
    """The commands and the code that a program runs because its words say so."""
    line = read_line(program, words)
    if program == "timeit" and words:
        yield RunsUnknown("code", "code in the words of timeit")
    elif program in _CODE:
        yield from _interpreter(program, line, words)
    elif program in _EDITORS and (words or stdin is not None):
        if words and all(word.text in _HARMLESS for word in words):
            return
        if stdin is not None or any(word.text[:1] in ("-", "+") for word in words):
            yield RunsUnknown("code", f"commands for {program}")
    elif program == "git":
        yield from _git(line, words)
    elif rule := _RUNS.get(program):
        yield from rule(line)


def _interpreter(program: str, line: ReadLine, words: Sequence[KnownWord]) -> Iterator[Inside]:
    modules = line.values.get("-m", []) if program == "python" else []
    if modules:
        at = next(i for i, word in enumerate(words) if word.text.startswith("-m"))
        after = at + (2 if words[at].text == "-m" else 1)
        yield RunsWords((modules[0], *words[after:]))
        return
    inline = set(_CODE[program]) & {*line.options, *line.values, *(w.text for w in words)}
    inline |= {w.text for w in words if w.text.startswith(tuple(f"{o}=" for o in _CODE[program]))}
    if inline:
        yield RunsUnknown("code", f"code in the words of {program}")
    elif (not line.operands or line.operands[0].text in ("-", "/dev/stdin")) and not (
        _HARMLESS & {*line.options}
    ):
        yield RunsUnknown("code", f"code in the standard input of {program}")
    elif line.operands and line.operands[0].text.startswith(("<(", "/dev/fd/", "/proc/")):
        yield RunsUnknown("script", f"a program for {program} that is not known")


# ── settings of other programs ────────────────────────────────────────────────────────────

_RUNNING_SETTING: Final = re.compile(
    r"(?i)alias\..*|core\.(pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy)"
    r"|sequence\.editor|diff\..*|pager\..*|filter\..*|credential.*|gpg\..*|merge\..*\.driver"
    r"|.*\.textconv|include.*|uploadpack\..*|protocol\..*|receive\..*|remote\..*|url\..*"
)
"""Settings of git that name a command, or another place to push to. The keys come one by one,
parsed from the command."""


def _git(line: ReadLine, words: Sequence[KnownWord]) -> Iterator[Inside]:
    for given in (*line.values.get("-c", []), *line.values.get("--config-env", [])):
        if _RUNNING_SETTING.fullmatch(given.text.partition("=")[0]) or not given.literal:
            yield RunsUnknown("setting", "a setting of git that can run a command")
    if line.subcommand == "config":
        keys = line.operands[:1] if line.operands[1:] else []
        if line.operands[2:] and line.operands[0].text in ("set", "replace-all", "edit"):
            keys = line.operands[1:2]
        if any(_RUNNING_SETTING.fullmatch(key.text) for key in keys):
            yield RunsUnknown("setting", "a setting of git that can run a command")
    elif line.subcommand is not None and line.subcommand not in GIT_COMMANDS:
        yield RunsUnknown("alias", f"'git {line.subcommand}' is an alias, or not git's own")
    elif line.subcommand == "rebase":
        for script in line.values.get("--exec", []):
            yield RunsScript(script, replaces=False)
    elif line.subcommand == "filter-branch":
        yield RunsUnknown("code", "the filters of git filter-branch")
    elif (
        line.subcommand == "submodule" and line.operands[1:] and line.operands[0].text == "foreach"
    ):
        text = " ".join(word.text for word in line.operands[1:])
        yield RunsScript(KnownWord(text, all(w.literal for w in line.operands)), replaces=False)
    elif line.subcommand == "bisect" and line.operands[1:] and line.operands[0].text == "run":
        at = next(i for i, word in enumerate(words) if word is line.operands[1])
        yield RunsWords(tuple(words[at:]), replaces=False)
    elif line.subcommand in ("difftool", "mergetool", "grep"):
        for name in ("--extcmd", "--open-files-in-pager"):
            for script in line.values.get(name, []):
                yield RunsScript(script, replaces=False)
    for name in ("--receive-pack", "--upload-pack", "--exec-path"):
        if name in line.values:
            yield RunsUnknown("setting", "a program that git runs for itself")
    if any(word.text.startswith("ext::") or "=ext::" in word.text for word in words):
        yield RunsUnknown("setting", "a command in the address of a repository")


_AWK_WRITES: Final = re.compile(r"print[^;}\n]*>")


def _awk(line: ReadLine) -> Iterator[Inside]:
    texts = [word.text for word in line.operands[:1]] if "-f" not in line.values else []
    if any(mark in text for text in texts for mark in ("system", "|", "getline", "@")):
        yield RunsUnknown("code", "an awk program that can run commands")
    elif any(_AWK_WRITES.search(text) for text in texts):
        yield RunsUnknown("code", "an awk program that writes files")


_PLAIN_SED: Final = re.compile(
    r"\s*(?:[\d$]+(?:,[\d$+~]+)?|/[^/\\]*/(?:,/[^/\\]*/)?)?!?\s*"
    r"(?:[pdqQnNhHgGxlDP=]|[aic]\\?[^\n]*|y(.)[^\\]*\1[^\\]*\1"
    r"|s([^\\\n\w\s])(?:\\.|(?!\2)[^\\\n])*\2(?:\\.|(?!\2)[^\\\n])*\2[gpiIm\d]*)\s*"
)
"""One command of sed that neither runs a command nor writes a file."""


def _sed(line: ReadLine) -> Iterator[Inside]:
    scripts = [word.text for word in line.values.get("--expression", [])]
    if not scripts and "--file" not in line.values:
        scripts = [word.text for word in line.operands[:1]]
    if not all(_plain_sed(script) for script in scripts):
        yield RunsUnknown("code", "a sed script that may run commands or write files")


def _plain_sed(script: str) -> bool:
    at = 0
    while at < len(script):
        found = _PLAIN_SED.match(script, at)
        if found is None:
            return False
        at = found.end()
        if at < len(script):
            if script[at] not in ";\n}{":
                return False
            at += 1
    return True


def _tar(line: ReadLine) -> Iterator[Inside]:
    named = ("--to-command", "--checkpoint-action", "--use-compress-program", "-I", "--rmt-command")
    for name in named:
        for value in line.values.get(name, []):
            if value.text.removeprefix("exec=") not in ("gzip", "zstd", "pigz", "xz", "bzip2"):
                yield RunsUnknown("setting", f"a command in {name} of tar")


def _make(line: ReadLine) -> Iterator[Inside]:
    files = [word.text for word in line.values.get("--file", [])]
    settings = [w.text for w in line.operands if w.text.startswith(("SHELL=", ".SHELLFLAGS="))]
    if "--eval" in line.values or "-" in files or "/dev/stdin" in files or settings:
        yield RunsUnknown("code", "make rules in the words or the input of make")


def _executing(*names: str) -> Callable[[ReadLine], Iterator[Inside]]:
    def run(line: ReadLine) -> Iterator[Inside]:
        for name in names:
            for value in line.values.get(name, []):
                yield RunsScript(value, replaces=False)

    return run


_RUNS: Final[Mapping[str, Callable[[ReadLine], Iterator[Inside]]]] = {
    "awk": _awk,
    "sed": _sed,
    "tar": _tar,
    "make": _make,
    "rsync": _executing("--rsh", "--rsync-path"),
    "nc": _executing("--exec", "-e", "-c"),
    "ncat": _executing("--exec", "--sh-exec"),
    "rg": _executing("--pre"),
    "sort": _executing("--compress-program"),
}
