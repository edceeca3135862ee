"""The runner of the documentation's examples notices when one is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_pages import Page, Runner, matches


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("a\nb", "a\nb\n"),
        ("", ""),
        ("…", ""),
        ("…", "a\nb\n"),
        ("a\n…\nd", "a\nb\nc\nd\n"),
        ("a\n…\nd", "a\nd\n"),
        ("took … s (…)", "took 0.1 s (fast)\n"),
        ("a.c", "a.c\n"),
        ("a\n\nb", "a\n\nb\n"),
    ],
)
def test_same(expected: str, found: str) -> None:
    assert matches(expected, found)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("a", "b\n"),
        ("a", "a\nb\n"),
        ("a\nb", "a\n"),
        ("a …", "a\nb\n"),
        ("a.c", "abc\n"),
        ("a\n…", "b\na\n"),
        ("a", ""),
        ("a\nb", "a\n\nb\n"),
        ("a", " a\n"),
    ],
)
def test_different(expected: str, found: str) -> None:
    assert not matches(expected, found)


def _run(tmp_path: Path, text: str) -> Runner:
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    runner = Runner(Page(path), tmp_path)
    runner.run()
    return runner


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ echo a\na\n\n$ echo b; exit 3\nb\n[exit 3]\n```\n",
        '```text title="x/y.txt"\nhello\n```\n\n```console\n$ cat x/y.txt\nhello\n```\n',
        '1. A:\n\n   ```text title="t"\n   in a list\n   ```\n```console\n$ cat t\nin a list\n```',
        "```python\na = 1\n```\n\n```python\n>>> a\n1\n```\n",
        "```python\n>>> print('x y z')\nx … z\n>>> a = 2\n```\n",
        "```bylaw\nG(a -> F b)\n\nforall x in [1]:\n  Called(a)\n```\n",
        "```text\n$ not run\n```\n",
        '```json\n{"a": 1}\n```\n',
    ],
)
def test_right_pages_pass(tmp_path: Path, text: str) -> None:
    _run(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ echo a\nb\n```\n",
        "```console\n$ exit 1\n```\n",
        "```console\n$ true\n[exit 1]\n```\n",
        "```console\n$ echo a\n```\n",
        "```console\nno command\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nassert False\n```\n",
        "```python\n>>> 1\n```\n",
        "```console\n$ true\n",
        "```cobol\nx\n```\n",
        "```\nx\n```\n",
    ],
)
def test_wrong_pages_fail(tmp_path: Path, text: str) -> None:
    with pytest.raises(AssertionError):
        _run(tmp_path, text)


def test_errors_name_the_page_and_the_line(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"page\.md:4: \$ echo a prints something else"):
        _run(tmp_path, "# Title\n\n```console\n$ echo a\nb\n```\n")


def test_links_and_anchors(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        "# The `bylaw` tool, in short\n\n[a](x.md#b) `[c](d)` [e](f.md)\n\n```text\n[g](h)\n```\n",
        encoding="utf-8",
    )
    page = Page(path)
    assert list(page.links()) == ["x.md#b", "f.md"]
    assert page.anchors() == {"the-bylaw-tool-in-short"}
