"""Composing drawings: side by side, stacked, with a legend, and as one picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from bylaw.enforcement.severity import SETTINGS
from bylaw.procedure.procedure import LAYERS
from bylaw.reports.charts.svg import NORMAL, tag, text, width_of

TONES: Final = 10
"""The number of tones for values without a tone of their own."""
TITLE: Final = 22.0
"""The height of a title, including the space below it."""
_OWN_TONE: Final = {*SETTINGS, *LAYERS}


@dataclass(frozen=True, slots=True)
class Drawing:
    """SVG elements and the size of the area that they cover."""

    width: float
    height: float
    parts: tuple[str, ...] = ()


def side_by_side(drawings: Sequence[Drawing], gap: float = 28) -> Drawing:
    """Arranges drawings from left to right, aligned at the top."""
    parts, x = [], 0.0
    for each in drawings:
        parts.append(_moved(each, x, 0))
        x += each.width + gap
    return Drawing(x - gap, max(each.height for each in drawings), tuple(parts))


def stacked(drawings: Sequence[Drawing], gap: float = 20) -> Drawing:
    """Arranges drawings from top to bottom, aligned at the left."""
    parts, y = [], 0.0
    for each in drawings:
        parts.append(_moved(each, 0, y))
        y += each.height + gap
    return Drawing(max(each.width for each in drawings), y - gap, tuple(parts))


def _moved(drawing: Drawing, x: float, y: float) -> str:
    return tag("g", {"transform": f"translate({x:.1f} {y:.1f})"}, *drawing.parts)


def tone(value: str, among: Sequence[str]) -> str:
    """The CSS class that colours a value. Settings and layers have the same one in every chart."""
    own = value in _OWN_TONE
    return f"tone-{value}" if own else f"tone-{among.index(value) % TONES}"


def swatch(x: float, y: float, kind: str) -> str:
    """A square in a tone, for legends."""
    shape = {"x": x, "y": y, "width": 10, "height": 10, "rx": 2}
    return tag("rect", {"class": f"fill {kind}", **shape})


def legend(names: Sequence[str], facet: str, width: float, keys: Sequence[str] = ()) -> Drawing:
    """A legend. `keys` are drawn instead of swatches."""
    parts, x, y = [], 0.0, 0.0
    for place, name in enumerate(names):
        needed = 16 + width_of(name) + 18
        if x and x + needed > width:
            x, y = 0.0, y + 18
        key = keys[place] if keys else swatch(0, 0, tone(name, names))
        body = (key, text(16, 9, name, kind="label"))
        entry = {"transform": f"translate({x:.1f} {y:.1f})", f"data-{facet}": name}
        parts.append(tag("g", entry, *body))
        x += needed
    return Drawing(width, y + 12, tuple(parts))


def notes(lines: Sequence[str], width: float) -> Drawing:
    """Lines of small print, wrapped to the width."""
    folded = [row for each in lines for row in textwrap.wrap(each, max(40, int(width / 5.4)))]
    rows = tuple(text(0, 10 + 15 * n, row, kind="note") for n, row in enumerate(folded))
    return Drawing(width, 15 * len(folded), rows)


def titled(title: str, drawing: Drawing) -> Drawing:
    """A drawing below its title."""
    width = max(drawing.width, width_of(title, NORMAL))
    heading = Drawing(width, TITLE, (text(0, 10, title, kind="heading"),))
    return stacked([heading, drawing], gap=0)


def picture(title: str, drawing: Drawing) -> str:
    """An SVG image of a drawing, with an accessible title."""
    width, height = round(drawing.width + 16), round(drawing.height + 16)
    attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"-8 -8 {width} {height}",
        "width": width,
        "height": height,
        "role": "img",
        "aria-label": title,
        "class": "chart",
    }
    return tag("svg", attributes, tag("title", {}, escape(title)), *drawing.parts)
