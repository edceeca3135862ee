"""The page to watch, in a browser: a run appears, owes, is refused, is approved, ends."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import chromium
import pytest
from gate_process import AGENT, PERSON, GateProcess

from bylaw import Call, Procedure
from bylaw.serve.resident import ResidentGate
from bylaw.serve.tickets import Principal
from bylaw.store.addresses import open_store

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("uvicorn", reason="THE PAGE IS NOT TESTED: uvicorn is not installed")
pytestmark = pytest.mark.browser

RULES = """\
name: refund desk
constraints:
  - {name: verify-first, rule: "G(refund -> O call(verify, ok))", why: Know the customer.}
  - name: large
    rule: G(call(refund) -> args.amount <= 100)
    severity: ASK
    why: Large refunds need a person.
  - {name: told, rule: F tell}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium.launched("THE PAGE TO WATCH")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "desk.yaml").write_text(RULES)
    return tmp_path


@pytest.fixture
def gate(folder: Path) -> Iterator[GateProcess]:
    server = GateProcess(folder, folder / "desk.yaml", f"sqlite:{folder / 'gate.db'}")
    yield server
    assert server.stop() == 0  # also with a page that watches


OpenPage: TypeAlias = Callable[..., "Page"]


@pytest.fixture
def watch(browser: Browser, gate: GateProcess) -> Iterator[OpenPage]:
    """Opens the page; what it complains about or loads from elsewhere fails the test."""
    made: list[chromium.Opened] = []

    def opened(token: str | None = PERSON, size: tuple[int, int] = chromium.WIDE) -> Page:
        made.append(chromium.Opened.in_(browser, size))
        made[-1].page.goto(gate.address + (f"/#token={token}" if token else "/"))
        return made[-1].page

    yield opened
    for each in made:
        each.page.context.close()
        unexpected = [text for text in each.complaints if "401" not in text and "403" not in text]
        assert unexpected == []
        assert all(url.startswith((gate.address, "data:")) for url in each.requests)


def row(page: Page, run: str) -> Any:
    return page.locator(f".run[data-run='{run}']")


def verified(gate: GateProcess, **labels: Any) -> Any:
    guard = gate.guard(labels=labels)
    guard.record(guard.propose([Call("verify")])[0], "done")
    return guard


def test_a_run_appears_owes_is_refused_is_approved_and_ends(
    gate: GateProcess, watch: OpenPage
) -> None:
    page = watch()
    page.get_by_text("live", exact=True).wait_for()
    assert "token" not in page.url
    guard = gate.guard(labels={"customer": "c1"})
    row(page, guard.run_id).wait_for()
    assert "customer c1" in row(page, guard.run_id).inner_text()
    assert row(page, guard.run_id).locator(".chip--owes").all_inner_texts() == ["told"]
    guard.propose([Call("refund", {"amount": 5})])
    row(page, guard.run_id).get_by_text("block refund").wait_for()
    row(page, guard.run_id).locator("summary").click()
    assert "Know the customer." in row(page, guard.run_id).inner_text()
    guard.record(guard.propose([Call("verify")])[0], "done")
    (asked,) = guard.propose([Call("refund", {"amount": 500})])
    card = page.locator(".asked")
    card.wait_for()
    assert 'refund {"amount":500}' in card.inner_text()
    assert "Large refunds need a person." in card.inner_text()
    card.get_by_role("button", name="approve").click()
    card.wait_for(state="detached")
    assert guard.answer(asked, wait=5) == "approved"
    assert guard.propose([Call("refund", {"amount": 500})])[0].allowed
    guard.finish("Done.")
    row(page, guard.run_id).locator(".run__state", has_text="finished").wait_for()
    assert row(page, guard.run_id).evaluate("run => run.open")  # it stayed open meanwhile


def test_calls_are_decided_with_the_keyboard_only(gate: GateProcess, watch: OpenPage) -> None:
    page = watch()
    first, second = verified(gate, n=1), verified(gate, n=2)
    (one,) = first.propose([Call("refund", {"amount": 500})])
    (two,) = second.propose([Call("refund", {"amount": 600})])
    page.locator(".asked").nth(1).wait_for()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.answer") == "approve":
            break
    focused = page.evaluate("document.activeElement.closest('.asked').dataset.decision")
    page.keyboard.press("Enter")
    page.locator(f".asked[data-decision='{focused}']").wait_for(state="detached")
    assert page.evaluate("Boolean(document.activeElement.closest('.asked'))")  # at the next one
    page.keyboard.press("d")
    page.locator(".asked").wait_for(state="detached")
    assert page.evaluate("document.activeElement.id") == "asked-title"
    answers = {one.id: first.answer(one, wait=5), two.id: second.answer(two, wait=5)}
    assert answers.pop(focused) == "approved"
    assert set(answers.values()) == {"denied"}
    page.keyboard.press("Tab")  # the filter
    page.keyboard.press("Tab")  # the first run
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open")


