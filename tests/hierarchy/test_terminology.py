"""Terminologies from CSV, FHIR and RF2, ages and small postal areas: examples, slow twins, hostile files.

Names for the levels of ICD-10 and ATC from a file, against a slow twin.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.terminologies import slow_ages, slow_terminology, slow_zips
from tests.support.hierarchy_strategies import chain, cuts
from tests.support.profiles import few
from treeanon.errors import HierarchyError, SchemaError
from treeanon.hierarchy import Ages, Atc, Hierarchy, Icd10, Prefix, Terminology, parse_builder, read_terminology
from treeanon.hierarchy.codes import large_prefixes
from treeanon.hierarchy.terminology import NamedCodes, concepts_of_csv, concepts_of_fhir, read_names
from treeanon.schema import Schema

LUNG = """code,parent,name
1,,Disease
10,1,Lung disease
11,1,"Infection, any"
20,10,Pneumonia
20,11,
21,20,Bacterial pneumonia
30,1,Injury
"""


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_a_code_lies_in_named_concepts_and_the_single_top_is_the_root():
    h = Terminology.of(concepts_of_csv(LUNG)).build(["21", "20", "11", "30", "1", "99"])
    # of two parents that are as deep the smaller code counts
    assert chain(h, "21") == ["21", "20 Pneumonia", "10 Lung disease", "*"]
    assert chain(h, "20") == ["20", "20 Pneumonia", "10 Lung disease", "*"]
    assert chain(h, "11") == ["11", "*"] and chain(h, "1") == ["1", "*"] and h.find("99") is None


def test_of_several_parents_the_deepest_counts():
    h = Terminology.of(concepts_of_csv("code;parent\nc;b\nc;0\nb;a\n0;top\na;top\ntop;\n")).build(["c"])
    assert chain(h, "c") == ["c", "b", "a", "*"]


rows = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"),
        st.one_of(st.none(), st.sampled_from("abcdefgh")),
        st.sampled_from(["", "N", "M x"]),
    ),
    max_size=14,
)


@few(200, 400)
@given(rows, st.lists(st.sampled_from([*"abcdefghz", "a N", "b M x", "a M"]), max_size=8), st.data())
def test_terminologies_are_their_twin(rows, values, data):
    # every code has a row of its own
    rows = [*rows, *((above, None, "") for _, above, _ in rows if above is not None)]
    text = "code\tparent\tname\n" + "".join(f"{code}\t{above or ''}\t{name}\n" for code, above, name in rows)
    expected = slow_terminology(rows, values)
    if not rows or expected is None:
        with pytest.raises(HierarchyError, match="no concepts" if not rows else "cycle"):
            Terminology.of(concepts_of_csv(text))
        return
    builder = Terminology.of(concepts_of_csv(text))
    made = builder.build(values)
    assert made == expected
    cut = data.draw(cuts(made))
    again = builder.build(cut)
    assert [chain(again, text) for text in cut] == [chain(made, text) for text in cut]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: a header"),
        ("id,up\n1,2\n", "line 1: a header"),
        ("code,parent\n", "no concepts"),
        ("code,parent\nsecret,\nx,hidden\n", "line 3: its parent is not among"),
        ("code,parent\nsecret,b\nb,secret\nc,secret\n", "lines 2 and 3: a concept lies above itself"),
        ("code,parent\nsecret,secret\n", "line 2: a concept lies above itself"),
        ("code,parent\n,secret\n", "line 2: a code is missing"),
        ("code,parent\n*,\n", "a code is empty or '\\*'"),
        ('code,parent\n"secret"x,\n', "line 2: is not CSV"),
        ("code,parent,name\na,,\na b,a,\nc,a b,\na,,b\nb,,\n", "cannot be told apart"),
    ],
)
def test_hostile_csv_is_told_by_its_line(text, message):
    with pytest.raises(HierarchyError, match=message) as error:
        Terminology.of(concepts_of_csv(text))
    assert "secret" not in str(error.value) and "hidden" not in str(error.value)


def test_nested_concepts_of_fhir_and_parents_that_they_name():
    document = {
        "resourceType": "CodeSystem",
        "url": "http://x",
        "concept": [
            {
                "code": "a",
                "display": "Alpha",
                "concept": [{"code": "b", "display": "Beta", "concept": [{"code": "c"}]}],
            },
            {"code": "d", "property": [{"code": "parent", "valueCode": "b"}, {"code": "weight", "valueInteger": 3}]},
        ],
    }
    h = Terminology.of(concepts_of_fhir(json.dumps(document).encode())).build("cd")
    assert h.texts == ("*", "b Beta", "c", "d")


def test_a_value_set_of_two_systems_is_read_by_one():
    inner = [{"system": "s1", "code": "1", "display": "One"}, {"system": "s2", "code": "1", "display": "Other"}]
    document = {
        "resourceType": "ValueSet",
        "expansion": {"contains": [{"display": "a group", "contains": inner}, {"system": "s1", "code": "2"}]},
    }
    data = json.dumps(document).encode()
    with pytest.raises(HierarchyError, match="concept 2: its code is in two code systems"):
        concepts_of_fhir(data)
    assert concepts_of_fhir(data, "s1").codes == ["1", "2"]
    composed = {"resourceType": "ValueSet", "compose": {"include": [{"system": "s1", "concept": [{"code": "x"}]}]}}
    assert concepts_of_fhir(json.dumps(composed).encode(), "s1").codes == ["x"]
    with pytest.raises(HierarchyError, match="no concepts"):
        concepts_of_fhir(json.dumps(composed).encode(), "s3")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"resourceType": "Patient"}',
        b'{"resourceType": "CodeSystem", "concept": {}}',
        b'{"resourceType": "CodeSystem", "concept": ["secret"]}',
        b'{"resourceType": "CodeSystem", "concept": [{"code": 1}]}',
        b'{"resourceType": "CodeSystem", "concept": [{"code": "a", "property": [{"code": "parent"}]}]}',
        b'{"resourceType": "CodeSystem", "concept": [{"code": "a", "property": [{"code": "parent",'
        b' "valueCode": "secret"}]}]}',
        b'{"resourceType": "ValueSet", "expansion": {"contains": 3}}',
        b'{"a":' * 5000,
    ],
)
def test_what_is_no_terminology_of_fhir_is_refused(data):
    with pytest.raises(HierarchyError) as error:
        concepts_of_fhir(data)
    assert "secret" not in str(error.value)


RELATIONSHIPS = (
    "id\teffectiveTime\tactive\tmoduleId\tsourceId\tdestinationId\trelationshipGroup\ttypeId"
    "\tcharacteristicTypeId\tmodifierId\n"
)
DESCRIPTIONS = "id\teffectiveTime\tactive\tmoduleId\tconceptId\tlanguageCode\ttypeId\tterm\tcaseSignificanceId\n"


def relationship(number, child, above, *, active=1, when=20240101, kind=116680003):
    return f"{number}\t{when}\t{active}\t0\t{child}\t{above}\t0\t{kind}\t0\t0\n"


def described(number, concept, term, *, active=1, language="en", kind=900000000000003001):
    return f"{number}\t20240101\t{active}\t0\t{concept}\t{language}\t{kind}\t{term}\t0\n"


def test_the_files_of_snomed_are_read_from_their_folder(tmp_path):
    written(
        tmp_path,
        "Snapshot/Terminology/sct2_Relationship_Snapshot_INT_20240101.txt",
        RELATIONSHIPS
        + relationship(1, 20, 10)
        + relationship(2, 30, 20)
        + relationship(3, 30, 10)
        + relationship(4, 40, 20, active=0, when=20250101)
        + relationship(4, 40, 20)
        + relationship(5, 40, 10)
        + relationship(6, 10, 30, kind=363698007),
    )
    written(
        tmp_path,
        "Snapshot/Terminology/sct2_Description_Snapshot-en_INT_20240101.txt",
        DESCRIPTIONS
        + described(3, 20, 'Said "so" (finding)')
        + described(1, 20, "Gesagt", language="de")
        + described(2, 20, "Old", active=0)
        + described(4, 99, "Of no concept"),
    )
    written(tmp_path, "Full/Terminology/sct2_Relationship_Full_INT_20240101.txt", RELATIONSHIPS + relationship(9, 7, 8))
    h = read_terminology([tmp_path]).build(["30", "40", "7"])
    assert h.texts == ("*", '20 Said "so" (finding)', "30", "40")


def test_files_that_are_no_terminology_are_refused(tmp_path):
    with pytest.raises(HierarchyError, match="the folder has no relationship"):
        read_terminology([tmp_path])
    one, other = written(tmp_path, "a.csv", LUNG), written(tmp_path, "b.csv", LUNG)
    with pytest.raises(HierarchyError, match="several files"):
        read_terminology([one, other])
    one.write_bytes(b"code,parent\n\xff,\n")
    with pytest.raises(HierarchyError, match="must be UTF-8"):
        read_terminology([one])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RELATIONSHIPS, "no active is-a"),
        (RELATIONSHIPS + relationship(1, "secret", 3), "is not RF2"),
        (RELATIONSHIPS + "1\t2\n", "is not RF2"),
        (
            RELATIONSHIPS + relationship(7, 1, 2) + relationship(8, 2, 1),
            "relationships 7 and 8: a concept lies above itself",
        ),
        (DESCRIPTIONS + described(1, 2, "secret"), "no relationship file"),
    ],
)
def test_hostile_files_of_snomed_are_refused(tmp_path, text, message):
    with pytest.raises(HierarchyError, match=message) as error:
        read_terminology([written(tmp_path, "r.txt", text)])
    assert "secret" not in str(error.value)


def test_a_large_terminology_takes_steps_in_proportion_to_it(monkeypatch):
    steps = []
    for count in (2_000, 20_000):
        text = "code,parent\n0,\n" + "".join(f"{at},{at // 3}\n{at},{at // 2}\n" for at in range(1, count))
        calls = []
        monkeypatch.setattr(
            Terminology, "label", lambda self, concept, calls=calls: calls.append(1) or self.codes[concept]
        )
        Terminology.of(concepts_of_csv(text)).build(map(str, range(count)))
        steps.append(len(calls))
    assert steps[1] <= 11 * steps[0]


def test_what_is_too_deep_is_refused():
    text = "code,parent\n0,\n" + "".join(f"{at},{at - 1}\n" for at in range(1, 10_100))
    with pytest.raises(HierarchyError, match="levels deep"):
        Terminology.of(concepts_of_csv(text))


def test_files_are_found_from_the_schema_and_problems_are_told_with_their_line(tmp_path):
    text = 'version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "c"\npath = "c"\n'
    text += 'hierarchy = { terminology = "t.csv" }\n'
    with pytest.raises(SchemaError, match=r"line 7, class 'c': hierarchy.terminology: .*t.csv: cannot be read"):
        Schema.loads(text, folder=tmp_path)
    written(tmp_path, "t.csv", LUNG)
    assert isinstance(Schema.loads(text, folder=tmp_path).classes[0].hierarchy, Terminology)
    written(tmp_path, "t.csv", "code,parent\na,a\n")
    with pytest.raises(SchemaError, match="line 2: a concept lies above itself"):
        Schema.loads(text, folder=tmp_path)


@pytest.mark.parametrize(
    ("spec", "kind", "keys"),
    [
        ({"terminology": []}, "text", ["terminology"]),
        ({"terminology": "x.csv", "system": 3}, "integer", ["terminology", "system"]),
        ({"terminology": ["a.csv", 3]}, "text", ["terminology"]),
        ({"icd10": "icd9"}, "text", ["icd10"]),
        ({"atc": 1, "icd10": True}, "text", ["icd10, atc", "atc"]),
        ({"ages": [5]}, "date", ["on"]),
        ({"ages": [5, 12], "on": 3, "top": 0}, "text", ["ages", "ages", "on", "top"]),
        ({"ages": [1], "on": "2024-02-30"}, "date", ["ages", "on"]),
        ({"prefix": [3], "population": 3}, "text", ["population"]),
        ({"prefix": [3], "population": "nowhere.csv"}, "text", ["population"]),
        ({"groups": 5, "population": "x"}, "text", ["population"]),
    ],
)
def test_all_problems_of_a_spec_are_told(spec, kind, keys):
    builder, problems = parse_builder(spec, kind)
    assert builder is None and sorted(key for key, _ in problems) == sorted(keys)


born = st.one_of(
    st.dates().map(str), st.dates(min_value=date(1900, 1, 1)).map(str), st.integers(1, 9999).map("{:04d}".format)
)


@few(150, 300)
@given(
    st.sampled_from([(5,), (5, 10), (2, 10, 100), (7,)]),
    st.sampled_from(["2024-06-30", "2024-02-29", "2023-02-28", "2020-01-01", "1999-12-31"]),
    st.sampled_from([None, 90, 18, 7]),
    st.lists(born, max_size=15),
    st.data(),
)
def test_ages_are_their_twin(widths, on, top, values, data):
    builder = Ages(widths, on, top)
    made = builder.build(values)
    assert made == slow_ages(builder, values)
    cut = data.draw(cuts(made))
    again = builder.build(cut)
    assert [chain(again, text) for text in cut] == [chain(made, text) for text in cut]
    assert builder.build(made.texts) == made


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1987-06-30", ["1987-06-30", "37 years", "35-39 years", "*"]),
        ("1987-07-01", ["1987-07-01", "36 years", "35-39 years", "*"]),
        ("1987-07", ["1987-07", "36 years", "35-39 years", "*"]),
        ("1987", ["1987", "35-39 years", "*"]),
        ("1984", ["1984", "*"]),
        ("1987-W26", ["1987-W26", "37 years", "35-39 years", "*"]),
        ("1931-05-06", ["1931-05-06", "90+ years", "*"]),
        ("2024", ["2024", "0 years", "0-4 years", "*"]),
    ],
)
def test_an_age_on_a_day(value, expected):
    assert chain(Ages((5,), "2024-06-30", 90).build([value]), value) == expected


def test_who_is_not_born_yet_and_labels_of_other_ranges_have_no_place():
    values = ["2024-07-01", "2030", "3-7 years", "91 years", "90-94 years", "95+ years", "007 years", "years", "x"]
    assert set(Ages((5,), "2024-06-30", 90).build(values).encode(values).tolist()) == {-1}


@few(100, 200)
@given(
    st.sampled_from([(3,), (3, 2), (2, 1)]),
    st.frozensets(st.text("012", min_size=2, max_size=3), max_size=5),
    st.lists(st.text("012", min_size=1, max_size=5), max_size=20),
    st.data(),
)
def test_small_areas_are_zeros_as_in_the_twin(keep, large, values, data):
    builder = Prefix(keep, large)
    made = builder.build(values)
    assert made == slow_zips(builder, values)
    cut = data.draw(cuts(made))
    again = builder.build(cut)
    assert [chain(again, text) for text in cut] == [chain(made, text) for text in cut]


def test_persons_are_counted_by_the_prefix():
    assert large_prefixes('zip;name;population\n12101;"a; b";20000\n12102;;1\n13000;;20000\n', 3) == {"121"}


@pytest.mark.parametrize(
    "text",
    ["", "zip,persons\n1,2\n", "zip,population\n12,7\n", "zip,population\n12101,secret\n", "zip,population\n12101\n"],
)
def test_a_population_that_is_none_is_refused(text):
    with pytest.raises(HierarchyError, match="line ") as error:
        large_prefixes(text, 3)
    assert "secret" not in str(error.value)


NAMES = {"J18": "Pneumonia", "J45": "Asthma", "I10": "High pressure", "A10B": "Drugs by mouth", "A10BA": "Biguanides"}
CODES = ["J18.9", "J18", "J181", "J45.909", "E11.9", "I10", "flu", "J09-J18 Influenza and pneumonia",
         "A10BA02", "A10BA", "A10B", "A10BB01", "C09AA03", "A10"]  # fmt: skip
LABELS = [f"{code} {name}" for code, name in NAMES.items()]


def slow(builder: Icd10 | Atc, values: list[str]) -> Hierarchy:
    """The tree of the builder without names, with the levels renamed one by one, and values hung below them again."""

    def named(text: str) -> str:
        return f"{text} {NAMES[text]}" if text in NAMES else text

    plain = {value: value.partition(" ")[0] if value in LABELS else value for value in values}
    whole = builder.build(plain.values())
    parents = {named(whole.texts[code]): named(whole.texts[whole.parent[code]]) for code in range(1, len(whole))}
    for value in values:
        if value not in LABELS and value in NAMES and whole.find(value) is not None:
            parents[value] = named(value)
    return Hierarchy.from_parents(parents, root="*") if parents else Hierarchy.flat([])


@pytest.mark.parametrize("builder", [Icd10(), Icd10("cm"), Atc()])
@given(values=st.lists(st.sampled_from([*CODES, *LABELS]), max_size=8))
def test_levels_are_named_as_by_the_slow_twin(builder: Icd10 | Atc, values: list[str]) -> None:
    found, twin = NamedCodes(builder, NAMES).build(values), slow(builder, values)
    assert set(found.texts) == set(twin.texts)
    for text in twin.texts[1:]:
        assert found.texts[found.parent[found.code(text)]] == twin.texts[twin.parent[twin.code(text)]]


def test_a_file_gives_the_names_of_levels_alone(tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text(
        "code,parent,name\nJ18,,Pneumonia\nJ18.9,J18,Not specified\nA10BA,,Biguanides\nA10,,Diabetes\nJ45,,\n"
    )
    assert read_names(file, Atc()) == {"A10BA": "Biguanides"}
    builder, problems = parse_builder({"icd10": "cm", "names": "names.csv"}, "text", tmp_path)
    assert builder == NamedCodes(Icd10("cm"), {"J18": "Pneumonia", "A10": "Diabetes"}) and not problems


@pytest.mark.parametrize("names", ["3", '"missing.csv"', '"none.csv"'])
def test_a_file_without_names_is_refused(names: str, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("code,parent,name\nJ18.9,,Pneumonia\n")
    text = 'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "d"\npath = "d"\n'
    with pytest.raises(SchemaError, match=r"names: "):
        ta.Schema.loads(f"{text}hierarchy = {{ icd10 = true, names = {names} }}", folder=tmp_path)
