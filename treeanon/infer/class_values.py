"""The values of one class: those in an input, whatever the hierarchies of the schema know, or those of a list."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treeanon.errors import DataError, UsageError
from treeanon.hierarchy import Flat
from treeanon.io import read
from treeanon.io.sources import find_sources
from treeanon.schema import ClassSpec, Schema


def class_values(source: str, schema: str, class_name: str) -> tuple[ClassSpec, dict[str, int]]:
    """The class, and how often each of its values occurs, where equal siblings count once.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "p.ndjson").write_text('{"sex": "F"}\\n{"sex": "M"}\\n{"sex": "F"}')
    >>> declared = 'version = 1\\ninput.format = "ndjson"\\nclass = [{name = "sex", path = "sex"}]'
    >>> _ = (folder / "s.toml").write_text(declared)
    >>> class_values(str(folder / "p.ndjson"), str(folder / "s.toml"), "sex")[1]
    {'F': 2, 'M': 1}
    """
    loaded = Schema.load(schema)
    names = [spec.name for spec in loaded.classes]
    if class_name not in names:
        raise UsageError(f"--class: the schema has no class {class_name!r}; there is: {', '.join(names)}")
    chosen = names.index(class_name)
    classes = [replace(spec, hierarchy=Flat(), hierarchy_source=None) for spec in loaded.classes]
    if not classes[chosen].published:
        classes[chosen] = replace(classes[chosen], role="quasi")
    forest = read(source, replace(loaded, classes=tuple(classes)))
    number = forest.classes.index(class_name)
    first, stop = int(forest.classes.first[number]), int(forest.classes.first[number + 1])
    times = np.bincount(forest.label, minlength=stop)[first:stop]
    found = {forest.classes.texts[first + at]: int(times[at]) for at in np.flatnonzero(times).tolist()}
    return loaded.classes[chosen], found


def listed_values(name: str) -> list[str]:
    """The lines of a file of values, without blanks around them; empty ones are left out."""
    item = find_sources(name, ()).items[0]
    with item.open() as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        line = data.count(b"\n", 0, broken.start) + 1
        raise DataError("is not UTF-8", source=item.name, place=f"line {line}") from None
    return [line.strip() for line in text.split("\n") if line.strip()]
