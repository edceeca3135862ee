"""The viewer in a browser: display, clicks and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import chromium
import pytest
from chromium import NARROW, WIDE
from refund_desk import GUARDED, GUARDED_PROCEDURE, PROCEDURE, RUN, long_run, report

from bylaw import Call, Message, Procedure, Refusal, Trace, explain, verify_trace
from bylaw.reports.html.viewer import render_trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@dataclass
class Opened(chromium.Opened):
    """The viewer's page."""

    def rule(self, name: str) -> None:
        """Clicks a rule."""
        self.page.locator(f".rule[data-name='{name}'] .rule__name").click()

    def cards(self, mark: str) -> list[int]:
        """The calls that carry a mark, as indices."""
        found = self.page.locator(f".card.{mark}").all()
        return [int(card.get_attribute("data-index") or -1) for card in found]

    def rules(self, mark: str = "") -> list[str]:
        """The rules that can be seen, or those of them that carry a mark."""
        return [*self.page.locator(f".rule{mark}:visible .rule__name").all_text_contents()]

    def in_view(self, index: int) -> bool:
        """True if the call is visible."""
        self.page.wait_for_timeout(700)  # smooth scrolling takes its time
        box = self.page.locator(f".card[data-index='{index}']").bounding_box()
        size = self.page.viewport_size
        return bool(box and size and box["y"] >= 0 and box["y"] + box["height"] <= size["height"])


Open: TypeAlias = Callable[..., Opened]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium.launched("THE VIEWER")


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    yield from chromium.pages(Opened, browser, tmp_path)


@pytest.fixture
def desk(open_page: Open) -> Opened:
    """The page of the refund desk's run."""
    return open_page(render_trace(report()))


# ── what is seen ─────────────────────────────────────────────────────────────────────────────


def test_the_head_shows_score_label_and_counts(desk: Opened) -> None:
    head = desk.page.locator(".head")
    text = head.inner_text()
    assert all(part in text for part in ("refund-desk", "run.json", "0.43", "PARTIAL"))
    assert "5 calls in 4 steps" in text
    assert head.locator(".tally").all_inner_texts() == [
        "2\nviolated",
        "0\nundecided",
        "1\nvacuous",
        "2\nsatisfied",
    ]
    assert head.locator(".layer__name").all_inner_texts() == ["L3", "L4", "L5"]


def test_the_time_line_shows_calls_messages_and_the_answer(desk: Opened) -> None:
    page = desk.page
    assert page.locator(".card__number").all_text_contents() == ["#1", "#2", "#3", "#4", "#5"]
    assert page.locator(".message h3").all_text_contents() == ["system", "user", "assistant"]
    assert page.locator(".card--answer").text_content() == "Final answerYou get 40 back."
    assert page.get_by_role("group", name="2 calls in parallel").locator(".card").count() == 2
    assert page.locator(".card", has_text="failed").get_attribute("data-index") == "1"
    assert "12345678901234567890" in page.locator(".call__args").all_text_contents()[0]


def test_one_tool_has_one_colour(desk: Opened) -> None:
    colours = desk.page.locator(".card--call").evaluate_all(
        "cards => cards.map(card => [card.querySelector('.card__tool').textContent,"
        " getComputedStyle(card.querySelector('.card__tool')).color])"
    )
    pairs = {(tool, colour) for tool, colour in colours}
    assert len(pairs) == len({tool for tool, _ in pairs}) == len({colour for _, colour in pairs})


def test_details_of_a_call_are_built_on_demand(desk: Opened) -> None:
    assert desk.page.locator(".details").count() == 0
    toggle = desk.page.get_by_role("button", name="Details of call #1")
    toggle.click()
    details = desk.page.locator(".details").inner_text()
    assert all(part in details for part in ("order", "12345678901234567890", '"total": 40.0'))
    assert desk.cards("is-picked") == [], "opening a call does not select it"
    toggle.click()
    assert desk.page.locator(".details").count() == 0


