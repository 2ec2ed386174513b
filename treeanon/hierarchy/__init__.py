"""Generalization hierarchies: the checked tree, builders for common kinds of values, files, a drawing."""

from __future__ import annotations

from treeanon.builders import BUILDERS
from treeanon.hierarchy.builders import Builder, Flat, Groups, parse_builder, with_files
from treeanon.hierarchy.codes import Atc, Icd10, Prefix
from treeanon.hierarchy.concepts import Terminology
from treeanon.hierarchy.dates import Ages, Dates
from treeanon.hierarchy.files import (
    dump_csv,
    dump_hierarchy,
    dump_json,
    load_csv,
    load_json,
    read_hierarchy,
    render,
    write_hierarchy,
)
from treeanon.hierarchy.intervals import Intervals
from treeanon.hierarchy.levels import Levels
from treeanon.hierarchy.links import ROOT
from treeanon.hierarchy.model import Codes, Hierarchy
from treeanon.hierarchy.terminology import read_terminology

__all__ = [
    "BUILDERS",
    "ROOT",
    "Ages",
    "Atc",
    "Builder",
    "Codes",
    "Dates",
    "Flat",
    "Groups",
    "Hierarchy",
    "Icd10",
    "Intervals",
    "Levels",
    "Prefix",
    "Terminology",
    "dump_csv",
    "dump_hierarchy",
    "dump_json",
    "load_csv",
    "load_json",
    "parse_builder",
    "read_hierarchy",
    "read_terminology",
    "render",
    "with_files",
    "write_hierarchy",
]
