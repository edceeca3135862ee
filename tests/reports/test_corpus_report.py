"""The report on a corpus: its content, and opening traces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import chromium
import corpora
import pytest

from bylaw.batch.corpus import LocalEngine, score_corpus
from bylaw.batch.input.chunks import Limits
from bylaw.batch.input.files import CorpusFile, find_files
from bylaw.batch.output.summary import Summary
from bylaw.reports.html import corpus as corpus_page
from bylaw.reports.html.corpus import render_corpus

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LIMITS = Limits(chunk=10_000)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[CorpusFile]:
    folder: Path = tmp_path_factory.mktemp("corpus")
    corpora.jsonl(folder / "<b>runs.jsonl", 200, 1)
    corpora.jsonl(folder / "runs.jsonl.gz", 200, 2)
    return find_files([str(folder)])


@pytest.fixture(scope="module")
def summary(corpus: list[CorpusFile]) -> Summary:
    return score_corpus(corpora.DESK, corpus, engine=LocalEngine(1), limits=LIMITS)


@pytest.fixture(scope="module")
def html(summary: Summary, corpus: list[CorpusFile]) -> str:
    return render_corpus(summary, corpus, LIMITS)


def _data(html: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(found[1]) if found else None


def test_the_page_holds_the_worst_traces_and_some_of_each_rule(html: str, summary: Summary) -> None:
    wanted = {each.name for each in summary.worst}
    wanted |= {each.name for found in summary.examples.values() for each in found}
    assert {trace["trace"] for trace in _data(html)} == wanted
    scores = {trace["trace"]: trace["score"] for trace in _data(html)}
    assert all(scores[each.name] == each.score for each in summary.worst)
    assert f"{summary.mean:.4f}" in html
    assert "<b>runs" not in html, "names are only ever text"


def test_traces_that_are_too_large_are_only_named(
    summary: Summary, corpus: list[CorpusFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_page, "MAX_TRACE", 10)
    html = render_corpus(summary, corpus, LIMITS)
    assert _data(html) == []
    assert "runs.jsonl:" in html


def test_a_corpus_without_a_trace_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text("{}\n")
    found = find_files([str(tmp_path)])
    summary = score_corpus(corpora.DESK, found, engine=LocalEngine(1))
    assert "0 traces" in render_corpus(summary, found, Limits())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium.launched("THE REPORT ON A CORPUS")


@pytest.mark.browser
@pytest.mark.parametrize("size", [chromium.WIDE, chromium.NARROW], ids=["wide", "narrow"])
def test_traces_open_and_close(
    browser: Browser, html: str, summary: Summary, tmp_path: Path, size: tuple[int, int]
) -> None:
    file = tmp_path / "report.html"
    file.write_text(html, encoding="utf-8")
    opened = chromium.Opened.in_(browser, size)
    opened.go(file)
    page = opened.page
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    assert page.locator("figure svg").count() == 1
    worst = summary.worst[0]
    page.get_by_role("link", name=worst.name, exact=True).first.click()
    page.wait_for_selector(".viewer")
    assert page.locator(".rule[data-verdict=violated]").count() == worst.violated
    assert page.locator("#report").is_hidden()
    page.get_by_role("button", name="Summary").click()
    page.wait_for_selector("#report:visible")
    assert page.locator(".viewer").count() == 0
    page.go_back()
    page.wait_for_selector(".viewer")
    page.evaluate("hash => { location.hash = hash }", urlencode({"trace": "of no such name"}))
    page.wait_for_selector("#report:visible")
    opened.close()
