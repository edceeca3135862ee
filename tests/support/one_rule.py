"""A procedure of one rule, and a guard of it."""

from __future__ import annotations

from typing import Any

from bylaw import Guard, Procedure, Vocabulary


def procedure(rule: str, severity: str = "SOFT_BLOCK", **more: Any) -> Procedure:
    vocabulary = more.pop("vocabulary", Vocabulary())
    constraint = {"name": "rule", "rule": rule, "severity": severity}
    stated = {"finish": "free", "constraints": [constraint], **more}
    return Procedure.from_dict(stated, vocabulary=vocabulary)


def small_payments(rule: str = "G(pay -> args.amount < 10)", **options: Any) -> Guard:
    options = {"clock": lambda: 0.0, **options}
    return Guard(procedure(rule), **options)
