"""Broken and hostile XML."""

from __future__ import annotations

import codecs
import gc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from lxml import etree

import treeanon as ta
from tests.support.hostile import NUMBER, WORD, XML, a_schema, no_canary, put, refused, trees
from tests.support.steps import check_linear
from treeanon.errors import DataError
from treeanon.forest.tables import BatchWriter
from treeanon.io.documents import xml_document

VISIT = f'<visit hospital="{WORD}"><dx>{NUMBER}</dx></visit>'
PERSON = f"<patient><age>1</age>{VISIT}</patient>"
TEXT = f"<patients>{PERSON}</patients>"
RECORD = [["age", "1", []], ["hospital", WORD, [["dx", NUMBER, []]]]]
WHOLE = a_schema("xml", ".", ("age", "age"))
BOTH = pytest.mark.parametrize("whole", [False, True], ids=["stream", "whole"])


def swap(old: str, new: str, text: str = TEXT) -> str:
    assert old in text
    return text.replace(old, new)


def test_truncated_anywhere(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="UTF-8"?>\n' + swap("<age>", "<!-- x --><![CDATA[ ]]><age a='1'>")
    for cut in range(len(text)):
        refused(put(tmp_path / "p.xml", text[:cut]), XML)
    assert trees(put(tmp_path / "p.xml", text), XML) == [RECORD]


@BOTH
@pytest.mark.parametrize("text", [TEXT, swap("<age>1", "<age>2</age><age>1"), swap("</visit>", "</CANARY>")])
def test_nothing_holds_what_was_read(text: str, whole: bool, tmp_path: Path) -> None:
    """Neither rows nor documents wait for Python to look for what is held in circles, which may be long after."""
    path = put(tmp_path / "p.xml", text)
    schema = a_schema("xml", "patients", ("age", "patient/age")) if whole else XML

    def held() -> list[object]:
        there = gc.get_objects()
        return [one for one in there if isinstance(one, BatchWriter) or (isinstance(one, etree._Element) and len(one))]

    gc.collect()
    before = len(held())
    gc.disable()
    try:
        with suppress(DataError):
            ta.read(path, schema)
        assert len(held()) == before
    finally:
        gc.enable()


DECLARED = '<?xml version="1.0" encoding="{}"?>' + TEXT
DOCTYPE = "<!DOCTYPE patients [{}]>" + TEXT
LAUGHS = '<!ENTITY a "CANARY">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True)
)
PASSWD = "file:///etc/passwd"
BROKEN: dict[str, tuple[str | bytes | Callable[[], str], str]] = {
    "white space": (" \n\t ", "is empty"),
    "declared UTF-16": (DECLARED.format("UTF-16"), "not well-formed"),
    "declared nonsense": (DECLARED.format("CANARY"), "an encoding that is not supported"),
    "declared ASCII": (DECLARED.format("us-ascii").replace("<age>1", "<age>\xe9"), "not in the encoding it declares"),
    "invalid UTF-8": (TEXT.encode().replace(b"7f3a", b"7f3a\xff\xfe"), "not in the encoding it declares"),
    "overlong UTF-8": (TEXT.encode().replace(b"7f3a", b"\xc0\xaf"), "not in the encoding it declares"),
    "NUL byte": (swap(NUMBER, f"{NUMBER}\0"), "a character that XML does not allow"),
    "control character": (swap(NUMBER, f"{NUMBER}\x01"), "a character that XML does not allow"),
    "control character reference": (swap(NUMBER, f"{NUMBER}&#1;"), "a character that XML does not allow"),
    "surrogate reference": (swap(NUMBER, f"{NUMBER}&#xd800;"), "a character that XML does not allow"),
    "undeclared prefix, element": (swap("<dx>", "<CANARY:dx>").replace("</dx>", "</CANARY:dx>"), "prefix"),
    "undeclared prefix, attribute": (swap("hospital=", "CANARY:hospital="), "prefix that is not declared"),
    "one attribute twice": (swap("hospital=", 'hospital="CANARY" hospital='), "one attribute twice"),
    "mismatched tags": (swap("</age>", "</CANARY>"), "end tag does not match"),
    "crossed tags": (swap("</dx></visit>", "</visit></dx>"), "end tag does not match"),
    "two roots": (f"{TEXT}<CANARY/>", "more after the end of the root"),
    "text after the root": (TEXT + WORD, "more after the end of the root"),
    "text before the root": (WORD + TEXT, "is empty, or does not begin as XML"),
    "text alone": (WORD, "is empty, or does not begin as XML"),
    "11 MB attribute": (lambda: swap(WORD, WORD * 1_000_000), "exceeds a limit"),
    "11 MB text": (lambda: swap(NUMBER, NUMBER * 1_400_000), "exceeds a limit"),
    "11 MB text in pieces": (
        lambda: swap(NUMBER, f"{NUMBER * 200_000}<!-- {WORD} --><?CANARY x?>" * 7),
        "exceeds a limit",
    ),
    "11 MB CDATA in pieces": (lambda: swap(NUMBER, f"<![CDATA[{NUMBER * 200_000}]]>" * 7), "exceeds a limit"),
    "deep, named": (swap(NUMBER, "<d>" * 5000 + NUMBER + "</d>" * 5000), "exceeds a limit"),
    "deep, dropped": (swap("<age>", "<d>" * 5000 + "</d>" * 5000 + "<age>"), "exceeds a limit"),
    "DOCTYPE": (f"<!DOCTYPE patients>{TEXT}", "DOCTYPE"),
    "internal entity": (DOCTYPE.format('<!ENTITY c "CANARY">'), "DOCTYPE"),
    "internal entity in text": (DOCTYPE.format('<!ENTITY c "CANARY">').replace(NUMBER, "&c;"), "DOCTYPE"),
    "internal entity in attribute": (DOCTYPE.format('<!ENTITY c "CANARY">').replace(WORD, "&c;"), "DOCTYPE"),
    "default attribute": (DOCTYPE.format('<!ATTLIST patient age CDATA "CANARY">'), "DOCTYPE"),
    "external entity": (DOCTYPE.format(f'<!ENTITY c SYSTEM "{PASSWD}">').replace(NUMBER, "&c;"), "DOCTYPE"),
    "external entity in attribute": (DOCTYPE.format(f'<!ENTITY c SYSTEM "{PASSWD}">').replace(WORD, "&c;"), ""),
    "external subset": (f'<!DOCTYPE patients SYSTEM "{PASSWD}">{TEXT}', "foreign file"),
    "external subset, network": (f'<!DOCTYPE patients PUBLIC "x" "http://localhost:9/CANARY">{TEXT}', "foreign file"),
    "parameter entity": (DOCTYPE.format(f'<!ENTITY % p SYSTEM "{PASSWD}"> %p;'), "foreign file"),
    "parameter entity, internal": (DOCTYPE.format("<!ENTITY % p \"<!ENTITY c 'CANARY'>\"> %p;"), "DOCTYPE"),
    "billion laughs": (DOCTYPE.format(LAUGHS).replace(NUMBER, "&j;"), ""),
    "billion laughs in attribute": (DOCTYPE.format(LAUGHS).replace(WORD, "&j;"), ""),
    "quadratic blowup": (lambda: DOCTYPE.format(f'<!ENTITY c "{"A" * 200_000}">').replace(NUMBER, "&c;" * 50_000), ""),
    "quadratic blowup in attribute": (
        lambda: DOCTYPE.format(f'<!ENTITY c "{"A" * 99_999}">').replace(WORD, "&c;" * 50_000),
        "",
    ),
    "undeclared entity": (swap(NUMBER, "&CANARY;"), "an entity that XML itself does not define"),
    "undeclared entity in attribute": (swap(WORD, "&CANARY;"), "an entity that XML itself does not define"),
}


