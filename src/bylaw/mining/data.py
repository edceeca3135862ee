"""Rules about data: where arguments come from, what lookups show, bounds, totals and times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bylaw.mining.arguments import arguments, forbidden_combinations
from bylaw.mining.candidate import RuleCandidate
from bylaw.mining.facts import DataFacts
from bylaw.mining.labels import RunLabels
from bylaw.mining.lookups import agreements, states
from bylaw.mining.origins import confirmed, done_before, joined, later
from bylaw.mining.runs import Runs
from bylaw.mining.sites import Sites
from bylaw.mining.times import deadlines, rates
from bylaw.mining.totals import per_key, totals

FAMILIES: Final = (
    *(joined, later, done_before, confirmed, states, agreements),
    *(arguments, forbidden_combinations, totals, per_key, rates, deadlines),
)
"""The families of candidates, each a function of the facts."""


def candidates(runs: Runs, sites: Sites, labels: RunLabels) -> Iterator[RuleCandidate]:
    """The rules about data that few enough good runs break."""
    facts = DataFacts(runs, sites, labels)
    for family in FAMILIES:
        for candidate in family(facts):
            if labels.acceptable(candidate.violated, candidate.active):
                yield candidate
