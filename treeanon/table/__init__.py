"""Flat tables: one row a person (or several), columns of codes in the order of their hierarchies."""

from treeanon.table.histograms import Groups, Histogram
from treeanon.table.table import Column, Table

__all__ = ["Column", "Groups", "Histogram", "Table"]