def broken(case: str) -> str | bytes:
    """The document of a case; large ones are made when they are needed, for every process collects all cases."""
    data = BROKEN[case][0]
    return data() if callable(data) else data


@BOTH
@pytest.mark.parametrize("case", BROKEN)
def test_broken_document(case: str, whole: bool, tmp_path: Path) -> None:
    """None of it is a broken record: `skip` does not read on either."""
    words = BROKEN[case][1]
    path = put(tmp_path / "p.xml", broken(case))
    for on_error in ("error", "skip"):
        message = refused(path, WHOLE if whole else XML, on_error=on_error)
        assert words in message or "DOCTYPE" in message or "exceeds a limit" in message
        assert "root:" not in message and "/etc" not in message


def test_doctype_of_another_root(tmp_path: Path) -> None:
    for text in (
        DOCTYPE.format('<!ENTITY c "CANARY">').replace(NUMBER, "&c;"),
        f'<!DOCTYPE x SYSTEM "{PASSWD}">{TEXT}',
    ):
        refused(put(tmp_path / "p.xml", swap("patients>", "CANARY>", text)), XML)


@pytest.mark.parametrize(("data", "words"), [("", "is empty"), (swap(NUMBER, "\n\n&CANARY;"), "line 3")])
def test_place_of_error(data: str, words: str, tmp_path: Path) -> None:
    assert words in refused(put(tmp_path / "p.xml", data), XML)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-8"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    assert trees(put(tmp_path / "p.xml", swap(NUMBER, "é😀").encode(encoding)), XML)[0][1][2] == [["dx", "é😀", []]]
    latin = DECLARED.format("ISO-8859-1").replace(NUMBER, "é").encode("latin-1")
    assert trees(put(tmp_path / "p.xml", latin), XML)[0][1][2] == [["dx", "é", []]]


