"""One name, one meaning: class names are unique, and none contains a word the glossary gives up."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _defined() -> dict[str, list[str]]:
    """Each class and type alias, with the files that define it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "src" / "bylaw").rglob("*.py")):
        for statement in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match statement:
                case ast.ClassDef(name=name):
                    found[name].append(str(path.relative_to(ROOT)))
                case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                    found[name].append(str(path.relative_to(ROOT)))
    return found


def _given_up() -> dict[str, str]:
    """The words that the glossary gives up, and the word to use."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z, ]+) \| (.+) \| ([a-z, ]*)\|$", text, re.MULTILINE)
    rows = [row for row in rows if row[0] != "word"]
    assert len(rows) > 30
    assert all(meaning.endswith(".") for _, meaning, _ in rows)
    return {
        word.strip(): term for term, _, others in rows for word in others.split(",") if word.strip()
    }


DEFINED = _defined()
GIVEN_UP = _given_up()


def test_each_name_is_defined_once() -> None:
    assert {name: files for name, files in DEFINED.items() if len(files) > 1} == {}


@pytest.mark.parametrize("word", sorted(GIVEN_UP))
def test_no_class_is_named_by_a_word_that_was_given_up(word: str) -> None:
    parts = {name: re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", name) for name in DEFINED}
    found = [name for name, words in parts.items() if word in map(str.lower, words)]
    assert found == [], f"the glossary calls it '{GIVEN_UP[word]}'"
