"""What the problems are: one builder per published equation. Nothing here solves anything."""

from formulations.catalogue import CATALOGUE, Entry, Origin, ProblemClass
from formulations.data import GramData, TrainingData

__all__ = ["CATALOGUE", "Entry", "GramData", "Origin", "ProblemClass", "TrainingData"]
