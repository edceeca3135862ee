"""Markup shared by the reports: sections, facts, and tables.

Rows and columns of tables carry data attributes for the filters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import Final

from bylaw.reports.charts.svg import tag
from bylaw.tables import MARKS, Cell, Column, Table

FACETS: Final = ("model", "setting", "template", "structure", "difficulty")
"""The fields that filters use."""
SIMULATED: Final = (
    ' <span class="badge-sim" title="a simulated agent, not a model">simulated</span>'
)


def section(heading: str, *parts: str) -> str:
    """A section with a heading. Its id is the heading in lower case, with hyphens for spaces."""
    name = heading.lower().replace(" ", "-")
    return tag("section", {"id": name}, tag("h2", {}, heading), *parts)


def facts(items: Iterable[str]) -> str:
    """The line of facts below a title."""
    return tag("p", {"class": "facts"}, *(tag("span", {}, escape(each)) for each in items))


def table_html(table: Table, simulated: Collection[str]) -> str:
    """A table and its notes. The names of simulated agents are marked."""
    head = [_cell("th", column, escape(column.title)) for column in table.columns]
    body = [
        tag("tr", _facets(table, row), *_cells(table, number, simulated))
        for number, row in enumerate(table.rows)
    ]
    rows = [tag("thead", {}, tag("tr", {}, *head)), tag("tbody", {}, *body)]
    notes = [tag("li", {}, escape(note)) for note in table.notes]
    scrolls = tag(
        "div", {"class": "scroll", "tabindex": 0}, tag("table", {"class": "numbers"}, *rows)
    )
    return scrolls + tag("ul", {"class": "notes"}, *notes)


def _facets(table: Table, row: Sequence[Cell]) -> dict[str, object]:
    cells = zip(table.columns, row, strict=True)
    return {f"data-{column.title}": value for column, value in cells if column.title in FACETS}


def _cells(table: Table, number: int, simulated: Collection[str]) -> list[str]:
    found = []
    for place, (column, value) in enumerate(zip(table.columns, table.rows[number], strict=True)):
        mark = table.marks.get((number, place))
        shown = escape(column.text(value))
        if mark:
            shown += f' <span class="{mark}" title="{mark}">{MARKS[mark]}</span>'
        if column.title == "model" and value in simulated:
            shown += SIMULATED
        found.append(_cell("td", column, shown))
    return found


def _cell(name: str, column: Column, content: str) -> str:
    about = {f"data-{key}": value for key, value in column.about.items() if key in FACETS}
    kind = "words" if column.kind == "text" else "number"
    return tag(name, {"class": kind, **about}, content)
