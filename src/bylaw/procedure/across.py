"""Rules across runs: what they may read, and which runs belong together.

A constraint that says `across: labels.customer` judges everything that happened under one value of
the label, over all runs. A run's answer, its metrics and its other labels are those of one run, so
such a rule cannot read them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.formula import Formula
from bylaw.logic.node import Node
from bylaw.logic.walk import everything, sees_answer
from bylaw.names import FINAL_ANSWER
from bylaw.values import Json

LABELS: Final = "labels."
"""The prefix of a label in a procedure file."""

_OF_ONE_RUN: Final = (
    (t.Answer, "read the answer: each run has its own"),
    (f.FromMetrics, "read metrics: each run has its own"),
    (f.OpenPredicate, "call a registered predicate: it is given the trace of one run"),
    (f.Extracted, "call a registered function: it is given the trace of one run"),
)
"""The parts of formulas that concern one run."""


def across_problem(formula: Formula, label: str) -> tuple[str, str] | None:
    """The reason why a rule cannot judge runs together by a label, and the remedy."""
    if sees_answer(formula):
        message = f"a rule across runs cannot name '{FINAL_ANSWER}': each run has its own answer"
        return message, "Write another rule about the answer, without `across`."
    labels_read = 0
    own_label_read = 0
    for part in everything(formula):
        if subject := next((name for kind, name in _OF_ONE_RUN if isinstance(part, kind)), None):
            message = f"a rule across runs cannot {subject}"
            return message, "Write another rule, without `across`."
        labels_read += isinstance(part, t.Labels)
        own_label_read += _reads(part, label)
    if labels_read > own_label_read:
        message = f"a rule across '{LABELS}{label}' cannot read other labels: runs may differ there"
        return message, f"Read {LABELS}{label}, or write another rule, without `across`."
    return None


def _reads(part: Node, label: str) -> bool:
    """Is it `labels.x` for this label?"""
    return (
        isinstance(part, t.At)
        and isinstance(part.base, t.Labels)
        and part.key == t.Literal.computed(label)
    )


def across_value(labels: Mapping[str, Json], label: str) -> str | None:
    """The value by which a run belongs to others; None if it has none that can be used.

    It is a text. `7` and `"7"` are one value, and so are texts that Unicode regards as equal:
    somebody who writes a name in another way does not begin anew.
    """
    value = labels.get(label)
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is int:
        return str(value)
    if type(value) is not str or not value.strip():
        return None
    return value if value.isascii() else unicodedata.normalize("NFC", value)
