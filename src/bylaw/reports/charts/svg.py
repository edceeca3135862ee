"""SVG elements. All text is escaped; colours are left to the style sheet."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from bylaw.reports.charts.points import Point

NORMAL = 11
"""The font size, in pixels."""


def tag(name: str, attributes: Mapping[str, object], *children: str) -> str:
    """An element. Attributes that are None are left out; `_` in a name becomes `-`."""
    written = "".join(
        f' {key.replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def text(
    x: float, y: float, words: str, *, anchor: str = "start", kind: str = "", turn: float = 0
) -> str:
    """A line of text, rotated around its start by `turn` degrees."""
    turned = f"rotate({turn:g} {x:.1f} {y:.1f})" if turn else None
    end = None if anchor == "start" else anchor
    place = {"x": x, "y": y, "class": kind or None, "transform": turned, "text_anchor": end}
    return tag("text", place, escape(words))


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return tag("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": kind})


def mark(point: Point, *shapes: str) -> str:
    """The mark of a value, with a tooltip for readers and data attributes for scripts."""
    about = {f"data-{key}": value for key, value in point.at.items() if value}
    return tag("g", {"class": "mark", **about}, tag("title", {}, escape(point.tooltip())), *shapes)


def width_of(words: str, size: float = NORMAL) -> float:
    """The approximate width of a text."""
    return len(words) * size * 0.56


def _number(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
