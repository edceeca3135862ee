"""The pages for contributors work: their blocks are applied to a copy of the repository."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from doc_pages import Page, environment
from how_to import Recipe, copy_of

ROOT = Path(__file__).parents[2]
PAGES = (
    "add-a-format",
    "add-a-function",
    "add-a-predicate",
    "add-a-template",
    "add-an-operator",
)
FOLDER = ROOT / "docs" / "how-to"


def _applied(name: str, tmp_path: Path) -> tuple[Recipe, Path]:
    recipe = Recipe(Page(FOLDER / f"{name}.md"))
    tree = copy_of(ROOT, tmp_path / "copy")
    recipe.apply(tree)
    return recipe, tree


def _run(tree: Path, *command: str) -> None:
    """Runs Python in the copy, which is what it imports."""
    found = os.pathsep.join(str(tree / part) for part in ("src", "tests/support"))
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env=environment() | {"PYTHONPATH": found},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("name", PAGES)
def test_what_was_added_works_offline_live_and_in_a_corpus(name: str, tmp_path: Path) -> None:
    recipe, tree = _applied(name, tmp_path)
    assert recipe.edits
    _run(tree, "docs/generate.py")
    tables = [f"{table}={count}" for table, count in recipe.rows.items()]
    _run(tree, "tests/docs/judge_rows.py", *tables)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_what_the_page_demands_at_the_end_passes(name: str, tmp_path: Path) -> None:
    recipe, tree = _applied(name, tmp_path)
    assert any(command.startswith("pytest ") for command in recipe.commands)
    for command in recipe.commands:
        program, *arguments = shlex.split(command)
        if program == "python":
            _run(tree, *arguments)
        elif program == "pytest":
            _run(tree, "-m", "pytest", "-x", "-m", "not slow", *arguments)
        elif find_spec(program) is not None:
            _run(tree, "-m", program, *arguments)


# ── the machinery ─────────────────────────────────────────────────────────────────────────


def _carried_out(tmp_path: Path, text: str) -> Path:
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("one\ntwo\n    two\none\nthree\n")
    Recipe(Page(tmp_path / "page.md")).apply(tmp_path)
    return tmp_path / "src"


def test_blocks_change_the_file_named_before_them(tmp_path: Path) -> None:
    text = """
In `src/a.py`:

```diff
 two
+new
@@
-three
```

A new file `src/deep/b.py`:

```diff
+first
```

It may grow:

```diff
 first
+second
```
"""
    source = _carried_out(tmp_path, text)
    assert (source / "a.py").read_text() == "one\ntwo\nnew\n    two\none\n"
    assert (source / "deep" / "b.py").read_text() == "first\nsecond\n"


@pytest.mark.parametrize(
    "text",
    [
        "```diff\n three\n+x\n```\n",
        "`src/a.py`\n```diff\n four\n+x\n```\n",
        "`src/a.py`\n```diff\n one\n+x\n```\n",
        "`src/a.py`\n```diff\n+x\n```\n",
        "`src/b.py`\n```diff\n one\n+x\n```\n",
    ],
    ids=["no file", "no such place", "two places", "no place", "no such file"],
)
def test_a_block_that_does_not_fit_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(AssertionError):
        _carried_out(tmp_path, text)
