"""Markdown pages whose examples run.

The blocks of a page run from top to bottom, in one folder that also holds a copy of the
repository's `examples`:

    ```yaml title="refund.yaml"    the block is written to that file
    ```console                     `$ ` lines are run, the lines below each are its exact output;
                                   `…` stands for anything, `[exit 1]` for another code than 0
    ```python                      run in one namespace per page; `>>>` lines are compared
    ```bylaw                       formulas, with blank lines between them, that must be read
    ```json, ```yaml               must be readable
    ```text, ```diff               left alone
"""

from __future__ import annotations

import difflib
import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bylaw import parse

ANYTHING = "…"

_FENCE = re.compile(r"(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)")
_TITLE = re.compile(r'title="([^"]+)"')
_EXIT = re.compile(r"\[exit (\d+)\]")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"#{1,6} +(.+)")
_SHELL = re.compile(r"[|&;<>$*?`~{}()]")
"""Characters by which a command may need a shell."""
_INLINE_CODE = re.compile(r"(`+)(?:(?!\1).)+?\1")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    title: str | None
    text: str
    line: int
    """The number of its first line in the page, counted from 1."""
    before: tuple[str, ...] = ()
    """The lines of prose between the previous block and this one."""


class Page:
    """A Markdown file: its prose and its blocks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.blocks, self.prose = _split(self.text)

    def links(self) -> Iterator[str]:
        """The targets of the page's links."""
        for line in self.prose:
            yield from _LINK.findall(_INLINE_CODE.sub("", line))

    def code(self) -> Iterator[str]:
        """The inline code of the prose."""
        return inline_code(self.prose)

    def anchors(self) -> set[str]:
        """The anchors of the headings, as GitHub spells them."""
        headings = (_HEADING.fullmatch(line) for line in self.prose)
        return {_anchor(heading[1]) for heading in headings if heading}


def inline_code(prose: Iterable[str]) -> Iterator[str]:
    """The inline code in these lines."""
    for line in prose:
        yield from (found[0].strip("`") for found in _INLINE_CODE.finditer(line))


def _split(text: str) -> tuple[list[Block], list[str]]:
    """The fenced blocks, and the lines outside them."""
    blocks: list[Block] = []
    prose: list[str] = []
    read = 0
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        fence = _FENCE.fullmatch(line)
        if fence is None:
            prose.append(line)
            continue
        closing = fence["indent"] + fence["ticks"]
        body: list[str] = []
        for _, inner in lines:
            if inner.rstrip() == closing:
                break
            body.append(inner.removeprefix(fence["indent"]))
        else:
            raise AssertionError(f"the block that begins on line {number} never ends")
        language, _, _ = fence["info"].strip().partition(" ")
        title = _TITLE.search(fence["info"])
        shown = "".join(f"{each}\n" for each in body)
        before, read = tuple(prose[read:]), len(prose)
        blocks.append(Block(language, title[1] if title else None, shown, number + 1, before))
    return blocks, prose


def _anchor(heading: str) -> str:
    plain = _LINK.sub(lambda link: link[0][1 : link[0].index("]")], heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")


def matches(expected: str, found: str) -> bool:
    """Is this the expected output? `…` is anything: lines if it stands alone, else characters."""
    pattern = ""
    for line in expected.rstrip("\n").split("\n"):
        if line.strip() == ANYTHING:
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += re.escape(line).replace(re.escape(ANYTHING), r"[^\n]*") + r"\n"
    return re.fullmatch(pattern, found.rstrip("\n") + "\n") is not None


class Runner:
    """Runs the blocks of one page in one folder, which must be the current one.

    With `forked`, commands of Bylaw are forked from a process that has imported it already.
    """

    def __init__(self, page: Page, folder: Path, *, forked: bool = False) -> None:
        self.page = page
        self.folder = folder
        self.forked = forked
        self.namespace: dict[str, Any] = {"__name__": page.path.stem}

    def run(self) -> None:
        """Runs every block; raises an AssertionError at the first that fails."""
        for block in self.page.blocks:
            self.block(block)

    def block(self, block: Block) -> None:
        if block.title is not None:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            return
        match block.language:
            case "console":
                self.console(block)
            case "python" if ">>>" in block.text:
                self.session(block)
            case "python":
                source = "\n" * (block.line - 1) + block.text  # so that line numbers are the page's
                exec(compile(source, str(self.page.path), "exec"), self.namespace)
            case "bylaw":
                for formula in filter(str.strip, block.text.split("\n\n")):
                    parse(formula)
            case "json":
                json.loads(block.text)
            case "yaml":
                yaml.safe_load(block.text)
            case "text" | "diff":
                pass
            case other:
                raise AssertionError(self.at(block.line, f"a block of the kind {other!r}"))

    def at(self, line: int, message: str) -> str:
        return f"{self.page.path}:{line}: {message}"

    # ── commands ─────────────────────────────────────────────────────────────────────────

    def console(self, block: Block) -> None:
        for line, command, expected, code in commands(block):
            done = self.command(command)
            if not matches(expected, done.stdout):
                changes = difflib.unified_diff(
                    expected.splitlines(), done.stdout.splitlines(), "page", "output", lineterm=""
                )
                shown = "\n".join(changes)
                raise AssertionError(self.at(line, f"$ {command} prints something else\n{shown}"))
            if done.returncode != code:
                message = f"$ {command} exits with {done.returncode}, not {code}"
                raise AssertionError(self.at(line, f"{message}\n{done.stdout}"))

    def command(self, command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command as a shell would. Its two streams are one, as on a terminal."""
        program, *arguments = shlex.split(command)
        if self.forked and program == "bylaw" and not _SHELL.search(command):
            from forked_commands import run_command  # not at hand outside the suite

            return run_command(arguments, folder=self.folder, environment=environment())
        return subprocess.run(
            command,
            shell=True,
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    # ── Python ───────────────────────────────────────────────────────────────────────────

    def session(self, block: Block) -> None:
        name = str(self.page.path)
        test = doctest.DocTestParser().get_doctest(block.text, {}, name, name, block.line - 1)
        test.globs = self.namespace
        report: list[str] = []
        runner = doctest.DocTestRunner(_Checker(), verbose=False)
        runner.run(test, out=report.append, clear_globs=False)
        if runner.failures:
            raise AssertionError(self.at(block.line, "".join(report)))


class _Checker(doctest.OutputChecker):
    """Compares as for commands."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return matches(want, got) if want else not got


def commands(block: Block) -> Iterator[tuple[int, str, str, int]]:
    """The commands of a console block: line, command, expected output, expected exit code."""
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if line.startswith("$ "):
            found.append((number, line.removeprefix("$ "), []))
        elif not found:
            raise AssertionError(f"line {number}: a console block begins with a command, `$ …`")
        else:
            found[-1][2].append(line)
    for number, command, output in found:
        while output and not output[-1]:
            output.pop()
        code = _EXIT.fullmatch(output[-1]) if output else None
        if code:
            output.pop()
        yield number, command, "\n".join(output), int(code[1]) if code else 0


def environment() -> dict[str, str]:
    """The environment of commands: this Python's scripts first, 80 columns, no colours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    scripts = str(Path(sys.executable).parent)
    return kept | {
        "PATH": os.pathsep.join([scripts, kept.get("PATH", "")]),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",  # or the two streams would not be in order
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
