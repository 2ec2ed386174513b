"""YAML: documents and streams of them, read safely and written again."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.as_installed import ran
from tests.support.paths import new_path
from tests.support.strategies import make_case, make_records, properties, released
from treeanon.errors import DataError
from treeanon.io.beyond import documents as beyond
from treeanon.io.beyond.look import look_beyond
from treeanon.io.documents.yaml_document import Bare, as_json, documents, yaml_lines

SCHEMA = """version = 1
[input]
objects = "merged"
format = "yaml"
record = "patients[]"
[[class]]
name = "age"
path = "age"
type = "integer"
[[class]]
name = "ward"
path = "visits[].ward"
[[class]]
name = "ill"
path = "visits[].ills[]"
"""
STREAM = SCHEMA.replace('"yaml"\nrecord = "patients[]"', '"yaml-stream"')
PLAIN = """patients:
- age: 34
  visits:
  - ward: A
    ills:
    - Acne
    - Flu
"""


def json_of(text: str | bytes) -> list[Any]:
    data = text if isinstance(text, bytes) else text.encode()
    return [json.loads(as_json(one)) for one in documents(io.BytesIO(data), "it")]  # type: ignore[arg-type]


def records(text: str, schema: str, tmp_path: Path) -> list[Any]:
    path = tmp_path / "in.yaml"
    path.write_text(text)
    return list(ta.read(path, schema).records())


def test_a_document(tmp_path: Path) -> None:
    assert records(PLAIN, SCHEMA, tmp_path) == [
        [["age", "34", []], ["ward", "A", [["ill", "Acne", []], ["ill", "Flu", []]]]]
    ]
    whole = SCHEMA.replace("patients[]", ".")
    assert records("age: 34\n", whole, tmp_path) == [[["age", "34", []]]]
    with pytest.raises(DataError, match="yaml-stream"):
        records("age: 34\n---\nage: 35\n", whole, tmp_path)
    with pytest.raises(DataError, match="there is no patients"):
        records("people: []\n", SCHEMA, tmp_path)


def test_a_stream(tmp_path: Path) -> None:
    text = "%YAML 1.1\n---\nage: 34 # years\n---\n{age: 35}\n...\n---\nage: 36\n"
    assert [record[0][1] for record in records(text, STREAM, tmp_path)] == ["34", "35", "36"]
    with pytest.raises(DataError, match="document 2"):
        records("age: 34\n---\nage: [35, 36]\n", STREAM, tmp_path)
    path = tmp_path / "in.yaml"
    path.write_text("age: 34\n---\nage: [35, 36]\n---\nage: 37\n")
    forest = ta.read(path, STREAM, on_error="skip")
    assert len(forest) == 2 and forest.report is not None and forest.report.skipped == 1


def test_scalars_are_what_json_would_write_or_texts() -> None:
    texts = ["007", "no", "12:30", "2024-01-31", "0x1F", "1_000", ".5", "+1", ".inf"]
    assert json_of(f"[{', '.join(texts)}]") == [texts]
    assert json_of("[-1.50, 1e3, ~, null, 'null', \"1\", True, !!str 5]") == [
        [-1.5, 1000.0, None, None, "null", "1", True, "5"]
    ]
    assert json_of("a:\nb: x\n") == [{"a": None, "b": "x"}]
    assert json_of("a: |\n  x\n  y\nb: >-\n  x\n  y\n1: z\n") == [{"a": "x\ny\n", "b": "x y", "1": "z"}]


def test_aliases_and_merge_keys() -> None:
    text = "base: &b {ward: A, ills: [Flu]}\nmore: &m {ward: B, bed: 1}\n"
    assert json_of(text + "all:\n- <<: *b\n  bed: 7\n- <<: [*b, *m]\n- *b\n")[0]["all"] == [
        {"bed": 7, "ward": "A", "ills": ["Flu"]},
        {"ward": "A", "ills": ["Flu"], "bed": 1},
        {"ward": "A", "ills": ["Flu"]},
    ]


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (LAUGHS, "aliases blow up"),
        ("a: &a [*a]\n", "an alias stands for nothing"),
        ("a: *SECRET\n", "an alias stands for nothing"),
        ("a: !!python/object/apply:os.system ['SECRET']\n", "tag"),
        ("a: !SECRET x\n", "tag"),
        ("a: !!binary SECRET\n", "tag"),
        ("? [SECRET, b]\n: c\n", "a key must be a single value"),
        ("{[SECRET]: c}\n", "a key must be a single value"),
        ("a: [SECRET\n", "is not valid YAML"),
        ("a: 'SECRET\n", "is not valid YAML"),
        ("a: \x01\n", "is not valid YAML"),
        ("<<: SECRET\n", "a merge key"),
        ("[" * 5000, "nested too deeply"),
        ("- " * 5000, "nested too deeply"),
    ],
)
def test_what_is_refused(text: str, what: str) -> None:
    with pytest.raises(DataError, match=what) as caught:
        json_of(text)
    assert "SECRET" not in str(caught.value) and caught.value.__cause__ is None


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(DataError, match="is not valid YAML"):
        json_of(b"a: \xff\xfe\xfa\n")
    assert json_of("a: Grüße\n".encode("utf-16")) == [{"a": "Grüße"}]


KEYS = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda key: key != "<<")
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_another_program_writes(value: Any) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    assert json_of(text) == [value]
    assert json_of(yaml.safe_dump(value, default_flow_style=True)) == [value]


PUBLISHED = st.recursive(
    KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, PUBLISHED, min_size=1, max_size=3))
def test_what_is_written_is_read_by_others(value: Any) -> None:
    text = "\n".join(yaml_lines(value, 0)) + "\n"
    assert yaml.safe_load(text) == value
    assert json_of(text) == [value]
    assert "\n".join(yaml_lines([Bare("1.50"), {"a": Bare("7")}], 2)) == "  - 1.50\n  - a: 7"


def any_release(rnd: Random) -> None:
    case = make_case(rnd, rnd.choice(["json", "ndjson"]))
    forest = released(rnd, ta.Forest.from_records(case.schema, make_records(rnd, case)))
    format = rnd.choice(["yaml", "yaml-stream"])
    target = new_path("out", ".yaml" + rnd.choice(["", ".gz", ".zst"]))
    try:
        ta.write(forest, target, format=format, force=True)
        schema = case.schema.for_format(format)
        again = ta.read(target, schema, format=format)
        assert again == forest
        assert look_beyond(target, schema, again, format=format).counts == {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(beyond, "are_as_written", lambda sources, records: False)
            assert look_beyond(target, schema, again, format=format).counts == {}
    finally:
        target.unlink(missing_ok=True)


test_any_release, test_any_release_thoroughly = properties(any_release, 40, 2000)


@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        ("comments", PLAIN.replace("34", "34 # SECRET")),
        ("fields", PLAIN.replace("34", "34\n  name: SECRET")),
        ("nulls", PLAIN.replace("Flu", "Flu\n    - ~")),
        ("repeats", PLAIN.replace("Flu", "Flu\n    - Flu")),
        ("repeated-keys", PLAIN.replace("34", "34\n  age: 34")),
        ("spellings", PLAIN.replace("Flu", "'Flu'")),
        ("spellings", PLAIN.replace("34", "'34'")),
        ("form", PLAIN.replace("Flu", "&SECRET Flu")),
        ("form", PLAIN.replace("Flu", "!!str Flu")),
        ("order", PLAIN.replace("- Acne\n    - Flu", "- Flu\n    - Acne")),
        ("white-space", PLAIN.replace("age: ", "age:  ")),
        ("white-space", PLAIN.replace("    ills:", "\n    ills:")),
    ],
)
def test_verify_sees_what_is_not_counted(kind: str, odd: str, tmp_path: Path) -> None:
    def item(text: str) -> str:
        return text.removeprefix("patients:\n")

    def document(text: str) -> str:
        return "---\n" + item(text)[2:].replace("\n  ", "\n")

    path = tmp_path / "out.yaml"
    people = [PLAIN, PLAIN, PLAIN, odd, PLAIN]
    for schema, head, one in ((SCHEMA, "patients:\n", item), (STREAM, "", document)):
        path.write_text(head + "".join(map(one, people)))
        assert kind in {found.kind for found in ta.verify(path, schema=schema, k=2).beyond}, path.read_text()
        path.write_text(head + "".join(one(PLAIN) for _ in people))
        assert ta.verify(path, schema=schema, k=2).holds


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    people = [{"age": 30 + n % 4, "visits": [{"ward": "AB"[n % 2], "ills": ["Flu"]}]} for n in range(40)]
    Path("people.yaml").write_text(yaml.safe_dump({"patients": people}, sort_keys=False))
    Path("stream.yml.gz").write_bytes(gzip.compress(yaml.safe_dump_all(people, sort_keys=False).encode()))
    for name, format in (("people.yaml", "yaml"), ("stream.yml.gz", "yaml-stream")):
        ran(["init", name, "-o", "s.toml", "--force"], monkeypatch, capsys, 0)
        assert f'format = "{format}"' in Path("s.toml").read_text()
        ran(["convert", name, "-s", "s.toml", "-o", "out.ndjson", "--force"], monkeypatch, capsys, 0)
        ran(["anonymize", name, "-s", "s.toml", "-k", 5, "-o", "out.yaml", "--force"], monkeypatch, capsys, 0)
        out = Path("out.yaml").read_text()
        assert out.startswith("---\n" if format == "yaml-stream" else "patients:\n- ")
        ran(["verify", "out.yaml", "-s", "s.toml", "-k", 5], monkeypatch, capsys, 0)
    Path("odd.bin").write_text("hello\nworld\n")
    _, _, err = ran(["init", "odd.bin", "-o", "x.toml"], monkeypatch, capsys, 3)
    assert "name its format with --from: json, ndjson, xml" in err
