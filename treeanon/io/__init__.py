"""Reading and writing: one module per format; `treeanon.formats` is their table."""

from treeanon.io.interface import format_of_name
from treeanon.io.reading import input_format, read
from treeanon.io.writing import output_format, write

__all__ = ["format_of_name", "input_format", "output_format", "read", "write"]
