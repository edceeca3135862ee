"""Does an answer speak only of what the tools returned?"""

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
"""The words of grounding with the paper's settings, for `--with bylaw.grounding:vocabulary`."""