def test_an_empty_trace_says_so(open_page: Open) -> None:
    opened = open_page(render_trace(report(Trace())))
    assert "The trace is empty" in opened.page.locator(".steps").inner_text()
    assert "decided by no call" in opened.page.locator(".focus").inner_text()


def test_an_unexplained_rule_does_not_claim_to_be_explained(open_page: Open) -> None:
    opened = open_page(render_trace(report(), {}))
    assert "calls to look at" in opened.page.locator(".focus").inner_text()


@pytest.mark.parametrize("size", [WIDE, (900, 700), NARROW], ids=str)
def test_nothing_sticks_out_sideways(open_page: Open, size: tuple[int, int]) -> None:
    long = "x" * 300
    trace = Trace([Message("user", long), Call(long, {long: long}, result=long)], name=long)
    opened = open_page(render_trace(report(trace)), size=size)
    wide = opened.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]


# ── rules and their calls ────────────────────────────────────────────────────────────────────


def test_the_first_violated_rule_is_selected_when_the_page_opens(desk: Opened) -> None:
    assert desk.rules(".is-selected") == ["verify-first"]
    assert desk.rules() == [
        "verify-first",
        "one-refund",
        "tell-of-deletion",
        "looked-up",
        "answers",
    ]


def test_a_page_without_violations_opens_with_nothing_selected(open_page: Open) -> None:
    good = Trace([Call("lookup"), Call("verify"), Call("refund")], answer="ok")
    opened = open_page(render_trace(report(good)))
    assert opened.rules(".is-selected") == []
    assert "Choose a rule" in opened.page.locator(".focus").inner_text()


@pytest.mark.parametrize("constraint", PROCEDURE.constraints, ids=lambda c: c.name)
def test_a_rule_highlights_exactly_its_calls(desk: Opened, constraint: object) -> None:
    name = constraint.name  # type: ignore[attr-defined]  # a constraint
    if name != "verify-first":  # which is selected already
        desk.rule(name)
    why = explain(RUN, PROCEDURE, name)
    assert desk.cards("is-deciding") == [*why.calls]
    assert desk.cards("is-absent") == [*why.absence]
    assert desk.page.locator(".is-selected [aria-pressed=true]").inner_text() == name
    legend = desk.page.get_by_role("status").filter(has_text=name).inner_text()
    assert ("decided by these calls" in legend) is bool(why.calls)
    assert ("none of these is what the rule" in legend) is bool(why.absence)


def test_a_rule_highlights_the_messages_that_decide_it(open_page: Open) -> None:
    rules = [{"name": "at-once", "rule": "G(a -> X b)"}, {"name": "quiet", "rule": "G !says(user)"}]
    procedure = Procedure.from_dict({"events": "all", "constraints": rules})
    run = Trace([Call("a"), Message("user", "wait"), Call("b")])
    opened = open_page(render_trace(verify_trace(run, procedure)))
    for name, mark in (("quiet", "is-deciding"), ("at-once", "is-absent")):
        opened.rule(name)
        classes = opened.page.locator(".message").get_attribute("class") or ""
        assert {"is-deciding", "is-absent"} & {*classes.split()} == {mark}


def test_a_violated_rule_shows_its_repair(desk: Opened) -> None:
    notes = desk.page.locator(".rule__repair")
    assert notes.all_inner_texts() == [
        "possible fix\n\nInsert verify {} before call #3 (refund).",
        "possible fix\n\nDelete call #5 (refund).",
    ]
    notes.get_by_role("button", name="call #5").click()
    assert desk.cards("is-pointed") == [4]


def test_other_calls_are_dimmed_and_can_still_be_read(desk: Opened) -> None:
    desk.page.mouse.move(1, 1)
    desk.page.wait_for_timeout(400)
    style = "card => [getComputedStyle(card).backgroundColor, getComputedStyle(card).opacity]"
    shown = [card.evaluate(style) for card in desk.page.locator(".card").all()]
    assert desk.cards("is-deciding") == [2]
    assert desk.cards("is-absent") == [0, 1]
    assert shown[2][0] != shown[3][0], "a deciding call stands out"
    assert {opacity for _, opacity in shown} == {"1"}, "faded text would lack contrast"