def test_two_who_watch_see_the_same(gate: GateProcess, watch: OpenPage) -> None:
    pages = [watch(), watch(size=chromium.NARROW)]
    guard = verified(gate)
    guard.propose([Call("refund", {"amount": 500})])
    for page in pages:
        page.locator(".asked").wait_for()
    pages[0].get_by_role("button", name="deny").click()
    for page in pages:
        page.locator(".asked").wait_for(state="detached")


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\u2028\u202e\x00\ud800",
    "' onmouseover='alert(1)",
    "x" * 5000,
]


def test_what_agents_write_is_shown_as_text(gate: GateProcess, watch: OpenPage) -> None:
    page = watch()
    for text in HOSTILE:
        guard = verified(gate, text=text)
        large = Call("refund", {"amount": 500, "x": text})
        guard.propose([Call(text[:200], {"amount": text}), large])
    page.locator(".asked").nth(len(HOSTILE) - 1).wait_for()
    for summary in page.locator(".run summary").all():
        summary.click()
    assert page.locator("main img, main script").count() == 0
    assert "<img src=x onerror=alert(1)>" in page.locator("#runs").inner_text()
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0


def test_a_call_that_is_not_shown_as_a_whole_is_not_approved_here(
    gate: GateProcess, watch: OpenPage
) -> None:
    """A long text could hide the argument that matters."""
    page = watch()
    guard = verified(gate)
    (shown,) = guard.propose([Call("refund", {"a": "x" * 3000, "amount": 500, "z": "whole"})])
    (hidden,) = guard.propose([Call("refund", {"a": "x" * 9000, "amount": 501, "z": "hidden"})])
    whole, part = (page.locator(f".asked[data-decision='{each.id}']") for each in (shown, hidden))
    part.wait_for()
    assert '"z":"whole"' in whole.inner_text()
    assert whole.get_by_role("button").count() == 2
    assert "too long to be shown" in part.inner_text()
    assert part.get_by_role("button", name="approve").count() == 0
    part.get_by_role("button", name="deny").focus()
    page.keyboard.press("a")
    page.keyboard.press("d")
    part.wait_for(state="detached")
    assert guard.answer(hidden, wait=5) == "denied"


@pytest.mark.parametrize("token", [None, "wrong", AGENT])
def test_without_a_persons_token_nothing_is_shown(
    gate: GateProcess, watch: OpenPage, token: str | None
) -> None:
    verified(gate, secret="c-7731")
    page = watch(token)
    page.get_by_label("A person's token").fill("also wrong")
    page.get_by_role("button", name="Watch").click()
    page.get_by_text("This token does not open it.").wait_for()
    assert "c-7731" not in page.content()
    page.get_by_label("A person's token").fill(PERSON)
    page.keyboard.press("Enter")
    page.locator(".run").wait_for()


def test_a_page_reconnects_to_a_server_that_was_killed(
    folder: Path, browser: Browser, request: pytest.FixtureRequest
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = str(found.getsockname()[1])
    address = f"sqlite:{folder / 'gate.db'}"
    server = GateProcess(folder, folder / "desk.yaml", address, "--port", port)
    request.addfinalizer(server.kill)
    opened = chromium.Opened.in_(browser)
    request.addfinalizer(opened.page.context.close)
    opened.page.goto(f"{server.address}/#token={PERSON}")
    opened.page.get_by_text("live", exact=True).wait_for()
    server.kill()
    opened.page.get_by_text("not connected").wait_for()
    server.start()
    guard = server.guard()
    row(opened.page, guard.run_id).wait_for()


FRAMES = """() => {
    window.painted = 0;
    window.longest = 0;
    let before = performance.now();
    const frame = (now) => {
        window.painted += 1;
        window.longest = Math.max(window.longest, now - before);
        before = now;
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""


@pytest.mark.slow
def test_a_thousand_runs_stay_smooth(
    folder: Path, browser: Browser, request: pytest.FixtureRequest
) -> None:
    """Frames are painted all along while another replica changes each of a thousand runs."""
    address = f"sqlite:{folder / 'gate.db'}"
    replica = ResidentGate(Procedure.load(folder / "desk.yaml"), open_store(address), max_live=2000)
    request.addfinalizer(replica.close)
    desk = Principal("desk")
    runs = [replica.open(desk, {"labels": {"n": n}}, trusted=str(n)) for n in range(1000)]
    server = GateProcess(folder, folder / "desk.yaml", address)
    request.addfinalizer(server.kill)
    opened = chromium.Opened.in_(browser)
    request.addfinalizer(opened.page.context.close)
    page = opened.page
    page.goto(f"{server.address}/#token={PERSON}")
    page.locator(".run").nth(999).wait_for(state="attached")
    page.evaluate(FRAMES)
    refund = {"calls": [{"tool": "refund", "arguments": {"amount": 5}}]}
    for number, run in enumerate(runs):
        replica.perform(desk, run, "propose", refund)
        if number % 100 == 0:
            page.mouse.wheel(0, 400)
    page.get_by_text("1000 refused").wait_for()
    painted, longest = page.evaluate("[window.painted, window.longest]")
    print(f"1,000 runs changed: {painted} frames, the longest took {longest:.0f} ms")
    assert painted > 50
    assert page.locator(".run__counts", has_text="1 refused").count() == 1000
    page.locator("#filter").fill("n 999")
    assert page.locator(".watch__run:visible").count() == 1
