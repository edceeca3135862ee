"""Plain English: docstrings say what a thing is, and stale phrases do not come back."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "benchmarks", "tools", "examples", "docs", "tests")
PAGES = [
    *ROOT.glob("*.md"),
    *(page for page in (ROOT / "docs").rglob("*.md") if "results" not in page.parts),
]

FAULTS = {
    "opens with a question word and is no question": (
        r"\A(?:What|How|Where|Who|Whom|Whose|Whether|Which|Why)\b(?![^.]*\?)"
    ),
    "ends without a full stop": r"\A[A-Z][a-z]+ [^\n]*[\w,]\Z",
}
"""Docstrings are held to these."""
PHRASES = (
    *("told apart", "is told", "are told", "be told"),
    *("may be had", "can be had", "to be had", "has it that", "sees to it", "goes on"),
    *("in earnest", "leant on", "whatever an agent sends", "is no way around"),
)
"""No docstring, comment, message or page says these."""


def _docstrings(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(written))):
                yield node.lineno, written.strip()


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    """The strings and comments of a program, or the lines of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield token.start[0], token.string


def _programs(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_docstrings_say_what_a_thing_is() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: it {fault}: {text[:80]}"
        for path in _programs(*FOLDERS)
        for line, text in _docstrings(path.read_text(encoding="utf-8"))
        for fault, sought in FAULTS.items()
        if re.search(sought, text)
    ]
    assert found == []


def test_no_stale_phrase() -> None:
    sought = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in [*_programs("src", "benchmarks", "tools", "examples"), *PAGES]
        for line, text in _prose(path)
        if (match := sought.search(text))
    ]
    assert found == []
