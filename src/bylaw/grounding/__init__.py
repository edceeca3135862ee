"""Grounding: checking that an answer names only things that the tools returned."""

from bylaw.grounding.entities.claims import REFUSAL
from bylaw.grounding.entities.extraction import CODE, Entity, EntityClass
from bylaw.grounding.predicate import Grounding
from bylaw.grounding.report import GroundingReport, GroundingVerdict

__all__ = [
    "CODE",
    "REFUSAL",
    "Entity",
    "EntityClass",
    "Grounding",
    "GroundingReport",
    "GroundingVerdict",
    "vocabulary",
]

vocabulary = Grounding().vocabulary()
"""The vocabulary of grounding with the paper's settings: `--with bylaw.grounding:vocabulary`."""
