"""The word and the colour of each outcome, in a terminal."""

from __future__ import annotations

from typing import Final

from bylaw.semantics.verdict import Outcome

WORDS: Final = {
    Outcome.SATISFIED: ("pass", "green"),
    Outcome.VACUOUS: ("vacuous", "grey"),
    Outcome.VIOLATED: ("VIOLATED", "red"),
    Outcome.ERROR: ("ERROR", "yellow"),
}
