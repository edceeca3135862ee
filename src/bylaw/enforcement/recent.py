"""The latest calls of a run, tool by tool: what led to a refusal is named in its message."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from bylaw.values import Json

SHOWN_CALLS: Final = 5
"""How many calls that led to a refusal are named."""


class RecentCalls:
    """Counts the calls of a run, and remembers the latest of the tools that rules speak of."""

    def __init__(self, named: Collection[Collection[str]]) -> None:
        self._named: Final = named
        """The tools that each rule speaks of; no message will be about others."""
        self._made = 0
        self._latest: dict[str, deque[int]] = {}

    def note(self, tool: str) -> None:
        """A call is made."""
        self._made += 1
        latest = self._latest.get(tool)
        if latest is None:
            if not any(tool in named for named in self._named):
                return
            latest = self._latest[tool] = deque(maxlen=SHOWN_CALLS)
        latest.append(self._made)

    def of(self, tools: Iterable[str]) -> list[str]:
        """The latest calls of these tools, in their order: `#3 issue_refund`."""
        made = sorted((number, tool) for tool in tools for number in self._latest.get(tool, ()))
        return [f"#{number} {tool}" for number, tool in made[-SHOWN_CALLS:]]

    def save(self) -> dict[str, Json]:
        """What is remembered, as JSON."""
        return {
            "made": self._made,
            "latest": {tool: list(numbers) for tool, numbers in self._latest.items()},
        }

    def restore(self, saved: Mapping[str, Json]) -> None:
        """Remembers what was saved."""
        self._made = saved["made"]
        self._latest = {
            tool: deque(numbers, maxlen=SHOWN_CALLS) for tool, numbers in saved["latest"].items()
        }
