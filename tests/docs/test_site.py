"""The documentation as a site: it builds without a warning, and works from a folder."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import chromium
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
LARGEST = 1_000_000
"""Bytes of a page with all that it loads."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    for package in ("furo", "myst_parser"):
        pytest.importorskip(package, reason=f"NOT TESTED: {package} is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_page_is_there_and_in_the_navigation(site: Path) -> None:
    sidebar = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert (site / name).exists()
        assert name == "index.html" or f'href="{name}"' in sidebar


def test_pages_load_nothing_from_the_network(site: Path) -> None:
    loaded = re.compile(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(https?:[^"]*)"')
    for page in site.rglob("*.html"):
        assert not loaded.findall(page.read_text(encoding="utf-8")), page


def test_titles_of_blocks_are_shown(site: Path) -> None:
    tutorial = (site / "tutorial" / "first-procedure.html").read_text(encoding="utf-8")
    assert 'class="caption-text">monday.json' in tutorial


# ── in a browser, from files ──────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium.launched("THE SITE")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [chromium.WIDE, chromium.NARROW], ids=["wide", "narrow"])
def test_pages_fit_and_complain_about_nothing(
    browser: Browser, site: Path, size: tuple[int, int], scheme: str
) -> None:
    opened = chromium.Opened.in_(browser, size, color_scheme=scheme)
    for page in sorted(site.rglob("*.html")):
        del opened.requests[:]
        opened.go(page)
        beyond = opened.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert beyond <= 0, f"{page.name} is {beyond} pixels too wide"
        assert opened.complaints == [], page.name
        files = {Path(unquote(urlsplit(url).path)) for url in opened.requests}
        assert sum(file.stat().st_size for file in files) <= LARGEST, page.name
    opened.page.context.close()


@pytest.mark.browser
def test_the_search_works_without_a_server(browser: Browser, site: Path) -> None:
    opened = chromium.Opened.in_(browser)
    opened.go(site / "search.html", "?q=vacuous")
    found = opened.page.get_by_role("link", name="What rules mean")
    found.first.wait_for()
    opened.page.context.close()
    assert opened.complaints == []
