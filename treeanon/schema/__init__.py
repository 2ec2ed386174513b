"""The schema language: what the user declares about the input, checked as a whole."""

from treeanon.schema.layout import Attribute, Container, Layout, PublishedClass, Shape
from treeanon.schema.model import ClassSpec, InputSpec, Schema
from treeanon.schema.paths import FieldPath, Predicate, RecordPath, Step, parse_path, parse_record

__all__ = [
    "Attribute",
    "ClassSpec",
    "Container",
    "FieldPath",
    "InputSpec",
    "Layout",
    "Predicate",
    "PublishedClass",
    "RecordPath",
    "Schema",
    "Shape",
    "Step",
    "parse_path",
    "parse_record",
]
