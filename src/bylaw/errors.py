"""Exceptions and the diagnostics that they carry.

    BylawError
    ├── SpecError                      a formula or a procedure cannot be used
    ├── TraceError                     a trace record cannot be used
    │   └── LogError                   an audit log cannot be written, or was altered
    ├── UsageError                     an argument or a command line cannot be used
    ├── StoreError                     a resident gate cannot read or write its state
    ├── GateError                      a resident gate cannot be asked
    └── ConstraintViolationError       a gate refused a call

Every error carries all its diagnostics at once: a code that `bylaw explain CODE` explains, the
place, what is wrong, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from bylaw.frozen import frozen, replace
from bylaw.terminal import in_line, safe

MAX_DIAGNOSTICS: Final = 50
"""The most mistakes that are reported of one file or record."""

_MAX_REWRITE: Final = 500
"""The length of a corrected text that is shown, in characters."""
TERMINAL_WIDTH: Final = 80
"""The length of the lines that messages are wrapped to in a terminal."""
_EXCERPT: Final = 74
"""The length of the excerpt from a long line, in characters."""
_BEFORE: Final = 40
"""The part of the excerpt before the mistake."""
_MESSAGE: Final = 500
"""The longest message."""
_SUGGESTIONS: Final = 500
"""The most names that a misspelt one is compared with."""


class Span(NamedTuple):
    """A stretch of a text, as character offsets, end excluded."""

    start: int
    end: int


@frozen
class Diagnostic:
    """One mistake: its place, what is wrong, and how to fix it."""

    code: str
    message: str
    help: str | None = None
    source: str | None = None
    """The name of the file or text that holds the mistake."""
    line: int | None = None
    """Counted from 1."""
    column: int | None = None
    """Counted from 1, in characters."""
    width: int = 1
    excerpt: str | None = None
    """The line with the mistake, or the part of a long line around it."""
    excerpt_column: int = 1
    """The column at which the excerpt starts."""
    where: str | None = None
    """A path inside the data, such as `tool_calls[3].step`, where there is no line."""
    rewrite: str | None = None
    """The text to write instead, if it can be computed."""

    @classmethod
    def at(
        cls,
        text: str,
        span: Span,
        code: str,
        message: str,
        help: str | None = None,
        rewrite: str | None = None,
    ) -> Diagnostic:
        """A diagnostic that points at `span` in `text`."""
        start = min(span.start, len(text))
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", start)
        line_end = len(text) if line_end < 0 else line_end
        shown = max(line_start, min(start - _BEFORE, line_end - _EXCERPT))
        return cls(
            code,
            message,
            help,
            line=text.count("\n", 0, start) + 1,
            column=start - line_start + 1,
            width=max(1, min(span.end, line_end) - start),
            excerpt=text[shown : min(line_end, shown + _EXCERPT)],
            excerpt_column=shown - line_start + 1,
            rewrite=rewrite,
        )

    def __post_init__(self) -> None:
        # Messages quote what authors wrote, which may be a megabyte.
        for name in ("message", "help", "where"):
            text = getattr(self, name)
            if text is not None and len(text) > _MESSAGE:
                cut = f"{text[: _MESSAGE - 100]} … {text[-100:]}"
                object.__setattr__(self, name, cut)

    def located(self, source: str) -> Diagnostic:
        """The same diagnostic with the name of its file, unless it has one."""
        return self if self.source else replace(self, source=source)

    def inside(self, where: str) -> Diagnostic:
        """The same diagnostic, located inside a part of the data."""
        inner = f".{self.where}" if self.where else ""
        return replace(self, where=where + inner)

    def render(self, width: int | None = None) -> str:
        """The diagnostic as text: place, message, the line with a caret, help, a rewrite.

        With a width, the message and the help are wrapped.
        """
        place = ":".join(
            str(part) for part in (self.source, self.line, self.column) if part is not None
        )
        inside = f" (at {self.where})" if self.where else ""
        head = f"{place}: " if place else ""
        message = f"error[{self.code}]: {self.message}{inside}"
        lines = _wrapped(message, width, "  ", in_line(head))
        if self.excerpt is not None and self.line is not None and self.column is not None:
            lines += _caret(self.excerpt, self.line, self.column - self.excerpt_column, self.width)
        if self.help:
            lines += _wrapped(f"help: {self.help}", width, "      ")
        if self.rewrite is not None and len(self.rewrite) <= _MAX_REWRITE:
            lines.append(f"write: {in_line(self.rewrite)}")
        return safe("\n".join(lines))

    def to_dict(self) -> dict[str, object]:
        """The diagnostic as JSON, without the fields that are None."""
        fields = {name: getattr(self, name) for name in self.__match_args__}
        del fields["excerpt_column"]
        if self.line is None:
            del fields["width"]
        return {name: value for name, value in fields.items() if value is not None}


def _wrapped(text: str, width: int | None, margin: str, place: str = "") -> list[str]:
    """The text in lines of a width, after its place. Lines after the first are indented.

    A long place takes no room, so that the message does not begin on a line of its own.
    """
    text = in_line(text)
    if width is None or len(place) + len(text) <= width:
        return [place + text]
    import textwrap  # slow to import, and only long messages need it

    short = len(place) <= width // 2
    wrapper = textwrap.TextWrapper(
        width,
        initial_indent=place if short else "",
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    first, *rest = wrapper.wrap(text)
    return [first if short else place + first, *rest]


def _caret(excerpt: str, line: int, start: int, width: int) -> list[str]:
    """The source line and a row of carets under the mistake."""
    carets = "^" * max(1, min(width, len(excerpt) - start))
    gutter = " " * len(str(line))
    shown = excerpt.replace("\t", " ").replace("\r", "")
    return [f"  {line} | {shown}".rstrip(), f"  {gutter} | {' ' * start}{carets}"]


class BylawError(Exception):
    """The base class of every error that Bylaw raises on purpose."""

    def __init__(self, diagnostics: Iterable[Diagnostic] | Diagnostic) -> None:
        if isinstance(diagnostics, Diagnostic):
            diagnostics = (diagnostics,)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__(self.render())

    def render(self, width: int | None = None) -> str:
        """The diagnostics as text, wrapped if there is a width."""
        return "\n\n".join(diagnostic.render(width) for diagnostic in self.diagnostics)

    def __reduce__(self) -> tuple[type[BylawError], tuple[tuple[Diagnostic, ...]]]:
        return type(self), (self.diagnostics,)  # errors are pickled between processes


class SpecError(BylawError):
    """A formula or a procedure cannot be used."""


class TraceError(BylawError):
    """A trace record cannot be used."""


class UsageError(BylawError):
    """An argument or a command line cannot be used."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is closest to this one, if one is close."""
    import difflib  # slow to import, and only mistakes need it

    lowered = {name.lower(): name for name in islice(known, _SUGGESTIONS)}
    close = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return lowered[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """`did you mean 'refund'?` if a known word is close to this one."""
    close = closest(word, known)
    return f"did you mean '{close}'?" if close else None


def not_a_choice(name: str, given: object, choices: Sequence[str]) -> tuple[str, str]:
    """The message and the help for a value that is not one of the choices."""
    close = did_you_mean(given, choices) if isinstance(given, str) else None
    help = f"It is one of: {', '.join(choices)}."
    return f"'{name}' cannot be {shown(given)}", f"{close} {help}" if close else help


def shown(value: object, most: int = 60) -> str:
    """A value as messages quote it, cut to a short text."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested without end, or a number without end
        return f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}…"


def clipped(text: str, most: int) -> str:
    """The text, cut to this many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listing(names: Sequence[str], most: int = 12) -> str:
    """`a, b, c`, or `a, b and 7 more` for a long list."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
