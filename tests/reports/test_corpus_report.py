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


def test_the_page_holds_the_worst_traces_and_some_of_each_rule_and_set(
    html: str, summary: Summary
) -> None:
    wanted = {each.name for each in summary.worst}
    wanted |= {each.name for found in summary.examples.values() for each in found}
    wanted |= {each.first.name for each in summary.frequent_sets()[: corpus_page.SETS]}
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


@pytest.fixture(params=[chromium.WIDE, chromium.NARROW], ids=["wide", "narrow"])
def opened(
    request: pytest.FixtureRequest, browser: Browser, html: str, tmp_path: Path
) -> Iterator[chromium.Opened]:
    """The page in a browser. Closing it fails if something was logged as an error."""
    file = tmp_path / "report.html"
    file.write_text(html, encoding="utf-8")
    found = chromium.Opened.in_(browser, request.param)
    found.go(file)
    yield found
    found.close()


@pytest.mark.browser
def test_traces_open_and_close(opened: chromium.Opened, summary: Summary) -> None:
    page = opened.page
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    worst = summary.worst[0]
    page.get_by_role("link", name=worst.name, exact=True).first.click()
    page.wait_for_selector(".viewer")
    assert page.locator(".rule[data-verdict=violated]").count() == len(worst.violated)
    assert page.locator("#report").is_hidden()
    page.get_by_role("button", name="Summary").click()
    page.wait_for_selector("#report:visible")
    assert page.locator(".viewer").count() == 0
    page.go_back()
    page.wait_for_selector(".viewer")
    page.evaluate("hash => { location.hash = hash }", urlencode({"trace": "of no such name"}))
    page.wait_for_selector("#report:visible")


@pytest.mark.browser
def test_two_clicks_lead_from_a_rule_to_a_trace_that_violates_it(
    opened: chromium.Opened, summary: Summary
) -> None:
    rule = max(summary.rules(), key=lambda rule: rule.violated)
    page = opened.page
    rows = page.locator("#traces-body tr:visible")
    everything = rows.count()
    page.locator("#rules-body").get_by_role("link", name=rule.name, exact=True).click()
    page.locator(".is-chosen").wait_for()
    assert 0 < rows.count() < everything
    assert f"violating {rule.name}" in page.locator("#selected").inner_text()
    rows.first.locator(".name a").click()
    page.wait_for_selector(".viewer")
    violated = page.locator(".rule[data-verdict=violated]").all_inner_texts()
    assert any(rule.name in text for text in violated)
    page.go_back()
    page.wait_for_selector("#report:visible")
    assert 0 < rows.count() < everything, "the selection is in the address"
    page.get_by_role("link", name="Show all").click()
    page.locator(".is-chosen").wait_for(state="detached")
    assert rows.count() == everything


@pytest.mark.browser
def test_a_bar_of_the_histogram_lists_traces_with_its_score(opened: chromium.Opened) -> None:
    page = opened.page
    bar = page.locator("a.bin").first
    low = float((bar.get_attribute("href") or "").partition("=")[2])
    bar.click()
    page.locator("#selected", has_text="score from").wait_for()
    scores = page.locator("#traces-body tr:visible").evaluate_all(
        "rows => rows.map(row => Number(row.dataset.score))"
    )
    assert scores
    assert all(low - 1e-9 <= score < low + 0.05 for score in scores)


@pytest.mark.browser
def test_the_slash_key_searches_rules_and_traces(opened: chromium.Opened, summary: Summary) -> None:
    page = opened.page
    name = summary.rules()[0].name
    page.keyboard.press("/")
    page.keyboard.type(name.upper())
    shown = page.locator("#rules-body tr:visible").all_inner_texts()
    assert shown
    assert all(name in text for text in shown)
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    assert page.locator("#rules-body tr:visible").count() == len(summary.rules())


@pytest.mark.browser
def test_rules_sort_by_violations_and_tell_their_text_when_focused(
    browser: Browser, html: str, tmp_path: Path, summary: Summary
) -> None:
    file = tmp_path / "report.html"
    file.write_text(html, encoding="utf-8")
    opened = chromium.Opened.in_(browser, chromium.WIDE)
    opened.go(file)
    page = opened.page
    page.get_by_role("button", name="violated", exact=True).click()
    names = page.locator("#rules-body tr").evaluate_all("rows => rows.map(row => row.dataset.name)")
    counts = {rule.name: rule.violated for rule in summary.rules()}
    assert [counts[name] for name in names] == sorted(counts.values(), reverse=True)
    first = page.locator("#rules-body tr").first
    assert first.locator(".about").is_hidden()
    first.locator("a").focus()
    assert summary.procedure[names[0]].rule in first.locator(".about").inner_text()
    opened.close()
