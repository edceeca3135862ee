"""Every page, in light and dark and at two widths: axe finds nothing serious, and it is small."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import chromium
import pytest

from bylaw.cli.main import main

pytest.importorskip("numpy")

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
EXAMPLES = Path(__file__).parents[2] / "examples"
DESK = EXAMPLES / "refund-desk"
PAGES: dict[str, list[str]] = {
    "viewer": ["view", str(DESK / "bad.json"), "-p", str(DESK / "procedure.yaml"), "-o"],
    "corpus": ["verify", "-p", str(DESK / "procedure.yaml"), str(DESK), "--report"],
    "benchmark": ["bench", "report", "results.jsonl", "-o"],
    "mining": ["mine", str(EXAMPLES / "mining" / "good.jsonl"), "-o", "mined.yaml", "--page"],
}
"""The commands that write pages."""
MAX_SIZE = 1_000_000
"""The largest page, in bytes, without the data that it shows."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium.launched("ACCESSIBILITY")


@pytest.fixture(scope="module")
def axe() -> str:
    found = pytest.importorskip("axe_playwright_python", reason="NOT TESTED: axe is not installed")
    return (Path(found.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages, each written by its command."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        small = ["--difficulty", "1", "--seed", "42", "--trials", "1", "-o", "results.jsonl"]
        assert main(["bench", "run", "sim:careless", *small]) == 0
        for name, command in PAGES.items():
            assert main([*command, f"{name}.html"]) in (0, 1), name
    return {name: folder / f"{name}.html" for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("size", [chromium.WIDE, chromium.NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    browser: Browser,
    axe: str,
    pages: dict[str, Path],
    name: str,
    size: tuple[int, int],
    scheme: Literal["light", "dark"],
) -> None:
    opened = chromium.Opened.in_(browser, size, color_scheme=scheme, reduced_motion="reduce")
    opened.go(pages[name])
    opened.page.evaluate(axe)
    found: dict[str, Any] = opened.page.evaluate("axe.run()")
    serious = [
        f"{each['id']}: {each['help']}: {node['html'][:120]} {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]
    assert serious == []
    wide = opened.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1], "nothing sticks out at the side"
    opened.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_small_without_its_data(pages: dict[str, Path], name: str) -> None:
    html = pages[name].read_text(encoding="utf-8")
    data = r'<script type="(?:application/json|text/plain)"[^>]*>.*?</script>'
    assert len(re.sub(data, "", html, flags=re.DOTALL).encode()) < MAX_SIZE
