"""A how-to page for contributors, as edits to a copy of the repository.

A block changes the file that was named last, in backticks, in the prose before it. The first block
about a file that does not exist creates it.

    ```diff                  replaces the lines without `+`, which must occur in the file exactly
                             once, by the lines without `-`. A line `@@` starts another place in
                             the same file.
    ```text                  about a truth table (`.cases`): rows to append;
                             otherwise commands to run. `pytest …` and `mypy` are the page's own
                             test of success
    ```python title="FILE"   (any language) the whole of a new file
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from doc_pages import Block, Page, inline_code

_FILE = re.compile(r"(?:src|tests|docs|examples)/[\w./-]*\.\w+|ARCHITECTURE\.md|pyproject\.toml")
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")


@dataclass
class Recipe:
    """The edits and the commands of one page."""

    page: Page
    edits: list[tuple[str, Block]] = field(default_factory=list)
    """Each block that changes a file, with the file's path in the repository."""
    commands: list[str] = field(default_factory=list)
    """The commands to run after the edits, in order."""

    def __post_init__(self) -> None:
        file = ""
        for block in self.page.blocks:
            named = [code for code in inline_code(block.before) if _FILE.fullmatch(code)]
            file = named[-1] if named else file
            if block.title is not None:
                self.edits.append((block.title, block))
            elif block.language == "diff" or (named and file.endswith(".cases")):
                self.edits.append((file, block))
            elif block.language == "text":
                self.commands += block.text.splitlines()

    @property
    def new_files(self) -> set[str]:
        """The files that the page makes, where the repository has none."""
        return {file for file, block in self.edits if block.title or _adds_only(block)}

    @property
    def rows(self) -> Counter[str]:
        """The number of rows that the page adds to each truth table."""
        tables: Counter[str] = Counter()
        for file, block in self.edits:
            if file.endswith(".cases"):
                tables[Path(file).name] += len(block.text.splitlines())
        return tables

    def apply(self, tree: Path) -> None:
        """Carries out the edits; raises an AssertionError at the first that does not fit."""
        for file, block in self.edits:
            assert file, self._at(block, "no file is named before this block")
            path = tree / file
            if block.title is not None or (block.language == "diff" and not path.exists()):
                assert block.title or _adds_only(block), self._at(block, f"{file} does not exist")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text if block.title else _after(block.text), encoding="utf-8")
                continue
            assert path.exists(), self._at(block, f"{file} does not exist")
            text = path.read_text(encoding="utf-8")
            if block.language == "diff":
                for hunk in re.split(r"^@@.*\n", block.text, flags=re.MULTILINE):
                    text = self._edited(text, hunk, file, block)
            else:
                text = f"{text.rstrip()}\n{block.text}"
            path.write_text(text, encoding="utf-8")

    def _edited(self, text: str, hunk: str, file: str, block: Block) -> str:
        lines, before = f"\n{text}", f"\n{_before(hunk)}"
        assert before.strip(), self._at(block, f"nothing says where in {file} this belongs")
        found = lines.count(before)
        assert found == 1, self._at(block, f"{found} places in {file} read{before}")
        return lines.replace(before, f"\n{_after(hunk)}").removeprefix("\n")

    def _at(self, block: Block, message: str) -> str:
        return f"{self.page.path}:{block.line}: {message}"


def _adds_only(block: Block) -> bool:
    return all(line.startswith("+") for line in block.text.splitlines())


def _before(hunk: str) -> str:
    return _side(hunk, "-")


def _after(hunk: str) -> str:
    return _side(hunk, "+")


def _side(hunk: str, mark: str) -> str:
    """The lines of one side. An empty line of the block is an empty line of both."""
    kept = [line for line in hunk.splitlines() if not line or line[0] in (" ", mark)]
    return "".join(f"{line[1:]}\n" for line in kept)


def copy_of(root: Path, tree: Path) -> Path:
    """A copy of the repository, without what was built or installed in it."""
    shutil.copytree(root, tree, ignore=_LEFT_OUT)
    return tree
