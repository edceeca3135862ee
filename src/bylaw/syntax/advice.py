"""Advice on formulas that cannot be read: what was meant, and the formula corrected.

A correction is offered only if it can be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from bylaw.errors import Diagnostic, SpecError
from bylaw.frozen import replace
from bylaw.logic.formula import Formula
from bylaw.syntax.foreign_forms import FOREIGN_FORMS, ForeignForm

_MAX_TEXT: Final = 2_000
"""The length of a formula that is corrected, in characters."""
_MAX_EDITS: Final = 12
"""The number of mistakes in it that are corrected."""
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def advised(error: SpecError, text: str, read: Callable[[str], Formula]) -> SpecError:
    """The error with advice on what the author may have meant, and the corrected formula."""
    if len(text) > _MAX_TEXT:
        return error
    found: list[Diagnostic] = []
    for problem in error.diagnostics:
        meant = _meant(problem, text)
        help = problem.help if meant is None else meant[1].expand(meant[0].sentence)
        found.append(replace(problem, help=help, rewrite=None))
    found[-1] = replace(found[-1], rewrite=_corrected(error, text, read))
    return SpecError(found)


def _corrected(error: SpecError, text: str, read: Callable[[str], Formula]) -> str | None:
    """The text without its mistakes, if each can be corrected."""
    seen = {text}
    for _ in range(_MAX_EDITS):
        edited = _edited(error.diagnostics, text)
        if edited is None or edited in seen:
            return None
        text = edited
        seen.add(text)
        try:
            read(text)
        except SpecError as next_error:
            error = next_error
            continue
        return None if "#" in text else re.sub(r"\s*\n\s*", " ", text).strip()
    return None


def _edited(problems: Iterable[Diagnostic], text: str) -> str | None:
    """The text with one mistake corrected."""
    for problem in problems:
        if (meant := _meant(problem, text)) is not None:
            form, match = meant
            if form.ours is not None:
                ours, rest = match.expand(form.ours), text[match.end() :]
                ours = ours.rstrip() if rest.startswith("(") else ours
                return text[: match.start()] + ours + rest
        elif problem.rewrite is not None:
            return problem.rewrite
    return None


def _meant(problem: Diagnostic, text: str) -> tuple[ForeignForm, re.Match[str]] | None:
    """The foreign form that stands around a mistake."""
    if problem.line is None or problem.column is None:
        return None
    lines = text.split("\n")[: problem.line - 1]
    at = sum(len(line) + 1 for line in lines) + problem.column - 1
    strings = [found.span() for found in _STRING.finditer(text)]
    for form in FOREIGN_FORMS:
        for match in form.pattern.finditer(text):
            quoted = any(start < match.start() < end for start, end in strings)
            if match.start() <= at <= match.end() and not quoted:
                return form, match
    return None
