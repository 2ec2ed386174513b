"""Published columns in the types that they had in a frame: what is published as it is keeps its type, too.

Only the type comes from the input: a column is converted where every published text is that of a value of the type, and
stays one of texts where any is not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treeanon.io.columns.arrow_stream import DictSource, is_text
from treeanon.io.columns.python_values import value_text
from treeanon.io.columns.texts import Unreadable, coded

if TYPE_CHECKING:
    import pyarrow as pa


def input_types(frame: Any, names: Collection[str]) -> dict[str, pa.DataType]:
    """Return the types of these columns of a frame, or of rows given as dicts, where it has them.

    >>> import pyarrow as pa
    >>> input_types(pa.table({"smokes": [True], "age": [34]}), ["smokes", "town"])
    {'smokes': DataType(bool)}
    """
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        schema = frame.schema
    elif isinstance(frame, Sequence):
        known = {name: () for row in frame for name in row if name in names}
        schema = DictSource(frame).read("rows", list(known)).schema
    elif hasattr(frame, "__arrow_c_stream__"):
        schema = pa.RecordBatchReader.from_stream(frame).schema
    else:
        return {}
    return {name: schema.field(name).type for name in names if schema.get_field_index(name) >= 0}


def in_input_types(made: pa.Table, kinds: Mapping[str, pa.DataType]) -> pa.Table:
    """Return a table with columns in these types, as far as their values allow.

    >>> import pyarrow as pa
    >>> in_input_types(pa.table({"smokes": ["true", None], "age": ["34", "30-39"]}), {"smokes": pa.bool_()}).to_pylist()
    [{'smokes': True, 'age': '34'}, {'smokes': None, 'age': '30-39'}]
    """
    for name, kind in kinds.items():
        place = made.schema.get_field_index(name)
        if place >= 0 and (found := _converted(made.column(place), kind)) is not None:
            made = made.set_column(place, name, found)
    return made


def _converted(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array | None:
    """Return a column in another type; None where a value would not be read as the text that it has now."""
    import pyarrow as pa
    import pyarrow.types as of

    if column.type == kind or is_text(kind) or of.is_nested(kind) or of.is_null(kind) or of.is_dictionary(kind):
        return None
    encoded = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.cast(pa.string())
    try:
        values = texts.cast(kind)
        codes, again = coded(pa.chunked_array([values]))
    except (pa.ArrowException, Unreadable, ValueError):
        return None
    said = [again[code] if code >= 0 else None for code in codes.tolist()]
    return values.take(encoded.indices) if said == texts.to_pylist() else None


def nested_in_input_types(rows: pa.StructArray, like: pa.Schema, paths: Collection[tuple[str, ...]]) -> pa.StructArray:
    """Return nested rows of texts, leaves at these paths in the types of another schema if all values allow it.

    >>> import pyarrow as pa
    >>> rows = pa.array([{"visits": [{"paid": "true"}]}])
    >>> like = pa.table({"visits": [[{"paid": False}]]}).schema
    >>> nested_in_input_types(rows, like, [("visits", "paid")]).to_pylist()
    [{'visits': [{'paid': True}]}]
    """
    import pyarrow as pa

    try:
        wanted = _wanted(rows.type, pa.struct(list(like)), (), frozenset(paths))
        if wanted == rows.type:
            return rows
        found = rows.cast(wanted)
    except (pa.ArrowException, ValueError):
        return rows
    both = zip(found.to_pylist(), rows.to_pylist(), strict=True)
    return found if all(_said(new) == old for new, old in both) else rows


def _wanted(
    made: pa.DataType, like: pa.DataType, path: tuple[str, ...], paths: frozenset[tuple[str, ...]]
) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as of

    if of.is_struct(made):
        if not of.is_struct(like):
            return made
        theirs = {field.name: field.type for field in like}
        fields = [
            pa.field(f.name, _wanted(f.type, theirs[f.name], (*path, f.name), paths) if f.name in theirs else f.type)
            for f in made
        ]
        return pa.struct(fields)
    if of.is_list(made):
        inner = like.value_type if of.is_nested(like) and hasattr(like, "value_type") else None
        return made if inner is None else pa.list_(_wanted(made.value_type, inner, path, paths))
    is_plain = not (is_text(like) or of.is_nested(like) or of.is_null(like) or of.is_dictionary(like))
    return like if is_plain and path in paths else made


def _said(value: Any) -> Any:
    """Return a nested value with texts for all that it holds."""
    if isinstance(value, dict):
        return {name: _said(item) for name, item in value.items()}
    if isinstance(value, list):
        return list(map(_said, value))
    return value if value is None or isinstance(value, str) else value_text(value)
