"""Forests: the trees of persons as columns, and operations on them."""

from treeanon.forest.build import ForestBuilder
from treeanon.forest.classes import Classes
from treeanon.forest.forest import Forest
from treeanon.forest.report import Dropped, ReadReport
from treeanon.forest.tables import Batch, BatchWriter, ContainerRows, TextCodes

__all__ = [
    "Batch",
    "BatchWriter",
    "Classes",
    "ContainerRows",
    "Dropped",
    "Forest",
    "ForestBuilder",
    "ReadReport",
    "TextCodes",
]
