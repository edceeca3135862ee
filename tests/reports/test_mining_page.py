"""The page on mined rules, in a browser: keep, drop, find, save."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import chromium
import pytest

from bylaw import read_traces

pytest.importorskip("numpy")

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
EXAMPLES = Path(__file__).parents[2] / "examples" / "mining"
Open: TypeAlias = Callable[..., chromium.Opened]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium.launched("THE PAGE OF MINED RULES")


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    yield from chromium.pages(chromium.Opened, browser, tmp_path)


def test_rules_are_kept_dropped_found_and_saved(open_page: Open, tmp_path: Path) -> None:
    from bylaw.mining.mine import mine
    from bylaw.reports.html.mining import render_mined

    found = [entry.required() for entry in read_traces(EXAMPLES / "good.jsonl")]
    mined = mine(found)
    page = open_page(render_mined(mined)).page
    total = len(mined.rules)
    assert page.locator("#tally").inner_text() == f"{total} rules kept, 0 dropped"
    page.locator(".mined__rule").first.get_by_label("drop").focus()
    page.keyboard.press("Space")
    assert page.locator("#tally").inner_text() == f"{total - 1} rules kept, 1 dropped"
    page.locator("#find").fill("send_survey")
    assert 0 < page.locator(".mined__rule:visible").count() < total
    with page.expect_download() as download:
        page.locator("#save").click()
    saved = tmp_path / "decisions.json"
    download.value.save_as(saved)
    words = json.loads(saved.read_text(encoding="utf-8"))["rules"]
    assert words[mined.rules[0].rule] == "drop"
    assert list(words.values()).count("keep") == total - 1
