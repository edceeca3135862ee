"""Each promise on the security page names the tests that hold it, and there are such tests."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "explanation" / "security.md"
_NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def _promises() -> list[tuple[str, str]]:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    return [(cell[0], cell[1]) for cell in cells if cell[0] not in ("promise", "---")]


@functools.cache
def _tests_in(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize(("promise", "tests"), _promises(), ids=lambda text: text[:60])
def test_a_promise_is_held_by_tests(promise: str, tests: str) -> None:
    named = _NAMED.findall(tests)
    assert named, promise
    assert _NAMED.sub("", tests).replace(",", "").strip() == "", "nothing but tests"
    for file, test in named:
        assert test.startswith("test_")
        assert test in _tests_in(TESTS / file), f"there is no {file}::{test}"


def test_the_page_has_promises() -> None:
    assert len(_promises()) > 20
