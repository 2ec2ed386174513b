"""Codes of ICD-10 and ATC: worked examples, what the names hold, and the same trees as their slow twins."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.code_hierarchies import lines, ranges, slow_atc, slow_icd10
from tests.support.hierarchy_strategies import chain, cuts, texts
from tests.support.profiles import few
from treeanon.errors import HierarchyError
from treeanon.hierarchy import Atc, Icd10
from treeanon.hierarchy.codes import VERSIONS

RESPIRATORY = "J00-J99 Diseases of the respiratory system"
PNEUMONIA = "J09-J18 Influenza and pneumonia"


@pytest.mark.parametrize(
    ("builder", "value", "expected"),
    [
        (Icd10(), "J18.9", ["J18.9", "J18", PNEUMONIA, RESPIRATORY, "*"]),
        (Icd10(), "J189", ["J189", "J18", PNEUMONIA, RESPIRATORY, "*"]),
        (Icd10(), "j18.91", ["j18.91", "j18.9", "J18", PNEUMONIA, RESPIRATORY, "*"]),
        (Icd10(), "J18", ["J18", PNEUMONIA, RESPIRATORY, "*"]),
        (Icd10(), "J18.-", ["J18.-", "J18", PNEUMONIA, RESPIRATORY, "*"]),
        (Icd10(), "J18.1+", ["J18.1+", "J18.1", "J18", PNEUMONIA, RESPIRATORY, "*"]),
        (Icd10(), PNEUMONIA, [PNEUMONIA, RESPIRATORY, "*"]),
        (Icd10(), "A38", ["A38", "A30-A49 Other bacterial diseases", "A00-B99 Infectious and parasitic diseases", "*"]),
        # a category that no block has lies in its chapter
        (Icd10(), "J99X9", ["J99X9", "J99", "J95-J99 Further diseases of the respiratory system", RESPIRATORY, "*"]),
        (Icd10(), "J23", ["J23", RESPIRATORY, "*"]),
        (Icd10("cm"), "T36.0X1A", None),
        (Icd10("cm"), "C4A.0", None),
        (Icd10("cm"), "M1A", None),
        (Icd10("cm"), "D49.2", None),
        (Atc(), "N02BE01", ["N02BE01", "N02BE", "N02B", "N02 Analgesics", "N Nervous system", "*"]),
        (Atc(), "N02B", ["N02B", "N02 Analgesics", "N Nervous system", "*"]),
        (Atc(), "N", ["N", "N Nervous system", "*"]),
    ],
)
def test_the_way_up(builder, value, expected):
    more = {
        "T36.0X1A": [
            "T36.0X1A",
            "T36.0X1",
            "T36.0",
            "T36",
            "T36-T50 Poisoning and adverse effects by drugs",
            "S00-T88 Injuries and poisonings",
            "*",
        ],
        "C4A.0": ["C4A.0", "C4A", "C43-C44 Melanoma and other skin cancers", "C00-D49 Neoplasms", "*"],
        "M1A": [
            "M1A",
            "M05-M14 Inflammatory polyarthropathies",
            "M00-M99 Diseases of muscles, bones and connective tissue",
            "*",
        ],
        "D49.2": ["D49.2", "D49", "D49 Neoplasms of unspecified behavior", "C00-D49 Neoplasms", "*"],
    }
    assert chain(builder.build([value]), value) == (expected or more[value])


@pytest.mark.parametrize(
    ("builder", "values"),
    [
        (
            Icd10(),
            ["J18.99999", "J1", "Ｊ18", "J18.", "J18 ", " J18", "JJ8", "233604007", "C4A", "J18.9\n", "ſ18", ""],
        ),
        (Icd10("cm"), ["C4C", "Y99.99999", "E99", "J18 Pneumonia"]),
        (Atc(), ["E", "A99", "A02b", "A02BC1", "N02 Pain", "A０2", "A02BC01X", ""]),
    ],
)
def test_what_is_no_code_has_no_place(builder, values):
    assert set(builder.build(values).encode(values).tolist()) <= {-1}


@pytest.mark.parametrize("version", VERSIONS)
def test_blocks_lie_in_their_chapters_and_share_nothing(version):
    found = ranges(version)
    bounds = {label: (first, last) for first, last, label, chapter in found if chapter is None}
    for first, last, _, chapter in found:
        assert chapter is None or bounds[chapter][0] <= first <= last <= bounds[chapter][1]
    for kind in (True, False):
        same = sorted(each for each in found if (each[3] is None) is kind)
        for lower, upper in pairwise(same):
            # a range of one category may lie in the order of the alphabet inside another
            assert lower[1] < upper[0] or upper[0] == upper[1], (lower, upper)
    labels = [label for first, _, label, _ in found if label.startswith(first)]
    assert len(labels) == len(set(labels))


def test_every_second_level_of_atc_has_its_first():
    codes = [line.split(" ")[0] for line in lines("atc.txt")]
    assert len(codes) == len(set(codes))
    assert all(len(code) in (1, 3) and code[0] in codes for code in codes)


def test_an_unknown_version_is_refused():
    with pytest.raises(HierarchyError, match="icd10"):
        Icd10("icd9")


def test_every_category_is_that_of_the_twin():
    values = [f"{a}{b}{c}" for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for b in "0123456789" for c in "0123456789ABX"]
    assert Icd10("cm").build(values) == slow_icd10(Icd10("cm"), values)
    assert Icd10("who").build(values) == slow_icd10(Icd10("who"), values)


icd10_codes = st.from_regex(r"[A-Za-z][0-9][0-9ABC]\.?[0-9AaXx]{0,5}[+*!-]?", fullmatch=True)
icd10_labels = st.sampled_from([label for version in VERSIONS for _, _, label, _ in ranges(version)])
atc_codes = st.from_regex(r"[A-Z][0-3][0-9](?:[A-C](?:[A-C](?:[0-9]{1,2})?)?)?|[A-Z]", fullmatch=True)
atc_labels = st.sampled_from(lines("atc.txt"))


@few(75, 150)
@given(st.sampled_from(VERSIONS), st.lists(st.one_of(icd10_codes, icd10_codes, icd10_labels, texts), max_size=20))
def test_icd10_is_its_twin(version, values):
    assert Icd10(version).build(values) == slow_icd10(Icd10(version), values)


@few(75, 150)
@given(st.lists(st.one_of(atc_codes, atc_codes, atc_labels, texts), max_size=20))
def test_atc_is_its_twin(values):
    assert Atc().build(values) == slow_atc(Atc(), values)


@given(
    st.one_of(
        st.tuples(st.just(Icd10()), st.lists(icd10_codes, max_size=12)),
        st.tuples(st.just(Icd10("cm")), st.lists(icd10_codes, max_size=12)),
        st.tuples(st.just(Atc()), st.lists(atc_codes, max_size=12)),
    ),
    st.data(),
)
def test_labels_of_any_cut_are_their_nodes_again(made, data):
    builder, values = made
    h = builder.build(values)
    cut = data.draw(cuts(h))
    again = builder.build(cut)
    assert [chain(again, text) for text in cut] == [chain(h, text) for text in cut]
    assert builder.build(h.texts) == h
