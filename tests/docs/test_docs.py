"""Every example of the documentation runs, every link leads somewhere, nothing is missing."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import subprocess
import sys
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from declared import declared
from doc_pages import Page, Runner
from how_to import Recipe

import bylaw
from bylaw import formulas, parse
from bylaw.cli.main import COMMANDS
from bylaw.codes import CODES
from bylaw.logic.operators import COMPARISONS, KEYWORDS, OPERATORS
from bylaw.procedure.files import CONSTRAINT_FIELDS, PROCEDURE_FIELDS
from bylaw.procedure.procedure import SEVERITIES
from bylaw.trace.formats import FORMATS
from bylaw.trace.record import _CALL_FIELDS, OWN_FIELDS
from bylaw.vocabulary.predicates import PREDICATES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*ROOT.glob("README.md"), *sorted(DOCS.rglob("*.md"))]
REFERENCE = DOCS / "reference"


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


PACKAGES = {"report-to-opentelemetry.md": "opentelemetry.sdk"}
"""Pages, other than those of adapters, that need a package."""


def _page(path: Path) -> Any:
    """A page. Those about a framework need it."""
    needed = [each.package for each in declared() if each.page == path.name and each.package]
    needed += [PACKAGES[path.name]] if path.name in PACKAGES else []
    # Their warnings are the framework's own, some of them when it is cleaned up after.
    marks = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")] if needed else []
    return pytest.param(path, id=_name(path), marks=marks)


@pytest.mark.parametrize("path", [_page(path) for path in PAGES])
def test_examples(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for adapter in declared():
        if adapter.page == path.name and not adapter.is_installed:
            pytest.skip(f"NOT TESTED: {adapter.package} is not installed")
    if path.name in PACKAGES:
        missing = f"NOT TESTED: {PACKAGES[path.name]} is not installed"
        pytest.importorskip(PACKAGES[path.name], reason=missing)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=ignored)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    try:
        Runner(Page(path), tmp_path, forked=True).run()
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


def test_figures_of_the_readme_are_on_the_pages_it_links_to() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    evidence = text[text.index("## Does it work?") : text.index("## Where to go")]
    linked = re.findall(r"\[([^\]]+)\]\(([^)#]+)(?:#[^)]*)?\)", evidence)
    assert len(linked) > 5
    for told, page in linked:
        figures = re.findall(r"\d(?:[\d,.]*\d)?", told)
        found = (ROOT / page).read_text(encoding="utf-8")
        assert not [each for each in figures if each not in found], f"{page}: {told}"


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_files_that_pages_name_exist(path: Path) -> None:
    named = re.compile(r"(?:src|tests|docs|examples)/[\w./-]*\w")
    page = Page(path)
    made = Recipe(page).new_files if path.parent.name == "how-to" else set()
    for code in page.code():
        if named.fullmatch(code) and code not in made:
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
    words = set(
        re.findall(r"\w+|[^\w\s\"'(){}\[\],.:…]+", " ".join(_reference("language.md").code()))
    )
    for operator in OPERATORS:
        assert {operator.symbol, operator.tag, *operator.words} <= words
    assert {*PREDICATES, *KEYWORDS, *COMPARISONS, *formulas.__all__} <= words


def test_the_python_form_is_as_the_table_says() -> None:
    text = _reference("language.md").text.partition("| text | Python |")[2]
    rows = re.findall(r"^\| `(.+)` \| `(.+)` \|$", text, re.MULTILINE)
    assert len(rows) > 15
    for written, python in rows:
        assert parse(written) == eval(python, vars(formulas)), written


def test_every_code_is_described() -> None:
    page = _reference("diagnostics.md")
    assert page.anchors() >= {code.lower() for code in CODES}


def test_every_command_is_described() -> None:
    page = _reference("commands.md")
    assert page.anchors() >= {f"bylaw-{command.replace(' ', '-')}" for command in COMMANDS}


def test_every_field_of_a_procedure_is_described() -> None:
    code = set(_reference("procedure-files.md").code())
    assert code >= {*PROCEDURE_FIELDS, *CONSTRAINT_FIELDS, *SEVERITIES}


def test_every_field_of_a_record_is_described() -> None:
    code = set(_reference("trace-records.md").code())
    assert code >= {*OWN_FIELDS, *_CALL_FIELDS}


def test_every_format_is_described() -> None:
    """The how-to has a row for each format in both of its tables."""
    text = Page(ROOT / "docs" / "how-to" / "read-other-traces.md").text
    _, formats, labels = text.split("\n| format | ")
    for known in FORMATS[1:]:  # the record has a page of its own
        assert re.search(rf"^\| {known.name}", formats, re.MULTILINE), known.name
        assert re.search(rf"^\| .*\b{known.name}", labels, re.MULTILINE), known.name


def test_every_public_name_is_described() -> None:
    code = " ".join(_reference("python-api.md").code())
    for name in bylaw.__all__:
        assert re.search(rf"\b{name}\b", code), name


def test_signatures_are_as_described() -> None:
    described = [line for line in _reference("python-api.md").prose if line.startswith("- `")]
    checked = set()
    for name, parameters in re.findall(r"`([\w.]+)\((.*?)\)`", "\n".join(described)):
        owner, *rest = name.split(".")
        if owner not in bylaw.__all__:
            continue
        found = reduce(getattr, rest, getattr(bylaw, owner))
        (written,) = ast.parse(f"def f({parameters.replace('…', '...')}): ...").body
        assert isinstance(written, ast.FunctionDef)
        actual = inspect.signature(found).parameters.values()
        by_keyword = [p.name for p in actual if p.kind is p.KEYWORD_ONLY]
        by_position = [p.name for p in actual if p.kind is not p.KEYWORD_ONLY]
        described_names = [argument.arg for argument in written.args.args]
        assert described_names == by_position[: len(described_names)], name
        assert {argument.arg for argument in written.args.kwonlyargs} <= set(by_keyword), name
        checked.add(name)
    functions = {name for name in bylaw.__all__ if inspect.isfunction(getattr(bylaw, name))}
    assert checked >= functions, "a function has no line `- name(parameters): …`"
