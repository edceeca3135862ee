"""Programs that run another command: `sudo`, `env`, `xargs`, `bash -c`, `find -exec`, and so on.

`inside` tells what such a command runs: other words, a script, or something that cannot be known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from bylaw.frozen import frozen
from bylaw.shell.expansion import KnownWord
from bylaw.shell.inside import Inside, RunsScript, RunsUnknown, RunsWords, Words
from bylaw.shell.interpreters import interpreted
from bylaw.shell.options import read_line
from bylaw.shell.programs import names

_ENDS_IN_C: Final = re.compile(r"-[A-Za-z]*c")
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=", re.ASCII)


@frozen
class Wrapper:
    """A program whose operands are another command."""

    values: frozenset[str] = frozenset()
    """The options that take a value."""
    skips: int = 0
    """The number of operands before the command."""
    assigns: bool = False
    """May assignments stand before the command?"""
    first: str | None = None
    """The subcommand that runs a command: `uv run`."""
    never: frozenset[str] = frozenset()
    """Options with which no command is run."""
    moves: frozenset[str] = frozenset()
    """Options that name the folder in which the command runs."""


def _wrapper(
    values: str = "",
    skips: int = 0,
    *,
    assigns: bool = False,
    first: str = "",
    never: str = "",
    moves: str = "",
) -> Wrapper:
    return Wrapper(
        names(values) | names(moves), skips, assigns, first or None, names(never), names(moves)
    )


_WRAPPERS: Final[Mapping[str, tuple[Wrapper, ...]]] = {
    "sudo": (
        _wrapper(
            "-u -g -h -p -C -r -t -T -U --user --group --host --prompt --close-from --role "
            "--type --command-timeout --other-user",
            assigns=True,
            moves="-D -R --chdir --chroot",
            never="-l -v -V -k -K -e --list --validate --version --edit",
        ),
    ),
    "doas": (_wrapper("-u -C -a"),),
    "env": (_wrapper("-u --unset --argv0 -a", assigns=True, moves="-C --chdir"),),
    "command": (_wrapper(never="-v -V"),),
    "builtin": (_wrapper(),),
    "exec": (_wrapper("-a"),),
    "nohup": (_wrapper(),),
    **dict.fromkeys(("chronic", "unbuffer", "rlwrap", "firejail", "pkexec", "entr"), (_wrapper(),)),
    "proot": (_wrapper("-r -b -w -q -R -S", moves="-r -R -S -w"),),
    "setsid": (_wrapper(),),
    "time": (_wrapper("-f -o --format --output"),),
    "nice": (_wrapper("-n --adjustment"),),
    "ionice": (_wrapper("-c -n -p -P -u --class --classdata", never="-p -P -u"),),
    "chrt": (_wrapper("-T -P -D", 1, never="-p -m"),),
    "taskset": (_wrapper("", 1, never="-p"),),
    "stdbuf": (_wrapper("-i -o -e --input --output --error"),),
    "timeout": (_wrapper("-k -s --kill-after --signal", 1),),
    "unshare": (_wrapper("-S -G -R -w"),),
    "chroot": (_wrapper("--userspec --groups", 1),),
    "fakeroot": (_wrapper("-s -i -l"),),
    "strace": (_wrapper("-e -o -p -s -a -E -u -P -I -O -S -X -b", never="-p"),),
    "ltrace": (_wrapper("-e -o -p -s -a -u -n -l", never="-p"),),
    "valgrind": (_wrapper(),),
    "systemd-run": (_wrapper("-u -p -E -t -G --unit --property --slice --setenv"),),
    "proxychains": (_wrapper("-f"),),
    "torsocks": (_wrapper(),),
    "xvfb-run": (_wrapper("-n -s -e -f -p -w"),),
    "caffeinate": (_wrapper("-t -w"),),
    "winpty": (_wrapper(),),
    "busybox": (_wrapper(never="--list --install --help"),),
    "toybox": (_wrapper(never="--list --help"),),
    "dotenv": (_wrapper("-e -f"), _wrapper("-e -f", first="run")),
    "direnv": (_wrapper("", 1, first="exec"),),
    "doppler": (_wrapper("-p -c -t", first="run"),),
    "op": (_wrapper("--env-file --account", first="run"),),
    "uv": (
        _wrapper(
            "--with -p --python --extra --group --env-file --project --directory "
            "--with-requirements --package -m --module",
            first="run",
        ),
    ),
    "poetry": (_wrapper("-C --directory", first="run"),),
    "pipenv": (_wrapper(first="run"),),
    "pdm": (_wrapper(first="run"),),
    "hatch": (_wrapper("-e", first="run"),),
    "rye": (_wrapper(first="run"),),
    "conda": (_wrapper("-n -p --name --prefix --cwd", first="run"),),
    "mamba": (_wrapper("-n -p --name --prefix --cwd", first="run"),),
    "bundle": (_wrapper(first="exec"),),
    "npm": (
        _wrapper("-p --package -w -c --call", first="exec"),
        _wrapper("-p --package -c --call", first="x"),
    ),
    "pnpm": (_wrapper("-C --dir", first="exec"),),
    "yarn": (_wrapper(first="exec"),),
    "npx": (_wrapper("-p --package -c --call"),),
    "bunx": (_wrapper(),),
    "uvx": (_wrapper("--from --with -p --python"),),
}
_WRAPPED_ALIASES: Final = {"gtimeout": "timeout", "gnice": "nice", "genv": "env", "gxargs": "xargs"}


def inside(program: str, words: Words, stdin: KnownWord | None) -> Iterator[Inside]:
    """The things that a command runs besides itself; none if it is a command like any other.

    The words begin after the program. `stdin` is the text that it reads, if it reads one: a
    here-document, or something unknown from a pipe.
    """
    program = _WRAPPED_ALIASES.get(program, program)
    if program.startswith(("ld-linux", "ld.so")):
        yield from _wrapped(_wrapper("--library-path --preload --argv0"), words)
    for wrapper in _WRAPPERS.get(program, ()):
        yield from _wrapped(wrapper, words)
    if runs := _SPECIAL.get(program):
        yield from runs(words)
    if program in SHELLS:
        yield from _shell(words, stdin)
    else:
        yield from interpreted(program, words, stdin)


def _wrapped(wrapper: Wrapper, words: Words) -> Iterator[Inside]:
    rest = list(words)
    if wrapper.first is not None:
        while rest and rest[0].text != wrapper.first:
            if not rest[0].text.startswith("-"):
                return
            taken = rest.pop(0).text
            if taken in wrapper.values and rest:
                rest.pop(0)
        if not rest:
            return
        rest.pop(0)
    skips = wrapper.skips
    assigned: list[KnownWord] = []
    while rest:
        word = rest[0]
        if word.text == "--":
            rest.pop(0)
            break
        if word.text in wrapper.never:
            return
        if word.text.partition("=")[0] in wrapper.moves:
            yield RunsUnknown("setting", "a command that runs in another folder")
            return
        if word.text in ("-S", "--split-string") or word.text.startswith("--split-string="):
            yield from _split_string(rest)
            return
        if word.text in ("-m", "--module") and word.text in wrapper.values and rest[1:]:
            rest.pop(0)  # uv run -m pytest
            break
        if word.text.startswith("-") and len(word.text) > 1:
            rest.pop(0)
            if word.text in wrapper.values and rest:
                rest.pop(0)
        elif wrapper.assigns and _ASSIGNED.match(word.text):
            assigned.append(rest.pop(0))
        elif skips:
            skips -= 1
            rest.pop(0)
        else:
            break
    if rest:
        yield RunsWords(tuple(rest), assigned=tuple(assigned))


def _split_string(rest: list[KnownWord]) -> Iterator[Inside]:
    """`env -S "a b" c`: the text is split into words like a script of one command."""
    first = rest[0].text.partition("=")
    text = KnownWord(first[2], rest[0].literal) if first[1] else rest[1] if rest[1:] else None
    others = rest[1:] if first[1] else rest[2:]
    if text is None:
        return
    if any(mark in text.text for mark in "\\$"):
        yield RunsUnknown("encoding", "an escape in env -S")
        return
    yield RunsScript(_joined([text, *others]))


# ── shells ────────────────────────────────────────────────────────────────────────────────

SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ksh", "ash", "mksh", "rbash"})
_SHELL_VALUES: Final = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})


def _shell(words: Words, stdin: KnownWord | None) -> Iterator[Inside]:
    rest = list(words)
    reads_text = from_stdin = False
    while rest and rest[0].text[:1] in ("-", "+") and rest[0].literal:
        option = rest.pop(0).text
        if option in ("--", "-"):
            break
        if not option.startswith("--"):
            reads_text = reads_text or "c" in option[1:]
            from_stdin = from_stdin or "s" in option[1:]
        if (option in _SHELL_VALUES or (option[1:].endswith("o") and option[:2] != "--")) and rest:
            rest.pop(0)
        if option in ("--version", "--help"):
            return
    if reads_text:
        if rest:
            yield RunsScript(rest[0])
        return
    if rest and not from_stdin:
        if not rest[0].literal or rest[0].text.startswith(("/dev/", "/proc/")):
            yield RunsUnknown("script", "a shell that runs a file that is not known")
        return
    if stdin is not None and stdin.literal:
        yield RunsScript(stdin)
    else:
        yield RunsUnknown("stdin", "a shell that reads commands from its standard input")


# ── commands in the words of others ───────────────────────────────────────────────────────


def _joined(words: Words) -> KnownWord:
    return KnownWord(" ".join(word.text for word in words), all(word.literal for word in words))


def _eval(words: Words) -> Iterator[Inside]:
    given = [word for word in words if word.text != "--"]
    if given:
        yield RunsScript(_joined(given))


def _trap(words: Words) -> Iterator[Inside]:
    given = [word for word in words if word.text not in ("--", "-p", "-l")]
    if len(given) > 1 and given[0].text not in ("-", ""):
        yield RunsScript(given[0])


_ESCAPES: Final = re.compile(r"^\s*\.(shell|system|import|load|output|once)\b|\\\\?!|^\s*system\b")
"""The ways out of the shells of databases: `.shell` of sqlite3, `\\!` of psql and mysql."""
_XARGS_VALUES: Final = names(
    "-I -n -P -L -s -d -a -E --max-args --max-procs --max-lines --max-chars --delimiter "
    "--arg-file --replace --eof --process-slot-var"
)


def _xargs(words: Words) -> Iterator[Inside]:
    rest = list(words)
    replaced: str | None = None
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0).text
        if option == "--":
            break
        if option.startswith("-I"):
            replaced = option[2:] or (rest[0].text if rest else None)
        if option.startswith(("-i", "--replace")):
            replaced = option.removeprefix("-i").removeprefix("--replace").lstrip("=") or "{}"
        if option in _XARGS_VALUES and not option.startswith("--replace") and rest:
            rest.pop(0)
    if not rest:
        return
    if replaced is None:
        yield RunsWords((*rest, KnownWord("…", literal=False, open=True, splits=True)))
    else:
        yield RunsWords(tuple(_with_unknown(word, replaced) for word in rest))


def _with_unknown(word: KnownWord, mark: str) -> KnownWord:
    if mark not in word.text:
        return word
    return KnownWord(word.text, literal=False, open=word.text.startswith(mark))


def _find(words: Words) -> Iterator[Inside]:
    at = 0
    texts = [word.text for word in words]
    while at < len(words):
        if texts[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1
            while (
                end < len(words)
                and texts[end] != ";"
                and not (texts[end] == "+" and texts[end - 1] == "{}")
            ):
                end += 1
            inner = tuple(_with_unknown(word, "{}") for word in words[at + 1 : end])
            if inner:
                yield RunsWords(inner, replaces=False)
            at = end
        at += 1


def _watch(words: Words) -> Iterator[Inside]:
    rest = list(words)
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0).text
        if option in ("-n", "--interval", "-q", "--equexit") and rest:
            rest.pop(0)
    if rest:
        yield RunsScript(_joined(rest))


def _after_c(words: Words) -> Iterator[Inside]:
    """`su -c TEXT`, `script -qec TEXT`, `flock FILE -c TEXT`."""
    for at, word in enumerate(words[:-1]):
        if word.text == "--command" or _ENDS_IN_C.fullmatch(word.text):
            yield RunsScript(words[at + 1], replaces=False)
            return


def _npx(words: Words) -> Iterator[Inside]:
    """`npx -c TEXT`; after the package, options are its own."""
    for at, word in enumerate(words[:-1]):
        if word.text in ("-c", "--call"):
            yield RunsScript(words[at + 1])
        if not word.text.startswith("-") and words[at - 1].text not in ("-p", "--package"):
            return


def _npm(words: Words) -> Iterator[Inside]:
    if words and words[0].text in ("exec", "x"):
        yield from _npx(words[1:])


def _flock(words: Words) -> Iterator[Inside]:
    if any(word.text in ("-c", "--command") for word in words):
        yield from _after_c(words)
    else:
        yield from _wrapped(_wrapper("-w -E --timeout --conflict-exit-code", 1), words)


def _ssh(words: Words) -> Iterator[Inside]:
    line = read_line("ssh", words)
    if any("proxycommand" in each.text.lower() for each in line.values.get("-o", [])):
        yield RunsUnknown("setting", "a command in an option of ssh")
    # After the host, options belong to the remote command.
    for at, word in enumerate(words):
        if line.operands and word is line.operands[0]:
            if words[at + 1 :]:
                yield RunsScript(_joined(words[at + 1 :]), replaces=False, remote=True)
            return


def _parallel(words: Words) -> Iterator[Inside]:
    yield RunsUnknown("stdin", "commands that GNU parallel composes")


_SHOWING: Final = names("ls list-sessions list-windows list-panes capture-pane info -V -ls -list")


def _terminal(words: Words) -> Iterator[Inside]:
    """`tmux new 'make'`, `screen -dm make`: commands that run in another terminal."""
    if words and words[0].text not in _SHOWING:
        yield RunsUnknown("stdin", "commands in another terminal")


def _hash(words: Words) -> Iterator[Inside]:
    if any(word.text.startswith("-p") for word in words):
        yield RunsUnknown("alias", "a program gets the name of another")


def _database(words: Words) -> Iterator[Inside]:
    if any(_ESCAPES.search(word.text) for word in words):
        yield RunsUnknown("code", "a command in the words of a database's shell")


def _source(words: Words) -> Iterator[Inside]:
    if words and (not words[0].literal or words[0].text.startswith(("/dev/", "/proc/"))):
        yield RunsUnknown("script", "a script that is not known")


def _scheduled(words: Words) -> Iterator[Inside]:
    if [word.text for word in words] not in (["-l"], ["-r"]):
        yield RunsUnknown("stdin", "commands that run later")


def _alias(words: Words) -> Iterator[Inside]:
    if any("=" in word.text for word in words):
        yield RunsUnknown("alias", "an alias gives a command another name")


def _enabled(words: Words) -> Iterator[Inside]:
    if any(word.text == "-f" for word in words):
        yield RunsUnknown("setting", "a builtin that is loaded from a file")


def _uv(words: Words) -> Iterator[Inside]:
    """`uv pip …` is pip."""
    for at, word in enumerate(words):
        if word.text == "pip":
            yield RunsWords((KnownWord("pip"), *words[at + 1 :]))
        if not word.text.startswith("-"):
            return


_SPECIAL: Final[Mapping[str, Callable[[Words], Iterator[Inside]]]] = {
    "eval": _eval,
    "trap": _trap,
    "xargs": _xargs,
    "find": _find,
    "watch": _watch,
    "su": _after_c,
    "runuser": _after_c,
    "script": _after_c,
    "flock": _flock,
    "ssh": _ssh,
    "parallel": _parallel,
    "npx": _npx,
    "npm": _npm,
    "hash": _hash,
    **dict.fromkeys(("tmux", "screen", "zellij"), _terminal),
    **dict.fromkeys(("sqlite3", "psql", "mysql", "mariadb"), _database),
    "alias": _alias,
    "enable": _enabled,
    "uv": _uv,
    "source": _source,
    **dict.fromkeys(("at", "batch", "crontab"), _scheduled),
}
