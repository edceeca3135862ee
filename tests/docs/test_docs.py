"""Every example of the documentation runs, every link leads somewhere, nothing is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import Page, Runner

import bylaw
from bylaw import formulas
from bylaw.cli.main import COMMANDS
from bylaw.codes import CODES
from bylaw.logic.operators import KEYWORDS, OPERATORS
from bylaw.procedure.constraint import Severity
from bylaw.procedure.files import _CONSTRAINT_FIELDS, _FIELDS
from bylaw.trace.record import _CALL_FIELDS, _OWN_FIELDS
from bylaw.vocabulary.predicates import PREDICATES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*ROOT.glob("README.md"), *sorted(DOCS.rglob("*.md"))]
REFERENCE = DOCS / "reference"


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_examples(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=ignored)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    try:
        Runner(Page(path), tmp_path).run()
    finally:  # a page's own modules must not be found by the next page
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).is_relative_to(tmp_path):
                del sys.modules[name]


# ── links ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_links(path: Path) -> None:
    page = Page(path)
    for link in page.links():
        if "://" in link or link.startswith("mailto:"):
            continue
        target, _, anchor = link.partition("#")
        found = (path.parent / target).resolve() if target else path
        assert found.exists(), f"{link} leads nowhere"
        assert found.is_relative_to(ROOT), f"{link} leads out of the repository"
        if anchor:
            assert anchor in Page(found).anchors(), f"{link}: there is no such heading"


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_files_that_pages_name_exist(path: Path) -> None:
    named = re.compile(r"(?:src|tests|docs|examples)/[\w./-]*\w")
    for code in Page(path).code():
        if named.fullmatch(code):
            assert (ROOT / code).exists(), code


def test_the_map_shows_every_page() -> None:
    index = DOCS / "index.md"
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in Page(index).links()}
    assert linked >= set(DOCS.rglob("*.md")) - {index}


# ── the reference is complete ─────────────────────────────────────────────────────────────


def test_generated_parts_are_current() -> None:
    command = [sys.executable, str(DOCS / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _reference(name: str) -> Page:
    return Page(REFERENCE / name)


def test_every_word_of_the_language_is_described() -> None:
    page = _reference("language.md")
    table = [line for line in page.prose if line.startswith("| `")]
    for operator in OPERATORS:
        symbol = operator.symbol.replace("|", r"\|")
        assert any(f" {symbol} " in f" {line} " for line in table), operator.symbol
        for spelling in (*operator.words, operator.tag):
            assert any(f"`{spelling}`" in line for line in table), spelling
    code = " ".join(page.code())
    for word in (*PREDICATES, *KEYWORDS, *formulas.__all__):
        assert re.search(rf"(?<!\w){re.escape(word)}(?!\w)", code), word


def test_every_code_is_described() -> None:
    page = _reference("diagnostics.md")
    assert page.anchors() >= {code.lower() for code in CODES}


def test_every_command_is_described() -> None:
    page = _reference("commands.md")
    assert page.anchors() >= {f"bylaw-{command}" for command in COMMANDS}
    for command in COMMANDS:
        assert f"<!-- generated: command {command} -->" in page.text


def test_every_field_of_a_procedure_is_described() -> None:
    code = set(_reference("procedure-files.md").code())
    severities = {severity.value for severity in Severity}
    assert code >= {*_FIELDS, *_CONSTRAINT_FIELDS, *severities}


def test_every_field_of_a_record_is_described() -> None:
    code = set(_reference("trace-records.md").code())
    assert code >= {*_OWN_FIELDS, *_CALL_FIELDS}


def test_every_public_name_is_described() -> None:
    code = " ".join(_reference("python-api.md").code())
    for name in bylaw.__all__:
        assert re.search(rf"\b{name}\b", code), name