RECORDS: dict[str, tuple[str, str]] = {
    "a step repeats": (f"<patient><age>{WORD}</age><age>{NUMBER}</age></patient>", "age: repeats here; mark the step"),
    "moved under nothing": (f'<patient><t:moved xmlns:t="urn:treeanon:1">{WORD}</t:moved></patient>', "moved"),
    "moved under no class": ('<patient><t:moved xmlns:t="urn:treeanon:1" under="CANARY"/></patient>', "moved"),
    "moved, no node": ('<patient><t:moved xmlns:t="urn:treeanon:1" under="/"><CANARY/></t:moved></patient>', "moved"),
    "moved, no class": (
        "<patient>"
        '<t:moved xmlns:t="urn:treeanon:1" under="/"><t:node class="CANARY" value="7f3a"/></t:moved>'
        "</patient>",
        "names a class that the schema does not publish",
    ),
}


@pytest.mark.parametrize("case", RECORDS)
def test_broken_record(case: str, tmp_path: Path) -> None:
    person, words = RECORDS[case]
    good = "<patient><age>7</age></patient>"
    path = put(tmp_path / "p.xml", f"<patients>\n{good}\n{person}{good}</patients>")
    message = refused(path, XML)
    assert "p.xml, record 2 (line 3), " in message and words in message
    if case == "a step repeats":
        assert message.endswith("age[]")
    forest = ta.read(path, XML, on_error="skip")
    assert list(forest.records()) == [[["age", "7", []]]] * 2
    assert forest.report is not None and forest.report.skipped == 1
    no_canary(repr(forest.classes.texts), repr(forest.report.as_dict()))


@pytest.mark.parametrize(
    ("old", "new", "record", "dropped"),
    [
        (NUMBER, "f<!-- x -->l<?pi y?>u<![CDATA[<&]]>&amp;", "flu<&&", {}),
        (NUMBER, "f<b>CANARY</b>l<!-- x --><b/>u", "flu", {"visit[]/dx[]/b": 2}),
        (NUMBER, f"{NUMBER}<d>{'<d>' * 240}{'</d>' * 240}</d>", NUMBER, {"visit[]/dx[]/d": 1}),
        ("<dx>", '<dx xml:space="preserve">', NUMBER, {"visit[]/dx[]/@space": 1}),
        ("<age>", f"<patient><age>{WORD}</age></patient><age>", NUMBER, {"patient": 1}),
        ("<patient>", f"{WORD}<other><patient><age>7</age></patient></other><other/><patient>", NUMBER,
         {"(outside records) other": 2}),
        ("<patient>", "<patient>" + "".join(f"<k{i}/>" for i in range(99)), NUMBER, {"*": 99}),
        ("<dx>", "<dx " + " ".join(f'k{i}=""' for i in range(99)) + ">", NUMBER, {"visit[]/dx[]/@*": 99}),
    ],
    ids=range(8),
)  # fmt: skip
def test_odd_but_legal(old: str, new: str, record: str, dropped: dict[str, int], tmp_path: Path) -> None:
    forest = ta.read(put(tmp_path / "p.xml", TEXT.replace(old, new, 1)), XML)
    assert list(forest.records()) == [[["age", "1", []], ["hospital", WORD, [["dx", record, []]]]]]
    assert forest.report is not None and forest.report.dropped.paths() == dropped
    ta.write(forest, tmp_path / "out.xml")
    assert "<!--" not in (tmp_path / "out.xml").read_text() and "<?pi" not in (tmp_path / "out.xml").read_text()
    assert trees(tmp_path / "out.xml", XML) == list(forest.records())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (swap("patients>", "CANARY>"), "the root element is not patients"),
        (swap("<patients>", '<patients xmlns="urn:x">'), "the root element is not patients"),
        (
            swap("patient>", "CANARY>", PERSON).join(("<patients>", "</patients>")),
            "holds no record at patients/patient",
        ),
        ("<patients/>", "holds no record at patients/patient"),
        (f"<patients><group>{PERSON}</group></patients>", "holds no record at patients/patient"),
    ],
    ids=range(5),
)
def test_wrong_paths(text: str, words: str, tmp_path: Path) -> None:
    assert words in refused(put(tmp_path / "p.xml", text), XML)


