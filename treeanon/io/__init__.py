"""Reading and writing: one module per format behind one registry."""

from treeanon.io.reading import input_format, read
from treeanon.io.registry import FORMATS, format_named, format_of_name
from treeanon.io.writing import output_format, write

__all__ = ["FORMATS", "format_named", "format_of_name", "input_format", "output_format", "read", "write"]