def test_clicking_a_rule_again_clears_it(desk: Opened) -> None:
    desk.rule("one-refund")
    desk.rule("one-refund")
    assert desk.cards("is-deciding") == desk.cards("is-absent") == []
    assert desk.rules(".is-selected") == []


def test_escape_clears(desk: Opened) -> None:
    desk.page.keyboard.press("Escape")
    assert desk.cards("is-deciding") == desk.cards("is-absent") == []
    assert desk.page.locator("[aria-pressed=true]:not(.filter)").count() == 0


def test_the_bar_clears_too_and_steps_through_the_calls(desk: Opened) -> None:
    desk.rule("one-refund")
    place = desk.page.locator(".focus__place")
    assert place.inner_text() == "1/2"
    desk.page.get_by_role("button", name="Next highlighted call").click()
    assert place.inner_text() == "2/2"
    desk.page.get_by_role("button", name="Clear the selection").click()
    assert desk.cards("is-deciding") == []


def test_a_call_marks_the_rules_it_takes_part_in(desk: Opened) -> None:
    desk.page.locator(".card[data-index='4'] .card__pick").click()
    parts = [
        name
        for name in desk.rules()
        if 4 in (*(why := explain(RUN, PROCEDURE, name)).calls, *why.absence)
    ]
    assert desk.rules(".is-part") == parts != []
    assert desk.cards("is-picked") == [4]
    text = desk.page.locator(".focus").inner_text()
    assert f"Call #5\ninvolved in {len(parts)} rules" in text
    desk.page.keyboard.press("Escape")
    assert desk.rules(".is-part") == []
    assert desk.cards("is-picked") == []


def test_a_call_that_a_sentence_mentions_can_be_gone_to(desk: Opened) -> None:
    desk.page.locator(".is-selected .rule__detail").get_by_role("button", name="Call #3").click()
    assert desk.cards("is-pointed") == [2]
    assert desk.rules(".is-selected") == ["verify-first"], "the selection stays"


# ── a run at a gate ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def guarded(open_page: Open) -> Opened:
    """The page of a run of which a gate refused two calls."""
    return open_page(render_trace(verify_trace(GUARDED.trace, GUARDED_PROCEDURE)))


def test_refused_calls_stand_apart_from_those_that_ran(guarded: Opened) -> None:
    page = guarded.page
    assert "3 calls in 2 steps" in page.locator(".head").inner_text()
    assert "2 refused" in page.locator(".head").inner_text()
    refused = page.locator(".refused")
    assert refused.locator(".card__tool").all_text_contents() == ["refund", "pay"]
    assert "this call would break it for good" in refused.nth(0).inner_text()
    assert "There is no tool 'pay'" in refused.nth(1).inner_text()
    struck = "e => getComputedStyle(e).textDecorationLine"
    assert refused.locator(".card__tool").first.evaluate(struck) == "line-through"
    assert page.locator(".card__number").all_text_contents() == ["#1", "#2", "#3"]


def test_a_refused_call_leads_to_its_rule_and_back(guarded: Opened) -> None:
    guarded.page.locator(".refused").get_by_role("button", name="verify-first").click()
    assert guarded.rules(".is-selected") == ["verify-first"]
    assert guarded.page.locator(".refused.is-deciding").count() == 1
    assert "refused because of it (1)" in guarded.page.locator(".focus").inner_text()


def test_every_occurrence_is_listed_and_marked(guarded: Opened) -> None:
    assert guarded.rules(".is-selected") == ["small"], "violated, so it is selected at first"
    assert guarded.cards("is-broken") == [1, 2]
    listed = guarded.page.locator(".is-selected .rule__broken")
    assert "broken 2 times" in listed.inner_text()
    assert "each of these breaks it (2)" in guarded.page.locator(".focus").inner_text()
    listed.get_by_role("button", name="Call #3").click()
    assert guarded.cards("is-pointed") == [2]
    guarded.page.get_by_role("button", name="Next highlighted call").click()
    assert guarded.page.locator(".focus__place").inner_text() == "2/2"


