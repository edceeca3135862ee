"""The subject of lint: a procedure, provers for its rules, and the sample traces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bylaw.procedure.lint.prover import Prover
from bylaw.procedure.lint.samples import Samples
from bylaw.procedure.procedure import Procedure
from bylaw.semantics.machine.search import MAX_MOVES
from bylaw.trace.trace import Trace

QUICK_MOVES: Final = 1_000
"""The budget of questions for which a few calls suffice, such as whether a condition can be met."""


class LintSubject:
    """A procedure under examination, with what the checks need to know about it."""

    def __init__(
        self, procedure: Procedure, traces: Iterable[Trace] = (), max_moves: int = MAX_MOVES
    ) -> None:
        self.procedure: Final = procedure
        # Rules are compared with each other only if they see the same events.
        self.constraints: Final = [
            constraint
            for constraint in procedure.constraints
            if procedure.events_of(constraint) == procedure.events
        ]
        reading = procedure.order, procedure.events, procedure.vocabulary
        self.prover: Final = Prover(*reading, max_moves)
        self.quick_prover: Final = Prover(*reading, min(QUICK_MOVES, max_moves))
        self.samples: Final = Samples(procedure, traces)
