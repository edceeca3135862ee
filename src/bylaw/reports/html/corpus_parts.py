"""The parts of the report on a corpus, as markup that works before its script runs.

Links set the filter of the list of traces (`#rule=NAME`, `#score=0.85`) or open a trace
(`#trace=NAME`), so the browser's history works and a link to a selection can be shared. The lengths
of bars are data attributes, because the page's security policy forbids styles in the markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final
from urllib.parse import urlencode

from bylaw.batch.output.summary import BINS, NotableTrace, RuleCounts, Summary, ViolatedSet
from bylaw.reports.charts.svg import tag
from bylaw.values import Json

_OUTCOMES: Final = ("violated", "undecided", "satisfied", "vacuous")
_CHIPS: Final = 6
"""The most rules that are named in one row."""


def histogram(counts: Sequence[int]) -> str:
    """The number of traces in each bin of scores, as bars that select traces."""
    most = max(counts)
    bars = []
    for number, count in enumerate(counts):
        low, high = number / BINS, min(1.0, (number + 1) / BINS)
        range_ = "1" if number == BINS else f"{low:.2f} to {high:.2f}"
        words = f"score {range_}: {count:,} {'trace' if count == 1 else 'traces'}"
        bar = tag("span", {"class": "bin__bar", "data-share": f"{count / (most or 1):.4f}"}, " ")
        inside = tag("span", {"class": "bin__count"}, f"{count:,}" if count else " ") + bar
        mark = tag("span", {"class": "bin__mark"}, f"{low:g}" if number % 4 == 0 else " ")
        link = {"class": "bin", "title": words, "aria-label": words, "href": f"#score={low:.2f}"}
        empty = {"class": "bin", "aria-hidden": "true"}
        bars.append(tag("a", link, inside, mark) if count else tag("span", empty, inside, mark))
    note = tag("p", {"class": "notes"}, "Select a bar to list traces with this score.")
    return tag("article", {}, tag("div", {"class": "histogram"}, *bars), note)


def rules(summary: Summary) -> str:
    """A row for each rule: its outcomes as a bar, its counts, and its text when pointed at."""
    heads = ["rule", "outcomes", "violated", "passed", "vacuous"]
    kinds = ["words", "words", "number", "number", "number"]
    head = [
        tag("th", {"class": kind, "aria-sort": "none"}, tag("button", {"type": "button"}, name))
        for name, kind in zip(heads, kinds, strict=True)
    ]
    body = [_rule(number, rule) for number, rule in enumerate(summary.rules())]
    parts = [tag("thead", {}, tag("tr", {}, *head)), tag("tbody", {"id": "rules-body"}, *body)]
    table = tag("table", {"class": "numbers by-rule"}, *parts)
    legend = tag("p", {"class": "legend"}, *(_legend(name) for name in _OUTCOMES))
    words = "Select a rule to list traces that violate it; point at it to read it."
    notes = [note for each in summary.tables() if each.name == "rules" for note in each.notes]
    items = [tag("li", {}, escape(note)) for note in (words, *notes)]
    return tag("article", {}, legend, table, tag("ul", {"class": "notes"}, *items))


def _legend(name: str) -> str:
    return tag("span", {"class": "legend__item", "data-outcome": name}, name)


def _rule(number: int, rule: RuleCounts) -> str:
    constraint = rule.constraint
    link = tag("a", {"href": f"#{urlencode({'rule': rule.name})}"}, escape(rule.name))
    facts = [f"weight {constraint.weight:g}", constraint.layer, constraint.severity]
    about = tag(
        "div",
        {"class": "about", "role": "note"},
        tag("code", {}, escape(constraint.rule)),
        *(
            tag("p", {}, tag("b", {}, f"{word} "), escape(text))
            for word, text in (("Why:", constraint.why), ("Fix:", constraint.fix))
            if text
        ),
        tag("p", {"class": "quiet"}, escape(" · ".join(filter(None, facts)))),
    )
    bars = [
        tag("span", {"data-outcome": name, "data-grow": count}, " ")
        for name in _OUTCOMES
        if (count := getattr(rule, name))
    ]
    words = ", ".join(f"{name} {getattr(rule, name):,}" for name in _OUTCOMES)
    bar = tag("div", {"class": "outcomes", "role": "img", "aria-label": words}, *bars or [" "])
    shown = [f"{rule.violated:,}", _percent(rule.rate), _percent(rule.vacuous_share)]
    values = [rule.violated, rule.rate or 0, rule.vacuous_share or 0]
    numbers = [
        tag("td", {"class": "number", "data-value": value}, text)
        for value, text in zip(values, shown, strict=True)
    ]
    name = tag("td", {"class": "words", "data-value": number}, link, about)
    outcomes = tag("td", {"class": "words", "data-value": number}, bar)
    return tag("tr", {"data-rule": number, "data-name": rule.name}, name, outcomes, *numbers)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def sets(summary: Summary, found: Sequence[ViolatedSet], shown: Mapping[str, Json]) -> str:
    """The sets of rules that traces violate, with the first trace of each."""
    if not found:
        return tag("article", {}, tag("p", {"class": "quiet"}, "No trace violates a rule."))
    most = found[0].traces
    rows = [
        tag(
            "tr",
            {},
            tag("td", {"class": "number"}, f"{each.traces:,}"),
            tag("td", {"class": "words"}, _bar(each.traces / most)),
            tag("td", {"class": "words wraps"}, *_chips(summary, each.first.violated)),
            tag("td", {"class": "words"}, _link(each.first.name, shown, "first trace")),
        )
        for each in found
    ]
    head = [tag("th", {"class": "number"}, "traces"), tag("th", {}, " ")]
    head += [tag("th", {}, "violate exactly"), tag("th", {}, "see")]
    more = len(summary.sets) - len(found)
    note = f"{more:,} other sets of rules are violated together." if more else ""
    parts = [tag("thead", {}, tag("tr", {}, *head)), tag("tbody", {}, *rows)]
    table = tag("div", {"class": "scroll"}, tag("table", {"class": "numbers sets"}, *parts))
    return tag("article", {}, table, *([tag("p", {"class": "notes"}, note)] if note else []))


def traces(summary: Summary, found: Sequence[NotableTrace], shown: Mapping[str, Json]) -> str:
    """The traces on the page, the worst first. The script hides those that are not selected."""
    rows = [
        tag(
            "tr",
            {"data-rules": " ".join(map(str, each.violated)), "data-score": each.score},
            tag("td", {"class": "number"}, _bar(each.score, "score"), f"{each.score:.4f}"),
            tag("td", {"class": "words name"}, _link(each.name, shown)),
            tag("td", {"class": "words wraps"}, *_chips(summary, each.violated)),
        )
        for each in found
    ]
    head = [tag("th", {"class": "number"}, "score"), tag("th", {}, "trace")]
    head += [tag("th", {}, "violates")]
    status = tag("p", {"id": "selected", "class": "notes", "role": "status"}, " ")
    parts = [tag("thead", {}, tag("tr", {}, *head)), tag("tbody", {"id": "traces-body"}, *rows)]
    table = tag("div", {"class": "scroll"}, tag("table", {"class": "numbers by-trace"}, *parts))
    words = (
        "The page has the worst traces, and the first of each rule and of each set above. "
        "The file of `--out` has all scores."
    )
    return tag("article", {}, status, table, tag("p", {"class": "notes"}, words))


def _bar(share: float, kind: str = "count") -> str:
    return tag("span", {"class": f"share share--{kind}", "data-share": f"{share:.4f}"}, " ")


def _chips(summary: Summary, numbers: Sequence[int]) -> list[str]:
    """Links that select rules."""
    names = summary.names(numbers)
    chips = [
        tag("a", {"class": "chip", "href": f"#{urlencode({'rule': name})}"}, escape(name))
        for name in names[:_CHIPS]
    ]
    rest = names[_CHIPS:]
    more = {"class": "chip chip--more", "title": ", ".join(rest)}
    return [*chips, *([tag("span", more, f"+{len(rest)}")] if rest else [])]


def _link(name: str, shown: Mapping[str, Json], words: str | None = None) -> str:
    plain = name.encode("utf-8", "backslashreplace").decode()
    text = escape(words or plain)
    if name not in shown:
        return tag("span", {"title": "too large for this page"}, text)
    return tag("a", {"href": f"#{urlencode({'trace': plain})}"}, text)