def test_many_occurrences_are_folded(open_page: Open) -> None:
    run = Trace([Call("refund", {"amount": 20})] * 40)
    opened = open_page(render_trace(verify_trace(run, GUARDED_PROCEDURE)))
    opened.rule("small")
    folded = opened.page.locator(".rule[data-name='small'] .rule__broken")
    assert folded.inner_text() == "broken 40 times"
    folded.locator("summary").click()
    assert folded.locator("li").count() == 40
    assert opened.rules(".is-selected") == ["small"], "unfolding is not selecting"


# ── addresses ────────────────────────────────────────────────────────────────────────────────


def test_the_address_names_the_selected_rule(desk: Opened) -> None:
    assert desk.fragment() == "#rule=verify-first"
    desk.rule("looked-up")
    assert desk.fragment() == "#rule=looked-up"
    desk.page.keyboard.press("Escape")
    assert desk.fragment() == ""


def test_a_url_opens_its_rule_and_keeps_other_parameters(open_page: Open) -> None:
    opened = open_page(render_trace(report()), "#run=17&rule=answers")
    assert opened.rules(".is-selected") == ["answers"]
    assert opened.cards("is-deciding") == [len(RUN.calls)]
    opened.rule("looked-up")
    assert opened.fragment() == "#run=17&rule=looked-up"
    opened.page.evaluate("location.hash = '#rule=one-refund'")
    opened.page.wait_for_selector(".rule.is-selected[data-name='one-refund']")


def test_names_with_odd_characters_survive_an_address(open_page: Open) -> None:
    name = "a&b=c #1 ü"
    procedure = Procedure.from_dict({"bylaw": 1, "constraints": [{"name": name, "rule": "F x"}]})
    html = render_trace(verify_trace(RUN, procedure))
    first = open_page(html)
    assert first.rules(".is-selected") == [name]
    assert open_page(html, first.fragment()).rules(".is-selected") == [name]


# ── filters and keys ─────────────────────────────────────────────────────────────────────────


def test_verdict_filters(desk: Opened) -> None:
    filters = desk.page.get_by_role("group", name="Filter rules by verdict")
    assert filters.get_by_role("button").all_inner_texts() == [
        "All\n5",
        "Violated\n2",
        "Vacuous\n1",
        "Satisfied\n2",
    ]
    filters.get_by_role("button", name="Vacuous").click()
    assert desk.rules() == ["tell-of-deletion"]
    assert filters.locator("[aria-pressed=true]").inner_text() == "Vacuous\n1"
    assert desk.page.get_by_text("1 of 5 rules").is_visible()
    filters.get_by_role("button", name="All").click()
    assert len(desk.rules()) == 5


def test_the_text_filter_looks_at_names_rules_and_reasons(desk: Opened) -> None:
    search = desk.page.get_by_label("Filter rules by text")
    for typed, expected in {
        "FIRST": ["verify-first"],
        "refund verify": ["verify-first"],
        "l3": ["tell-of-deletion", "looked-up"],
        "known customer": ["verify-first"],
        "zebra": [],
    }.items():
        search.fill(typed)
        assert desk.rules() == expected, typed
    search.fill("")
    assert len(desk.rules()) == 5


def test_escape_in_the_text_filter_empties_it_first(desk: Opened) -> None:
    desk.page.get_by_label("Filter rules by text").fill("looked")
    desk.page.keyboard.press("Escape")
    assert desk.rules(".is-selected") == ["verify-first"]
    desk.page.keyboard.press("Escape")
    assert desk.rules(".is-selected") == []


