"""Is an answer right, and is it grounded as well? The paper's four categories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

Category: TypeAlias = Literal["CG", "CU", "IG", "IU"]
"""Correct or incorrect, grounded or ungrounded."""


def is_correct(answer: str, truth: Iterable[str]) -> bool:
    """Does the answer contain everything that a right answer names, whatever the letter case?"""
    return all(each.casefold() in answer.casefold() for each in truth)


def category(*, correct: bool, grounded: bool) -> Category:
    """The category of an answer; `grounded` is the paper's yes or no."""
    if correct:
        return "CG" if grounded else "CU"
    return "IG" if grounded else "IU"
