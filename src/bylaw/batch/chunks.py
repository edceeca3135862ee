"""Some traces to judge together, whatever they were read from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.columns import Codes, Columns
from bylaw.columnar.views import columns_of
from bylaw.trace.trace import Events, Trace


class Chunk(Protocol):
    """Some traces."""

    def __len__(self) -> int: ...

    @property
    def calls(self) -> NDArray[np.int64]:
        """How many calls each trace has."""

    def columns(self, events: Events, answer: bool) -> tuple[Columns, NDArray[np.intp]]:
        """What rules see of the traces that have an event at all, and which traces those are."""

    def trace(self, number: int) -> Trace:
        """One of them, as a whole, with its failures marked."""


class ReadTraces:
    """Traces that have been read as a whole, and had their failures marked."""

    def __init__(self, traces: Sequence[Trace], codes: Codes) -> None:
        self._traces = traces
        self._codes = codes

    def __len__(self) -> int:
        return len(self._traces)

    @property
    def calls(self) -> NDArray[np.int64]:
        return np.array([len(trace.calls) for trace in self._traces], dtype=np.int64)

    def columns(self, events: Events, answer: bool) -> tuple[Columns, NDArray[np.intp]]:
        return columns_of(self._traces, self._codes, events, answer=answer)

    def trace(self, number: int) -> Trace:
        return self._traces[number]
