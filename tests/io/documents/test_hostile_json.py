"""Broken and hostile JSON, NDJSON and trees files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import treeanon as ta
from tests.support.hostile import DEEP_JSON, JSON, NDJSON, NUMBER, WORD, a_schema, no_canary, put, refused, trees
from tests.support.steps import check_linear
from treeanon.io.documents.row_texts import compile_rows, joined
from treeanon.schema.paths import MOST_STEPS

PERSON = f'{{"age":"{WORD}","n":{NUMBER},"visits":[{{"hospital":"h","dx":["a","\\u00e9"]}}],"z":{{"{WORD}":[1,null]}}}}'
DOCUMENT = f'{{"q":"{WORD}","a":{{"z":[],"patients":[{PERSON},{{"age":1}}],"y":true}}}}'
DEEP = "[" * 5000 + "]" * 5000


def test_truncated_anywhere(tmp_path: Path) -> None:
    for cut in range(len(PERSON)):
        refused(put(tmp_path / "p.ndjson", PERSON[:cut]), NDJSON)
    for cut in range(len(DOCUMENT)):
        refused(put(tmp_path / "p.json", DOCUMENT[:cut]), DEEP_JSON)
    assert len(trees(put(tmp_path / "p.json", DOCUMENT), DEEP_JSON)) == 2


LINES: dict[str, tuple[str | bytes, str]] = {
    "blank line": ("\n", "is blank"),
    "blank line with CR": ("\r\n", "is blank"),
    "NaN": (f'{{"n":NaN,"age":"{WORD}"}}', "NaN and Infinity are no JSON"),
    "Infinity": (f'{{"age":"{WORD}","n":-Infinity}}', "not valid JSON at character 27"),
    "float out of range": ('{"n":1e400}', "not valid JSON"),
    "5000 digits": (f'{{"n":{NUMBER * 625}}}', "not valid JSON"),
    "5000 digits dropped": (f'{{"z":{NUMBER * 625}}}', "not valid JSON"),
    "lone surrogate": (f'{{"age":"{WORD}\\ud800"}}', "not valid JSON"),
    "lone surrogate as key": (f'{{"{WORD}\\udc00":1}}', "not valid JSON"),
    "NUL byte": (f'{{"age":"{WORD}\0"}}', "NUL byte at byte 20"),
    "NUL escape": (f'{{"age":"{WORD}\\u0000"}}', "age: a value must not hold a NUL"),
    "NUL escape in an array": (
        f'{{"visits":{{"dx":["\\u0000{NUMBER}"]}}}}',
        "visits[].dx[]: a value must not hold a NUL",
    ),
    "invalid UTF-8": (f'{{"age":"{WORD}'.encode() + b'\xff"}', "not UTF-8 at byte 20"),
    "invalid UTF-8 dropped": (b'{"z":["\xc3("]}', "not UTF-8 at byte 8"),
    "deep, named": (f'{{"age":{DEEP}}}', "not valid JSON"),
    "deep, dropped": (f'{{"z":{DEEP}}}', "not valid JSON"),
    "deep, never closed": ('{"z":' + "[" * 500_000, "not valid JSON"),
    "object for a value": (f'{{"age":{{"{WORD}":{NUMBER}}}}}', "age: an object where the schema expects a value"),
    "array for a value": (f'{{"age":["{WORD}",{NUMBER}]}}', "age[]"),
    "array of objects for a value": (f'{{"age":[{{"{WORD}":1}}]}}', "age: an array where the schema expects a value"),
    "array for a wrapper": (f'{{"w":[{{"x":"{WORD}"}}]}}', "w[]"),
    "scalar for an object": (f'{{"w":"{WORD}"}}', "w: an object is expected"),
    "number for an object": (f'{{"w":{NUMBER}}}', "w: an object is expected"),
    "scalar for an item": (f'{{"visits":["{WORD}"]}}', "visits[]: an object is expected"),
    "object for an item's value": (f'{{"visits":[{{"dx":[{{"{WORD}":1}}]}}]}}', "visits[].dx[]: an object where"),
    "text for a record": (f'"{WORD}"', "an object is expected"),
    "number for a record": (NUMBER, "an object is expected"),
    "array for a record": (f'["{WORD}"]', "an object is expected"),
    "trailing comma": (f'{{"age":"{WORD}",}}', "not valid JSON"),
    "comment": (f'{{"age":1 /* {WORD} */}}', "not valid JSON"),
    "two records in a line": (f'{{"age":1}}{{"age":"{WORD}"}}', "not valid JSON at character 10"),
    "single quotes": (f"{{'age':'{WORD}'}}", "not valid JSON"),
    "raw control character": (f'{{"age":"{WORD}\x01"}}', "not valid JSON"),
    "bare word": (f'{{"age":{WORD}}}', "not valid JSON"),
    "reserved name, text": (f'{{"treeanon:moved":"{WORD}"}}', "treeanon:moved: the reserved name must hold"),
    "reserved name, class": (f'{{"treeanon:moved":{{"{WORD}":[]}}}}', "treeanon:moved: nodes under"),
    "reserved name, node": (f'{{"treeanon:moved":{{"/":[["{WORD}","x",[]]]}}}}', "names a class"),
    "reserved name, value": (f'{{"treeanon:moved":{{"/":[["age",{NUMBER},[]]]}}}}', "a node must be"),
}


@pytest.mark.parametrize("case", LINES, ids=str)
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_broken_line(case: str, ends: str, tmp_path: Path) -> None:
    text, words = LINES[case]
    good, broken = f'{{"age":"7"}}{ends}'.encode(), text.encode() if isinstance(text, str) else text
    path = put(tmp_path / "p.ndjson", good + broken.rstrip(b"\r\n") + ends.encode() + good)
    message = refused(path, NDJSON)
    assert "p.ndjson, line 2" in message and words in message
    forest = ta.read(path, NDJSON, on_error="skip")
    assert forest.report is not None and forest.report.skipped == 1
    assert list(forest.records()) == [[["age", "7", []]]] * 2
    no_canary(repr(forest.classes.texts), repr(forest.report.as_dict()))


@pytest.mark.parametrize("case", [c for c in LINES if "blank" not in c and "two records" not in c])
def test_broken_item_of_an_array(case: str, tmp_path: Path) -> None:
    text = LINES[case][0]
    broken = text.encode() if isinstance(text, str) else text
    path = put(tmp_path / "p.json", b'{"patients":[{"age":"7"},' + broken + b',{"age":"7"}]}')
    schema = a_schema("json", "patients[]", ("age", "age"), ("n", "n"), ("dx", "visits[].dx[]"), ("w", "w.x"))
    message = refused(path, schema)
    assert "p.json, record 2" in message or "p.json: " in message
    if "never closed" in case:  # no one can tell where the next item begins
        refused(path, schema, on_error="skip")
        return
    forest = ta.read(path, schema, on_error="skip")
    assert forest.report is not None and forest.report.skipped == 1
    assert list(forest.records()) == [[["age", "7", []]]] * 2
    no_canary(repr(forest.classes.texts), repr(forest.report.as_dict()))


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("p.ndjson", b"", "holds no record"),
        ("p.ndjson", b"\n", "line 1: is blank"),
        ("p.ndjson", b'{"age":1}\n\n', "line 2: is blank"),
        ("p.ndjson", b'\xef\xbb\xbf{"age":1}', "begins with a UTF-8 byte order mark"),
        ("p.ndjson", '{"age":1}'.encode("utf-16"), "begins with a UTF-16 byte order mark"),
        ("p.ndjson", '{"age":1}'.encode("utf-16-be"), "NUL byte"),
        ("p.ndjson", f'{{"age":1}}\r{{"age":"{WORD}"}}'.encode(), "line 1: is not valid JSON"),
        ("p.json", b"", "is empty"),
        ("p.json", b" \n\t", "is empty"),
        ("p.json", b'\xef\xbb\xbf{"patients":[{}]}', "begins with a UTF-8 byte order mark"),
        ("p.json", '{"patients":[{}]}'.encode("utf-16"), "begins with a UTF-16 byte order mark"),
        ("p.json", f'{{"people":[{{"age":"{WORD}"}}]}}'.encode(), "there is no patients; check the record path"),
        ("p.json", f'{{"patients":{{"age":"{WORD}"}}}}'.encode(), "an array of records is expected"),
        ("p.json", f'{{"patients":"{WORD}"}}'.encode(), "an array of records is expected"),
        ("p.json", b'{"patients":[]}', "holds no record at patients"),
        ("p.json", b'{"patients":null}', "an array of records is expected"),
        ("p.json", f'["{WORD}"]'.encode(), "an object is expected on the path to the records"),
        ("p.json", f'{{"patients":[{{"age":1}}]}} "{WORD}"'.encode(), "around the records: is not valid JSON"),
        ("p.json", f'{{"patients":[{{"age":1}}],}}{WORD}'.encode(), "around the records: is not valid JSON"),
        ("p.json", f'{{"z":"{WORD}\xff","patients":[{{"age":1}}]}}'.encode("latin-1"), "is not UTF-8"),
        ("p.json", b'{"patients":[{"age":1},]}', "not valid JSON in the array"),
        ("p.json", f'{{"patients":[{{"age":1}} /* {WORD} */]}}'.encode(), "not valid JSON in the array"),
        ("p.json", f'{{"patients":[{{"age":1}} {{"age":"{WORD}"}}]}}'.encode(), "not valid JSON in the array"),
        ("p.json", f'{{"patients":[{{"age":1}}],"patients":{{"{WORD}":2}}}}'.encode(), "occurs twice"),
        ("p.json", f'{{"patients":[{{"age":1}}],"z":{DEEP}}}'.encode(), "around the records: is not valid JSON"),
    ],
)
def test_broken_document(name: str, data: bytes, words: str, tmp_path: Path) -> None:
    assert words in refused(put(tmp_path / name, data), NDJSON if name == "p.ndjson" else JSON)


@pytest.mark.parametrize("second", ['{"x":1}', f'"{WORD}"', f'["{WORD}"]', NUMBER, "null"])
def test_way_to_the_records_twice(second: str, tmp_path: Path) -> None:
    refused(put(tmp_path / "p.json", f'{{"a":{{"patients":[{{"age":1}}]}},"a":{second}}}'), DEEP_JSON)


@pytest.mark.parametrize("key", [b"x\xff", b"CANARY\\ud800"])
def test_broken_key_before_the_records_names_the_file(key: bytes, tmp_path: Path) -> None:
    refused(put(tmp_path / "p.json", b'{"' + key + b'":1,"patients":[{"age":1}]}'), JSON)


NUMBERS = {
    "0": "0", "-0.0": "0", "1.0": "1", "1.50": "1.5", "1E2": "100", "1e300": "1e300", "1e-7": "1e-7",
    "-1.0E-7": "-1e-7", "0.00001": "1e-5", "1e-400": "0", "1e22": "1e22",
    "18446744073709551615.0": "1.8446744073709552e19",
    **{str(n): str(n) for n in (2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64, 2**64 + 1, 10**40, 10**300)},
    **{str(-n): str(-n) for n in (2**53 + 1, 2**63, 2**63 + 1, 2**64, 10**40 + 1)},
}  # fmt: skip


@pytest.mark.parametrize("odd", ["", '"\\u0061":[],'], ids=["quick", "slow"])
def test_numbers_exactly(odd: str, tmp_path: Path) -> None:
    """By the kernel, and by the slow reader, which an escaped key calls; alone, and next to each other."""
    text = "".join(f'{{{odd}"n":{n}}}\n' for n in NUMBERS)
    assert trees(put(tmp_path / "p.ndjson", text), NDJSON) == [[["n", n, []]] for n in NUMBERS.values()]
    text = f'{{{odd}"visits":[{{"dx":[{",".join(NUMBERS)}]}}]}}'
    (record,) = trees(put(tmp_path / "p.ndjson", text), NDJSON)
    assert {value for _, value, _ in record} == set(NUMBERS.values())


def test_minus_zero_is_zero(tmp_path: Path) -> None:
    text = '{"n":-0}\n{"n":0}\n{"n":-0.0}\n{"\\u0061":1,"n":-0}\n'
    assert trees(put(tmp_path / "p.ndjson", text), NDJSON) == [[["n", "0", []]]] * 4


DUPLICATES = {
    "named": ('{"age":1,"age":2}', "2"),
    "escaped": ('{"age":1,"\\u0061ge":2}', "2"),
    "dropped": ('{"age":2,"z":1,"z":2}', "2"),
    "escaped, dropped": ('{"age":2,"b":1,"\\u0062":2}', "2"),
    "in a dropped array": ('{"age":2,"z":[[{"q":1,"q":1}]]}', "2"),
    "behind 300 keys": ('{"age":2,"z":{' + ",".join(f'"k{i}":1' for i in range(300)) + ',"k7":2}}', "2"),
    "in a moved node": ('{"age":2,"treeanon:moved":{"/":[],"/":[]}}', "2"),
    "1 MB keys": ('{"age":2,"z":{"' + "k" * 2**20 + '":1,"' + "k" * 2**20 + '":2}}', "2"),
}


@pytest.mark.parametrize("case", DUPLICATES)
def test_repeated_keys(case: str, tmp_path: Path) -> None:
    text, value = DUPLICATES[case]
    path = put(tmp_path / "p.ndjson", '{"age":5}\n' + text)
    forest = ta.read(path, NDJSON)
    assert forest.report is not None and forest.report.duplicate_keys == 1
    assert list(forest.records())[1] == [["age", value, []]]
    assert "line 2: an object has the same key twice" in refused(path, NDJSON, strict=True)
    path = put(tmp_path / "p.json", f'{{"patients":[{{"age":5}},{text}]}}')
    assert "record 2: an object has the same key twice" in refused(path, JSON, strict=True)
    path = put(tmp_path / "q.json", f'{{"z":{text},"patients":[{{"age":5}}]}}')
    assert "around the records has the same key twice" in refused(path, JSON, strict=True)


def test_repeated_key_beside_deep_nesting(tmp_path: Path) -> None:
    refused(put(tmp_path / "p.ndjson", f'{{"n":1,"n":2,"z":{"[" * 1000}{"]" * 1000}}}'), NDJSON, strict=True)


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("{}", []),
        ("null", []),
        ('{"age":{},"n":[],"w":[],"visits":{}}', []),
        ('{"age":"","n":null,"w":"","visits":""}', []),
        ('{"visits":[null,{},"",{"hospital":"a"}]}', [["hospital", "a", []]]),
        ('{"visits":{"hospital":"a","dx":"b"}}', [["hospital", "a", [["dx", "b", []]]]]),
        ('{"visits":[{"dx":[null,"","b"]}]}', [["dx", "b", []]]),
        ('{"age":true,"w":{"x":false}}', [["age", "true", []], ["w", "false", []]]),
        ('{"age":"a\u2028\x85\\n"}', [["age", "a\u2028\x85\n", []]]),
    ],
)
def test_odd_but_legal(text: str, record: list[object], tmp_path: Path) -> None:
    assert trees(put(tmp_path / "p.ndjson", text), NDJSON) == [record]


def test_many_keys_that_may_be_data_are_folded(tmp_path: Path) -> None:
    lines = [f'{{"age":1,"{WORD}{i}":2,"w":{{"{NUMBER}{i}":1}},"z":{{"{WORD}{i}":{{}}}}}}' for i in range(1000)]
    forest = ta.read(put(tmp_path / "p.ndjson", "\n".join(lines)), NDJSON)
    assert forest.report is not None
    assert forest.report.dropped.paths() == {"*": 2000, "w.*": 1000}
    text = json.dumps({f"{WORD}{i}": 1 for i in range(100_000)})
    forest = ta.read(put(tmp_path / "p.ndjson", text), NDJSON)
    assert forest.report is not None and forest.report.dropped.paths() == {"*": 100_000}
    forest = ta.read(put(tmp_path / "p.json", f'{{"z":{text},"patients":[{{"age":1,"z":{text}}}]}}'), JSON)
    assert forest.report is not None
    assert forest.report.dropped.paths() == {"(outside records) z": 1, "z": 1}


@pytest.mark.parametrize("odd", ["", "\\u0061"], ids=["quick", "slow"])
def test_very_long_keys_are_no_names(odd: str, tmp_path: Path) -> None:
    forest = ta.read(put(tmp_path / "p.ndjson", f'{{"age":1,"{odd}{WORD * 100_000}":2}}'), NDJSON)
    assert forest.report is not None and len(repr(forest.report.as_dict())) < 10_000


def test_too_long_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeanon.io.documents.json_document.MAX_RECORD_BYTES", 1000)
    monkeypatch.setattr("treeanon.io.documents.json_document._BLOCK", 100)
    message = refused(put(tmp_path / "p.ndjson", f'{{"age":1}}\n{{"age":"{WORD * 1000}"}}\n'), NDJSON)
    assert "a line is longer" in message and "line 2" in message


@pytest.mark.parametrize("odd", ["", '"\\u0061":1,'], ids=["quick", "slow"])
def test_siblings_take_linear_work(odd: str, tmp_path: Path) -> None:
    def reading(count: int) -> Callable[[], None]:
        items = ",".join(f'{{"hospital":"h{i}","dx":["a{i}","b"]}}' for i in range(count))
        path = put(tmp_path / f"p-{count}.ndjson", f'{{{odd}"visits":[{items}]}}')

        def read() -> None:
            assert ta.read(path, NDJSON).nodes == 3 * count

        return read

    reading(100_000)()
    check_linear(reading, 1000)


TREES = a_schema("ndjson", None, ("age", "age"), ("hospital", "visits[].hospital"), ("dx", "visits[].dx[]"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f'{{"tree":[["{WORD}","{WORD}",[]]]}}', "a class that the schema does not publish"),
        (f'{{"tree":[["dx","{WORD}",[["hospital","{WORD}",[]]]]]}}', "not above its own"),
        (f'{{"tree":[["dx","{WORD}",[["dx","{NUMBER}",[]]]]]}}', "not above its own"),
        (f'{{"tree":{{"{WORD}":1}}}}', "must be an array of"),
        (f'{{"tree":"{WORD}"}}', "must be an array of"),
        (f'{{"tree":[["age",{NUMBER},[]]]}}', "with texts for class and value"),
        (f'{{"tree":[["age","{WORD}"]]}}', "a node must be"),
        (f'{{"tree":[["age","{WORD}",null]]}}', "must be an array of"),
        (f'{{"tree":["{WORD}"]}}', "a node must be"),
        ('{"tree":[["age","",[]]]}', "must not be empty"),
        (f'{{"tree":[["age","{WORD}\\u0000",[]]]}}', "NUL"),
        (f'{{"tree":[["*","{WORD}",[]]]}}', "has one value"),
        (f'{{"tree":[["*","*",[["age","{WORD}",[]]]]]}}', "without children"),
        (f'{{"id":"{WORD}"}}', 'with a member "tree"'),
        (f'["{WORD}"]', 'with a member "tree"'),
        ("", "is blank"),
        (f'{{"tree":[["age","{WORD}",[]]]', "not valid JSON"),
        (f'{{"tree":{DEEP}}}', ""),
        ('{"tree":' + "[" * 1000 + "]" * 1000 + "}", "a node must be"),
    ],
)
def test_broken_trees(line: str, words: str, tmp_path: Path) -> None:
    good = '{"tree":[["age","7",[]],["hospital","7",[["dx","7",[]]]]]}'
    path = put(tmp_path / "p.trees.jsonl", f"{good}\n{line}\n{good}\n")
    message = refused(path, TREES)
    assert "p.trees.jsonl, line 2: " in message and words in message
    forest = ta.read(path, TREES, on_error="skip")
    assert list(forest.records()) == [[["age", "7", []], ["hospital", "7", [["dx", "7", []]]]]] * 2
    assert forest.report is not None and forest.report.skipped == 1
    no_canary(repr(forest.classes.texts), repr(forest.report.as_dict()))


SKIPPED = {
    "p.ndjson": '{"n":1}\n{"visits":{"hospital":"h","dx":[{}, {"q":1}]}}',
    "p.json": '{"patients":[{"n":1},{"visits":{"hospital":"h","dx":[{"q":1}]}}]}',
    "p.trees.jsonl": '{"tree":[]}\n{"tree":[["hospital","h",[["age","1",[]]]]]}',
}


@pytest.mark.parametrize("name", SKIPPED)
def test_a_class_that_only_skipped_records_have(name: str, tmp_path: Path) -> None:
    schema = JSON if name == "p.json" else NDJSON
    assert len(trees(put(tmp_path / name, SKIPPED[name]), schema, on_error="skip")) == 1


def test_trees_extras_and_repeats(tmp_path: Path) -> None:
    text = '{"id":1,"note":"x","tree":[["*","*",[]]],"tree":[["age","1",[]],["age","1",[]]]}'
    path = put(tmp_path / "p.trees.jsonl", text)
    forest = ta.read(path, TREES)
    assert forest.report is not None and forest.report.dropped.paths() == {"note": 1}
    assert forest.report.duplicate_keys == 1
    assert list(forest.records()) == [[["age", "1", []]]]
    assert "line 1: an object has the same key twice" in refused(path, TREES, strict=True)


def test_trees_truncated_anywhere(tmp_path: Path) -> None:
    text = f'{{"id":1,"tree":[["age","{WORD}",[]],["hospital","h",[["dx","x",[]]]]]}}'
    for cut in range(len(text)):
        refused(put(tmp_path / "p.trees.jsonl", text[:cut]), TREES)
    assert len(trees(put(tmp_path / "p.trees.jsonl", text), TREES)) == 1


def test_thousands_of_fields() -> None:
    """The compiler takes no sum of them."""
    rows = compile_rows(["f"], [f"out.append({joined(['f'] * 5000)})"])
    assert rows(["x"]) == ["x" * 5000]


def test_a_path_as_long_as_paths_may_be(tmp_path: Path) -> None:
    schema = a_schema("ndjson", None, ("c", ".".join(f"a{number}[]" for number in range(MOST_STEPS))))
    text = '["x"]'
    for number in reversed(range(MOST_STEPS)):
        text = f'{{"a{number}":{text}}}' if text == '["x"]' else f'{{"a{number}":[{text}]}}'
    path = put(tmp_path / "deep.ndjson", text + "\n")
    ta.write(ta.read(path, schema), tmp_path / "out.ndjson")
    assert (tmp_path / "out.ndjson").read_text().strip() == text
