"""The report on a corpus: its summary and selected traces, on one page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final
from urllib.parse import urlencode

from bylaw.batch.input.chunks import Limits
from bylaw.batch.input.files import CorpusFile, group_files
from bylaw.batch.output.reread import reread
from bylaw.batch.output.summary import NotableTrace, Summary
from bylaw.reports.charts.stack import StackedBars
from bylaw.reports.charts.svg import tag
from bylaw.reports.figures import STYLE, Figure
from bylaw.reports.html import viewer
from bylaw.reports.html.markup import facts, section, table_html
from bylaw.reports.html.page import asset, page
from bylaw.reports.provenance import Provenance, provenance
from bylaw.scoring.verify import verify_trace
from bylaw.tables import Column, Table
from bylaw.trace.trace import Trace
from bylaw.values import Json

STYLES: Final = (*viewer.STYLES, "bench.css", "bench_runs.css", "corpus.css")
SCRIPTS: Final = (*viewer.SCRIPTS, "corpus.js")
MAX_TRACE: Final = 500_000
"""The maximum size of a trace on the page, in characters. Larger ones are only named."""
MAX_TRACES: Final = 20_000_000
"""The maximum size of all traces together."""

_OUTCOMES: Final = Figure(
    "outcomes",
    "outcomes",
    "Of all traces, the share in which each rule was …",
    StackedBars(("rule",)),
)


def render_corpus(
    summary: Summary,
    corpus: Sequence[CorpusFile],
    limits: Limits,
    origin: Provenance | None = None,
) -> str:
    """The page. The selected traces are read again from the corpus."""
    examples = [each for found in summary.examples.values() for each in found]
    wanted = {each.name: each for each in (*summary.worst, *examples)}
    traces = reread(group_files(corpus, limits.chunk), wanted.values(), limits)
    shown = _shown(summary, wanted, traces)
    drawn = _OUTCOMES.svg(_outcomes(summary)) if summary.traces else None
    figure = tag("figure", {}, tag("figcaption", {}, _OUTCOMES.title), drawn or "")
    tables = [
        tag("article", {}, tag("h3", {}, escape(table.title)), table_html(table, ()))
        for table in summary.tables()
        if table.name != "worst"  # those are shown whole
    ]
    return page(
        "corpus.html",
        title=f"{summary.procedure.name} on {summary.traces:,} traces",
        data=list(shown.values()),
        styles=[*map(asset, STYLES), STYLE],
        scripts=[asset(name) for name in SCRIPTS],
        provenance=origin or provenance(procedure=summary.procedure),
        head=_head(corpus),
        tiles="".join(_tile(*tile) for tile in _tiles(summary)),
        sections=section("Rules", tag("article", {}, figure), *tables)
        + section("Traces", _list("The worst", summary.worst, shown), *_by_rule(summary, shown)),
    )


def _shown(
    summary: Summary, wanted: Mapping[str, NotableTrace], traces: Mapping[str, Trace]
) -> dict[str, Json]:
    """The viewer's data of each trace, by name, as far as the size limits allow."""
    found: dict[str, Json] = {}
    room = MAX_TRACES
    for name in wanted:
        if name not in traces:
            continue
        data = viewer.trace_data(verify_trace(traces[name], summary.procedure), {}, detailed=False)
        size = len(json.dumps(data))
        if size <= min(MAX_TRACE, room):
            found[name] = data | {"trace": name}
            room -= size
    return found


def _outcomes(summary: Summary) -> Table:
    """The share of each outcome, for each rule."""
    names = ("violated", "undecided", "satisfied", "vacuous")
    columns = (Column("rule"), *(Column(name, "percent") for name in names))
    rows = [
        [rule.name, *(getattr(rule, name) / rule.traces for name in names)]
        for rule in summary.rules()
    ]
    return Table("outcomes", _OUTCOMES.title, columns, rows)


def _head(corpus: Sequence[CorpusFile]) -> str:
    names = [source.name for source in corpus]
    shown = names if len(names) <= 3 else [*names[:3], f"{len(names) - 3:,} more files"]
    return facts(shown)


def _tiles(summary: Summary) -> list[tuple[str, str, str]]:
    mean = "–" if summary.mean is None else f"{summary.mean:.4f}"
    labels = summary.label_counts()
    return [
        ("traces", f"{summary.traces:,}", f"{summary.calls:,} calls"),
        ("compliance", mean, "mean score"),
        *((name.lower(), f"{count:,}", _share(count, summary)) for name, count in labels.items()),
        ("unusable", f"{summary.unusable.total():,}", "records"),
    ]


def _share(count: int, summary: Summary) -> str:
    return f"{count / summary.traces:.1%} of the traces"


def _tile(name: str, value: str, about: str) -> str:
    return tag(
        "div",
        {"class": "tile"},
        tag("span", {"class": "tile__name"}, escape(name)),
        tag("b", {}, escape(value)),
        tag("span", {"class": "tile__about"}, escape(about)),
    )


def _by_rule(summary: Summary, shown: Mapping[str, Json]) -> list[str]:
    """For each violated rule, the first traces that violate it."""
    return [
        _list(f"Violating {name}", found, shown)
        for name, found in summary.examples.items()
        if found
    ]


def _list(title: str, found: Sequence[NotableTrace], shown: Mapping[str, Json]) -> str:
    """Traces with their scores. Those on the page are links."""
    heads = [tag("th", {"class": "number"}, head) for head in ("score", "violated")]
    rows = [
        tag(
            "tr",
            {},
            tag("td", {"class": "number"}, f"{each.score:.4f}"),
            tag("td", {"class": "number"}, f"{each.violated:,}"),
            tag("td", {"class": "words"}, _link(each.name, shown)),
        )
        for each in found
    ]
    body = [tag("thead", {}, tag("tr", {}, *heads, tag("th", {}, "trace"))), *rows]
    table = tag("table", {"class": "numbers"}, *body)
    return tag(
        "article",
        {},
        tag("h3", {}, escape(title)),
        tag("div", {"class": "scroll"}, table) if found else tag("p", {}, "None."),
    )


def _link(name: str, shown: Mapping[str, Json]) -> str:
    plain = name.encode("utf-8", "backslashreplace").decode()
    if name not in shown:
        return escape(plain)
    return tag("a", {"href": f"#{urlencode({'trace': plain})}"}, escape(plain))
