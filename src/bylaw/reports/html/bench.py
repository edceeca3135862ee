"""The benchmark report: tables, figures and every run on one self-contained page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape
from typing import Final

from bylaw.bench.analysis import ANALYSES
from bylaw.bench.analysis.runs import (
    by_model,
    by_model_and_setting,
    settings_of,
    simulated,
)
from bylaw.bench.results import RunRecord
from bylaw.bench.templates import TEMPLATES
from bylaw.reports.charts.svg import tag
from bylaw.reports.figures import FIGURES, STYLE
from bylaw.reports.html import viewer
from bylaw.reports.html.bench_data import RULE_FIELDS, VERDICT_FIELDS, blocks, run_rows
from bylaw.reports.html.markup import facts, section, table_html
from bylaw.reports.html.page import asset, page
from bylaw.reports.provenance import Provenance
from bylaw.tables import Table

STYLES: Final = (*viewer.STYLES, "bench.css", "bench_runs.css")
SCRIPTS: Final = (
    *viewer.SCRIPTS,
    "bench_data.js",
    "bench_filters.js",
    "bench_runs.js",
    "bench.js",
)

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Overview": ("overview", "intervals", "guessable", "models"),
    "Enforcement": ("effects", "gap", "floor", "events", "enforcement"),
    "Layers": ("layers", "pooled", "reached", "loss"),
    "Tasks": ("templates", "structures", "difficulties"),
    "Correlation": ("correlations",),
}
"""The tables under each heading. Each is shown with its figures."""


def render_bench(
    runs: Sequence[RunRecord],
    step: Callable[[], None] = lambda: None,
    origin: Provenance | None = None,
) -> str:
    """The page. `step` is called after each run."""
    runs = _in_order(runs)
    tables = {name: analysis(runs) for name, analysis in ANALYSES.items()}
    invented = simulated(runs)
    return page(
        "bench.html",
        title="Benchmark report",
        data=run_rows(runs) | {"rule": RULE_FIELDS, "verdict": VERDICT_FIELDS},
        styles=[*map(asset, STYLES), STYLE],
        scripts=[asset(name) for name in SCRIPTS],
        provenance=origin or Provenance(),
        head=_head(runs, invented),
        links="".join(f'<a href="#{name.lower()}">{name}</a>' for name in (*SECTIONS, "Runs")),
        sections="".join(
            section(heading, *(_part(tables, name, invented) for name in names))
            for heading, names in SECTIONS.items()
        ),
        blocks="\n".join(
            f'<script type="text/plain" id="block-{number}">{block}</script>'
            for number, block in enumerate(blocks(runs, step))
        ),
    )


def _in_order(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """By model and setting, then by task."""

    def task(run: RunRecord) -> tuple[int, int, int, int]:
        template = list(TEMPLATES).index(run["template"])
        return template, run["difficulty"], run["seed"], run["trial"]

    return [run for group in by_model_and_setting(runs).values() for run in sorted(group, key=task)]


def _head(runs: Sequence[RunRecord], invented: Collection[str]) -> str:
    """The facts below the title: runs, models, settings and versions."""
    models = by_model(runs)
    real = [model for model in models if model not in invented]
    versions = sorted({run["conditions"]["versions"]["bylaw"] for run in runs})
    known = [
        f"{len(runs):,} runs",
        *([_counted(len(real), "model")] if real else []),
        *([_counted(len(invented), "simulated agent")] if invented else []),
        ", ".join(settings_of(runs)),
        f"bylaw {', '.join(versions)}",
    ]
    warning = "" if real else '<p class="warning">All agents in this report are simulated.</p>'
    return facts(known) + warning


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _part(tables: Mapping[str, Table], name: str, invented: Collection[str]) -> str:
    """A table with its figures above it."""
    table = tables[name]
    drawn = [
        tag("figure", {"tabindex": 0}, tag("figcaption", {}, escape(figure.title)), svg)
        for figure in FIGURES
        if (figure.shown_with or figure.table) == name and (svg := figure.svg(tables[figure.table]))
    ]
    summary = tag("summary", {}, escape(table.title))
    opened = {"open": "open" if name == next(iter(ANALYSES)) else None}
    folded = tag("details", opened, summary, table_html(table, invented))
    return tag("article", {"id": f"table-{name}"}, *drawn, folded)
