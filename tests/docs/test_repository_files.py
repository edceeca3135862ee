"""Files that GitHub reads: the citation and the issue forms."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import bylaw

ROOT = Path(__file__).parents[2]
FORMS = [
    path
    for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    if path.stem != "config"
]


def test_the_citation_names_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == bylaw.__version__
    assert {"cff-version", "message", "title", "authors", "license"} <= set(cited)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_asks_for_something(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(form)
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert all(field["id"] and field["attributes"]["label"] for field in asked)
    assert any(field.get("validations", {}).get("required") for field in asked)
