"""Watching code that reads hostile input: what it raises, how long it takes, what it says."""

from __future__ import annotations

import json
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import bylaw
from bylaw.errors import BylawError

SECONDS = 60.0
"""After so much processor time an input counts as one that never ends."""
_CODE = re.compile(r"E\d{3}")
_JARGON = re.compile(r"\w+Error\b|\w+Exception\b|Traceback|NoneType|\$END|__\w+__")
"""Words that only a programmer of this library would understand."""
_PACKAGE = Path(bylaw.__file__).parent


class TookTooLong(BaseException):
    """Not an Exception, so that nothing on the way catches it."""


@contextmanager
def deadline(seconds: float = SECONDS) -> Iterator[None]:
    """Raises TookTooLong if what is inside takes more processor time."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLong(f"took more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def peak_megabytes(*, afresh: bool = False) -> float:
    """The most memory this process has held so far, or since this was last asked afresh.

    Only Linux can start afresh; elsewhere an earlier peak hides a smaller one after it.
    """
    status = Path("/proc/self/status")
    if afresh:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    if status.exists() and (found := re.search(r"VmHWM:\s*(\d+) kB", status.read_text())):
        return int(found[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


@contextmanager
def within(megabytes: float, seconds: float = SECONDS) -> Iterator[None]:
    """Fails if what is inside takes more time, or holds more memory beside what is held now."""
    before = peak_megabytes(afresh=True)
    with deadline(seconds):
        yield
    grown = peak_megabytes() - before
    assert grown <= megabytes, f"memory grew by {grown:.0f} MB"


def check_error(error: BylawError) -> None:
    """Every diagnostic has a code, says something in words for people, and can be shown."""
    assert error.diagnostics
    str(error).encode()
    for diagnostic in error.diagnostics:
        shown = f"{diagnostic.render():.300}"
        assert _CODE.fullmatch(diagnostic.code), shown
        assert diagnostic.message.strip(), shown
        assert f"error[{diagnostic.code}]" in diagnostic.render(), shown
        assert len(diagnostic.render()) < 4000, f"too long to be read: {shown}…"
        assert not _JARGON.search(diagnostic.message), shown
        diagnostic.render().encode()
        json.dumps(diagnostic.to_dict(), allow_nan=False)


@dataclass(slots=True)
class Watch:
    """Collects the failures of many inputs, one example of each kind."""

    inputs: int = 0
    failures: dict[str, list[str]] = field(default_factory=dict)
    """The failures by place, and the inputs that show them."""
    slowest: float = 0.0
    slowest_input: str = ""
    _memory: float = field(default_factory=lambda: peak_megabytes(afresh=True))

    @contextmanager
    def over(self, subject: object) -> Iterator[None]:
        """Watches the use of one input."""
        self.inputs += 1
        start = time.process_time()
        try:
            with deadline():
                yield
        except (Exception, TookTooLong) as error:
            example = f"{type(error).__name__}: {error!s:.200}\n    on {subject}"
            self.failures.setdefault(_place(error), []).append(example)
        if (taken := time.process_time() - start) > self.slowest:
            self.slowest, self.slowest_input = taken, str(subject)

    @property
    def growth(self) -> float:
        """By how many megabytes the most memory held has grown."""
        return peak_megabytes() - self._memory

    def report(self) -> str:
        """The failures, with the shortest example of each."""
        return "\n\n".join(
            f"{len(examples)} input(s) fail in {place}\n  {min(examples, key=len)}"
            for place, examples in self.failures.items()
        )


def _place(error: BaseException) -> str:
    """The origin of an error. It distinguishes failures."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if f"{_PACKAGE}/" in frame.filename]
    frame = frames[-1] if isinstance(error, AssertionError) or not inside else inside[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}, {frame.name}"
