"""Names for the levels of ICD-10 and ATC from a file, against a slow twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from treeanon.errors import SchemaError
from treeanon.hierarchy import Atc, Hierarchy, Icd10, parse_builder
from treeanon.hierarchy.terminology import NamedCodes, read_names

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