def test_keys_alone_are_enough_for_the_rules(desk: Opened) -> None:
    keys, focused = desk.page.keyboard, "document.activeElement.textContent"
    desk.page.get_by_label("Filter rules by text").focus()
    keys.press("Tab")
    assert desk.page.evaluate(focused) == "verify-first", "the list is one tab stop"
    keys.press("ArrowDown")
    assert desk.page.evaluate(focused) == "one-refund"
    keys.press("Enter")
    assert desk.rules(".is-selected") == ["one-refund"]
    assert desk.page.evaluate(focused) == "one-refund", "the focus stays"
    keys.press("End")
    keys.press("Space")
    assert desk.rules(".is-selected") == ["answers"]
    keys.press("Home")
    keys.press("ArrowUp")
    assert desk.page.evaluate(focused) == "verify-first"


def test_keys_alone_are_enough_for_the_time_line(desk: Opened) -> None:
    keys = desk.page.keyboard
    desk.page.locator(".card[data-index='2'] .card__pick").focus()
    keys.press("ArrowDown")
    keys.press("Enter")
    assert desk.cards("is-picked") == [3]
    keys.press("ArrowRight")
    assert desk.cards("is-open") == [3]
    keys.press("ArrowLeft")
    assert desk.cards("is-open") == []
    keys.press("Tab")
    keys.press("Enter")
    assert desk.cards("is-open") == [3], "its other button is the next tab stop"
    keys.press("Shift+Tab")
    keys.press("End")
    keys.press("Enter")
    assert desk.cards("is-picked") == [len(RUN.calls)]


def test_the_focused_element_is_visible(desk: Opened) -> None:
    for selector, ring in ((".rule__name", ".rule"), (".card__pick", ".card"), (".filter", "")):
        desk.page.keyboard.press("Tab")  # so that the browser shows where the focus is
        button = desk.page.locator(selector).first
        button.focus()
        shown = button.evaluate(
            "(b, ring) => getComputedStyle(ring ? b.closest(ring) : b).outlineStyle", ring
        )
        assert shown == "solid", selector


# ── size, width, and hostile traces ──────────────────────────────────────────────────────────


def test_a_rule_brings_its_first_call_into_view(open_page: Open) -> None:
    opened = open_page(render_trace(report(long_run(300))))
    assert opened.in_view(200), "the rule that is selected at first"
    opened.page.evaluate("document.querySelector('.steps').scrollTop = 0")
    opened.rule("looked-up")
    assert opened.in_view(opened.cards("is-deciding")[0])


def test_a_narrow_page_opens_at_its_top_and_goes_to_the_call_on_a_click(open_page: Open) -> None:
    opened = open_page(render_trace(report()), size=NARROW)
    assert opened.page.evaluate("scrollY") == 0
    opened.rule("one-refund")
    assert opened.in_view(2)
    opened.page.get_by_role("button", name="Back to the rules").click()
    assert opened.page.locator(".rule.is-selected").is_visible()


def test_five_thousand_calls_are_shown(open_page: Open) -> None:
    opened = open_page(render_trace(report(long_run(5_000))))
    assert opened.page.locator(".card").count() == 5_000
    assert opened.rules(".is-selected") == ["verify-first"]
    assert opened.in_view(4_900)


def test_among_five_thousand_calls_a_click_finds_the_one_that_decides(open_page: Open) -> None:
    opened = open_page(render_trace(report(long_run(5_000))))
    for name in ("looked-up", "answers", "verify-first"):
        opened.rule(name)
    assert opened.cards("is-deciding") == [4_900]
    assert opened.in_view(4_900)


PAYLOADS = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<svg onload=alert(1)>",
    "\"'><b onmouseover=alert(1)>x",
    "javascript:alert(1)",
    "`${alert(1)}`",
    "__proto__",
    "\ud800 </p> &lt; \u2028",
]


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_nothing_in_a_trace_is_run_or_read_as_markup(open_page: Open, payload: str) -> None:
    hostile = Trace(
        [
            Message("assistant", payload * 200),
            Call(payload, {payload: payload, "list": [payload]}, result=payload, error=payload),
            Call("refund", {"lines": f"{payload}\n{payload}"}, result={payload: [payload]}),
        ],
        answer=payload,
        name=payload,
        labels={payload: payload},
        refusals=[
            Refusal(Call(payload, {payload: payload}), "block", f"Rule {payload}: {payload}", "r")
        ],
    )
    rules = [{"name": "r", "rule": "G !refund", "why": payload, "fix": payload, "layer": payload}]
    procedure = Procedure.from_dict({"bylaw": 1, "name": payload, "constraints": rules})
    opened = open_page(render_trace(verify_trace(hostile, procedure)))
    page = opened.page
    for toggle in page.locator(".card__toggle, .fold__toggle").all():
        toggle.click()
    page.locator(".card__tool").first.hover()
    page.wait_for_timeout(100)
    foreign = page.locator(".viewer :is(img, script, b[onmouseover], svg[onload])")
    assert foreign.count() == 0
    assert page.locator(".card__tool").first.text_content() == payload


