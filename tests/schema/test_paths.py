from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeanon.schema import FieldPath, Predicate, RecordPath, Step, parse_path, parse_record
from treeanon.schema.paths import MOST_STEPS, PathError, disagreement, may_read_one, pairs_to_compare

NAMES = st.one_of(
    st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_:-]{0,6}", fullmatch=True),
    st.text("ab.[]= /@'é", max_size=5),
    st.text('ab.[]= /@"', max_size=5),
)
CONSTANTS = st.one_of(st.text("ab-1'] =", min_size=1, max_size=5), st.text('ab-1"] =', min_size=1, max_size=5))


@st.composite
def predicates(draw: st.DrawFn, slashed: bool) -> Predicate:
    attribute = draw(st.none() | NAMES) if slashed else None
    names = draw(st.lists(NAMES, min_size=0 if attribute is not None else 1, max_size=2))
    return Predicate(tuple(names), attribute, draw(CONSTANTS))


@st.composite
def steps(draw: st.DrawFn, slashed: bool) -> list[Step]:
    predicate = draw(st.none() | predicates(slashed))
    first = Step(draw(NAMES), predicate is not None or draw(st.booleans()), predicate)
    inner = draw(st.integers(0, 2)) if first.repeated and not slashed else 0
    return [first, *[Step(None, True)] * inner]


@st.composite
def field_paths(draw: st.DrawFn, slashed: bool) -> FieldPath:
    attribute = draw(st.none() | NAMES) if slashed else None
    parts = draw(st.lists(steps(slashed), min_size=0 if attribute is not None else 1, max_size=3))
    return FieldPath(tuple(step for part in parts for step in part), attribute)


@given(st.booleans().flatmap(lambda slashed: st.tuples(field_paths(slashed), st.just(slashed))))
def test_a_path_is_read_back_from_its_text(drawn: tuple[FieldPath, bool]) -> None:
    path, slashed = drawn
    assert parse_path(path.text(slashed=slashed), slashed=slashed) == path


@given(st.text("ab.[]/@='\" ", max_size=12), st.booleans())
def test_any_text_is_a_path_that_reads_back_or_a_path_error(text: str, slashed: bool) -> None:
    try:
        path = parse_path(text, slashed=slashed)
    except PathError as error:
        assert "character" in str(error)
        return
    # A constant that needs quotes and holds both kinds has no text.
    if not any(step.predicate and {"'", '"'} <= set(step.predicate.value) for step in path.steps):
        assert parse_path(path.text(slashed=slashed), slashed=slashed) == path


def test_a_constant_with_both_quotes_reads_back() -> None:
    path = parse_path("a[b=c'd\"e]", slashed=False)
    assert parse_path(path.text(slashed=False), slashed=False) == path


def test_an_array_directly_in_an_array_has_no_name() -> None:
    assert parse_path("grid[][]", slashed=False) == FieldPath((Step("grid", True), Step(None, True)))
    with pytest.raises(PathError):
        parse_path("[].x", slashed=False)


def test_predicates_go_through_fields_and_attributes() -> None:
    path = parse_path("section[code/@code=11450-4]/entry[]/@id", slashed=True)
    assert path.steps[0] == Step("section", True, Predicate(("code",), "code", "11450-4"))
    assert path.attribute == "id"
    alone = parse_path("section[@code='a]b']", slashed=True)
    assert alone.steps[0].predicate == Predicate((), "code", "a]b")


@pytest.mark.parametrize(
    ("text", "slashed", "where"),
    [
        ("", False, 1),
        ("a.", False, 3),
        ("a[", False, 3),
        ("a[b]", False, 4),
        ("a[b=]", False, 5),
        ("a[b=c", False, 6),
        ("a]b", False, 2),
        ("'a", False, 1),
        ("a.[]", False, 3),
        ("a[][]", True, 4),
        ("a/@b/c", True, 5),
        ("a/@", True, 4),
        ("a b", True, 2),
        ("a//b", True, 3),
        ("/a", True, 1),
    ],
)
def test_a_broken_path_is_told_with_the_character(text: str, slashed: bool, where: int) -> None:
    with pytest.raises(PathError, match=f"at character {where};"):
        parse_path(text, slashed=slashed)


@pytest.mark.parametrize(
    ("text", "slashed", "names", "repeated"),
    [
        (".", False, (), False),
        (".", True, (), False),
        ("[]", False, (), True),
        ("data.patients[]", False, ("data", "patients"), True),
        ("patient", True, ("patient",), False),
        ("patients/patient", True, ("patients", "patient"), True),
        ("patients/patient[]", True, ("patients", "patient"), True),
    ],
)
def test_record_paths(text: str, slashed: bool, names: tuple[str, ...], repeated: bool) -> None:
    assert parse_record(text, slashed=slashed) == RecordPath(names, repeated)


@pytest.mark.parametrize(
    ("text", "slashed"),
    [
        ("patients", False),
        ("data[].patients[]", False),
        ("patients[a=b]", False),
        ("patients[][]", False),
        ("", False),
        ("patients/@id", True),
        ("patients[]/patient", True),
        ("", True),
    ],
)
def test_a_record_path_ends_at_one_array_or_element(text: str, slashed: bool) -> None:
    with pytest.raises(PathError):
        parse_record(text, slashed=slashed)


@pytest.mark.parametrize("slashed", [False, True])
def test_the_longest_path(slashed: bool) -> None:
    steps = ["a[]"] * MOST_STEPS
    joint = "/" if slashed else "."
    assert len(parse_path(joint.join(steps), slashed=slashed).steps) == MOST_STEPS
    with pytest.raises(PathError, match="more than 256 steps"):
        parse_path(joint.join([*steps, "a"]), slashed=slashed)


PATHS = st.lists(
    st.lists(st.sampled_from(["a", "b[]", "b[a=1]", "b[a=2]", "b[a=1].b", "b"]), min_size=1, max_size=3), max_size=6
)


@given(PATHS)
def test_paths_to_compare(texts: list[list[str]]) -> None:
    """Those that are not compared can neither read one value nor take a name for something else."""
    paths = [parse_path(".".join(text), slashed=False) for text in texts]
    near = pairs_to_compare(paths, slashed=False)
    for second, first in combinations(range(len(paths)), 2):
        if second not in near[first]:
            assert not may_read_one(paths[first], paths[second])
            if any(a.predicate != b.predicate for a, b in zip(paths[first].steps, paths[second].steps, strict=False)):
                assert disagreement(paths[first], paths[second], slashed=False) is None


def test_thousands_of_paths_need_few_comparisons() -> None:
    paths = [parse_path(f"v[].c{number}", slashed=False) for number in range(3000)]
    assert sum(map(len, pairs_to_compare(paths, slashed=False))) == 0
