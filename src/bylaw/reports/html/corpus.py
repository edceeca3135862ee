"""The report on a corpus: scores, rules, what is violated together, and traces to open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from bylaw.batch.input.chunks import Limits
from bylaw.batch.input.files import CorpusFile, group_files
from bylaw.batch.output.reread import reread
from bylaw.batch.output.summary import NotableTrace, Summary
from bylaw.reports.charts.svg import tag
from bylaw.reports.html import viewer
from bylaw.reports.html.corpus_parts import histogram, rules, sets, traces
from bylaw.reports.html.markup import facts, section, table_html
from bylaw.reports.html.page import asset, page
from bylaw.reports.provenance import Provenance, provenance
from bylaw.scoring.verify import verify_trace
from bylaw.trace.trace import Trace
from bylaw.values import Json

STYLES: Final = (*viewer.STYLES, "bench.css", "bench_runs.css", "corpus.css")
SCRIPTS: Final = (*viewer.SCRIPTS, "corpus.js")
MAX_TRACE: Final = 500_000
"""The maximum size of a trace on the page, in characters. Larger ones are only named."""
MAX_TRACES: Final = 20_000_000
"""The maximum size of all traces together."""
SETS: Final = 50
"""The number of sets of violated rules on the page."""


def render_corpus(
    summary: Summary,
    corpus: Sequence[CorpusFile],
    limits: Limits,
    origin: Provenance | None = None,
) -> str:
    """The page. The selected traces are read again from the corpus."""
    wanted = _wanted(summary)
    read = reread(group_files(corpus, limits.chunk), wanted.values(), limits)
    shown = _shown(summary, wanted, read)
    listed = sorted(wanted.values())
    return page(
        "corpus.html",
        title=f"{summary.procedure.name} on {summary.traces:,} traces",
        data=list(shown.values()),
        styles=[asset(name) for name in STYLES],
        scripts=[asset(name) for name in SCRIPTS],
        provenance=origin or provenance(procedure=summary.procedure),
        head=_head(corpus),
        tiles="".join(_tile(*tile) for tile in _tiles(summary)),
        sections=section("Scores", histogram(summary.histogram))
        + section("Rules", rules(summary), *_tables(summary))
        + section("Violated together", sets(summary, summary.frequent_sets()[:SETS], shown))
        + section("Traces", traces(summary, listed, shown)),
    )


def _wanted(summary: Summary) -> dict[str, NotableTrace]:
    """The traces on the page, by name: the worst, and the first of each rule and each set."""
    of_rules = [each for found in summary.examples.values() for each in found]
    of_sets = [each.first for each in summary.frequent_sets()[:SETS]]
    return {each.name: each for each in (*summary.worst, *of_rules, *of_sets)}


def _shown(
    summary: Summary, wanted: Mapping[str, NotableTrace], read: Mapping[str, Trace]
) -> dict[str, Json]:
    """The viewer's data of each trace, by name, as far as the size limits allow."""
    found: dict[str, Json] = {}
    room = MAX_TRACES
    for name in wanted:
        if name not in read:
            continue
        data = viewer.trace_data(verify_trace(read[name], summary.procedure), {}, detailed=False)
        size = len(json.dumps(data))
        if size <= min(MAX_TRACE, room):
            found[name] = data | {"trace": name}
            room -= size
    return found


def _tables(summary: Summary) -> list[str]:
    """The tables that the parts of the page do not show: layers and unusable records."""
    return [
        tag("article", {}, tag("h3", {}, escape(table.title)), table_html(table, ()))
        for table in summary.tables()
        if table.name in ("layers", "unusable")
    ]


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