def test_one_page_can_show_one_trace_after_the_other(desk: Opened) -> None:
    desk.page.evaluate(
        """() => {
            const data = JSON.parse(document.getElementById("data").textContent);
            const container = document.createElement("div");
            document.body.replaceChildren(container);
            renderTrace(data, container, { hash: false }).destroy();
            window.shown = renderTrace({ ...data, procedure: "other" }, container, { hash: false });
            window.shown.select("looked-up");
        }"""
    )
    assert desk.page.locator("h1").all_inner_texts() == ["other"]
    assert desk.rules(".is-selected") == ["looked-up"]


# ── finding calls ────────────────────────────────────────────────────────────────────────────


def _visible(desk: Opened) -> list[str]:
    return [*desk.page.locator(".card--call:visible .card__number").all_text_contents()]


def test_the_slash_key_searches_calls_and_escape_clears(desk: Opened) -> None:
    desk.page.keyboard.press("/")
    desk.page.keyboard.type("ADA")
    assert _visible(desk) == ["#4"]
    assert "1 of 5 calls" in desk.page.locator(".call-filter").inner_text()
    assert desk.page.locator(".message:visible").count() == 0
    desk.page.keyboard.press("Escape")
    assert _visible(desk) == ["#1", "#2", "#3", "#4", "#5"]
    assert desk.page.locator(".message:visible").count() == 3


def test_calls_are_filtered_by_tool(desk: Opened) -> None:
    choose = desk.page.get_by_label("Filter calls by tool")
    assert choose.locator("option").all_text_contents() == [
        *("all tools", "lookup", "refund", "verify")
    ]
    choose.select_option("refund")
    assert _visible(desk) == ["#3", "#5"]
    assert desk.page.locator(".step:visible").count() == 2, "empty steps are hidden"
    choose.select_option("")
    assert len(_visible(desk)) == 5


def test_messages_are_searched_too(desk: Opened) -> None:
    desk.page.get_by_label("Search calls").fill("kettle")
    assert desk.page.locator(".message:visible h3").all_text_contents() == ["user"]
    assert _visible(desk) == []


def test_calls_with_times_are_on_a_time_axis(open_page: Open) -> None:
    usage = {"input_tokens": 300, "cost": 0.25}
    calls = [
        Call("lookup", {"order": 1}, start=1_700_000_000, end=1_700_000_002, usage=usage),
        Call("verify", start=1_700_000_050, end=1_700_000_051, usage=usage),
        Call("refund", start=1_700_000_100, end=1_700_000_200),
    ]
    page = open_page(render_trace(verify_trace(Trace(calls), PROCEDURE))).page
    marks = page.locator(".time-axis__mark")
    lefts = marks.evaluate_all("marks => marks.map(mark => parseFloat(mark.style.left))")
    assert lefts == pytest.approx([0, 25, 50])
    assert marks.last.get_attribute("title") == "#3 refund, +1:40"
    assert "3.3 min" in page.locator(".time-axis__ends").inner_text()
    totals = page.locator(".time-axis__totals").inner_text()
    assert totals == "in all: 600 input_tokens, 0.5 cost"
    marks.nth(1).click()


def test_calls_without_times_have_no_axis(desk: Opened) -> None:
    assert desk.page.locator(".time-axis").count() == 0
