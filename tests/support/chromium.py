"""Pages in headless Chromium, with their console messages and network requests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, NARROW = (1280, 800), (390, 844)
_Page = TypeVar("_Page", bound="Opened")


def launched(what: str) -> Iterator[Browser]:
    """A browser, for the time of a fixture; where there is none, tests are skipped, loudly."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip(f"{what} IS NOT TESTED IN A BROWSER: pip install playwright")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"{what} IS NOT TESTED IN A BROWSER: install one of {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def pages(kind: type[_Page], browser: Browser, folder: Path) -> Iterator[Callable[..., _Page]]:
    """Opens pages from files. What one complains about or loads fails the test at its end."""
    opened: list[_Page] = []

    def open_(html: str, fragment: str = "", size: tuple[int, int] = WIDE) -> _Page:
        file = folder / f"page{len(opened)}.html"
        file.write_text(html, encoding="utf-8")
        opened.append(kind.in_(browser, size))
        opened[-1].go(file, fragment)
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


@dataclass
class Opened:
    """A page that was opened from a file."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @classmethod
    def in_(cls, browser: Browser, size: tuple[int, int] = WIDE, **options: Any) -> Self:
        """An empty page in a context of its own, whose complaints are noted."""
        viewport: Any = {"width": size[0], "height": size[1]}
        made = cls(browser.new_context(viewport=viewport, **options).new_page())
        page = made.page
        page.on("console", lambda message: made.complaints.append(message.text))
        page.on("pageerror", lambda error: made.complaints.append(str(error)))
        page.on("dialog", lambda dialog: made.complaints.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: made.requests.append(request.url))
        return made

    def go(self, file: Path, fragment: str = "") -> None:
        """Opens a file, and waits until it is painted."""
        self.page.goto(file.as_uri() + fragment)
        self.page.evaluate("new Promise((seen) => requestAnimationFrame(() => setTimeout(seen)))")

    def fragment(self) -> str:
        """The fragment of the page's address, with `#`."""
        return str(self.page.evaluate("location.hash"))

    def close(self) -> None:
        """Closes the page; it has complained about nothing and loaded nothing but itself."""
        self.page.context.close()
        assert self.complaints == []
        assert all(url.startswith(("file:", "data:")) for url in self.requests)
        assert len([url for url in self.requests if url.startswith("file:")]) == 1