def test_default_namespace(tmp_path: Path) -> None:
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "xml"\nobjects = "merged"\nrecord = "p/q"\nnamespaces = { "" = "urn:x" }\n'
        '[[class]]\nname = "age"\npath = "age"\n'
    )
    text = '<p xmlns="urn:x"><q><age>1</age><age xmlns="">CANARY</age></q></p>'
    assert trees(put(tmp_path / "p.xml", text), schema) == [[["age", "1", []]]]
    refused(put(tmp_path / "p.xml", "<p><q><age>CANARY</age></q></p>"), schema)


@pytest.mark.parametrize("before", [True, False], ids=["padding before", "padding after"])
def test_a_long_record_keeps_its_mixed_text(before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_document, "_PRUNE_AFTER", 1 << 20)
    padding = f"<pad>{'x' * 1000}</pad>" * 2_000
    visit = '<visit hospital="h"><dx>Flu<b>x</b>, severe</dx></visit>'
    inner = padding + visit + padding if before else visit + padding
    (record,) = trees(put(tmp_path / "p.xml", f"<patients><patient>{inner}</patient></patients>"), XML)
    assert record == [["hospital", "h", [["dx", "Flu, severe", []]]]]


def many_attributes(count: int, folder: Path) -> Path:
    text = swap("<patient>", "<patient " + " ".join(f'k{i}="{i}"' for i in range(count)) + ">")
    return put(folder / f"p-{count}.xml", text)


def test_many_attributes_take_linear_work(tmp_path: Path) -> None:
    assert trees(many_attributes(20_000, tmp_path), XML) == [RECORD]
    paths = {count: many_attributes(count, tmp_path) for count in (1000, 2000)}
    check_linear(lambda count: lambda: trees(paths[count], XML), 1000)


@pytest.mark.slow
def test_very_many_attributes(tmp_path: Path) -> None:
    assert trees(many_attributes(100_000, tmp_path), XML) == [RECORD]


UTF_16 = codecs.BOM_UTF16_LE


@pytest.mark.parametrize(
    ("mark", "codec", "declared", "words"),
    [
        (b"", "utf-8", 'version="1.1"', "is not XML 1.0"),
        (b"", "utf-8", 'version="1.0" encoding="UTF-7"', "declares UTF-7"),
        (codecs.BOM_UTF8, "utf-8", 'version="1.0" encoding="utf-7"', "declares UTF-7"),
        (codecs.BOM_UTF8, "utf-8", 'version="1.0" encoding="iso-8859-1"', "another encoding than"),
        (codecs.BOM_UTF8, "utf-8", 'version="1.0" encoding="utf-16"', "another encoding than"),
        (UTF_16, "utf-16-le", 'version="1.0" encoding="utf-8"', "another encoding than"),
        (UTF_16, "utf-16-le", 'version="1.0" encoding="utf-16be"', "another encoding than"),
        (UTF_16, "utf-16-le", 'version="1.1"', "is not XML 1.0"),
        (b"", "utf-16-be", 'version="1.0" encoding="utf-8"', "another encoding than"),
        (codecs.BOM_UTF8, "utf-8", 'version="1.0" encoding="UTF-8"', ""),
        (UTF_16, "utf-16-le", "version='1.0' encoding='UTF-16'", ""),
        (UTF_16, "utf-16-le", "version='1.0'", ""),
        (b"", "latin-1", 'version="1.0" encoding="iso-8859-1"', ""),
    ],
)
def test_how_a_document_begins(mark: bytes, codec: str, declared: str, words: str, tmp_path: Path) -> None:
    body = f"<patients><patient><age>{WORD}\u00e9</age></patient></patients>"
    path = put(tmp_path / "p.xml", mark + f"<?xml {declared}?>{body}".encode(codec))
    if words:
        assert words in refused(path, XML)
    else:
        assert trees(path, XML) == [[["age", f"{WORD}\u00e9", []]]]
