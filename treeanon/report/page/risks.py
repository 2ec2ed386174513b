"""Who can be singled out, before and after, as matrices."""

from __future__ import annotations

from collections.abc import Sequence

from treeanon.report.page.elements import Content, Element, el
from treeanon.report.page.parts import Cell, Section, Shaded, matrix, more, percent, table
from treeanon.risks.model import Combination, Risk, RowRisk

MAX_COMBINATIONS = 12
NOT_ALIKE = "In the release rows need not look alike: each can be that of as many persons as the guarantee says."
"""Said of freeform releases, in which whoever finds no row alike has singled out nobody."""


def risks(before: Risk | None, after: Risk | None, note: str = "") -> Section | None:
    """The risks of the input and of the release; None if neither is known. `note` says what was promised."""
    known = [(name, risk) for name, risk in (("Input", before), ("Release", after)) if risk is not None]
    if not known:
        return None
    k = known[0][1].k
    parts: list[Content] = [
        el(
            "p",
            f"The share of persons for whom some knowledge of that size is shared by fewer than {k:,} persons. {note}",
        )
    ]
    parts.append(el("div", [_matrix(name, risk) for name, risk in known], class_="sides"))
    whole = [(name, risk.whole) for name, risk in known if risk.whole is not None]
    if whole:
        parts.append(_whole(whole, k))
    if before is not None and before.combinations:
        parts.append(
            more("The most dangerous combinations of classes in the input", _combinations(before.combinations))
        )
    return Section("risk", "Risk", parts)


def _matrix(name: str, risk: Risk) -> Element:
    rows = [f"{m} {'value' if m == 1 else 'values'}" for m in range(1, len(risk.below_k) + 1)]
    columns = [
        f"{n} {'relation' if n == 1 else 'relations'}" for n in range(len(risk.below_k[0]) if risk.below_k else 0)
    ]
    cells = {}
    for i, row in enumerate(risk.below_k):
        for j, share in enumerate(row):
            note = "" if share.low == share.high else f"{percent(share.low)} to {percent(share.high)}"
            cells[i, j] = Shaded(percent(share.share), share.share, note)
    how = "all persons" if risk.exactness == "exact" else f"{risk.decided:,} of {risk.persons:,} persons, 95 % bounds"
    if risk.kind == "table":
        columns = ["share"]
    return el("div", matrix(f"{name}: singled out from fewer than {risk.k:,} ({how})", "known", rows, columns, cells))


def _whole(found: Sequence[tuple[str, RowRisk]], k: int) -> Element:
    """What is risked where all quasi columns are known."""
    rows: list[Sequence[Cell]] = [
        ["groups of rows alike", *(risk.groups for _, risk in found)],
        ["smallest group", *(risk.smallest for _, risk in found)],
        [f"in groups of fewer than {k:,}", *(percent(risk.below_k.share) for _, risk in found)],
        ["alone in their group", *(percent(risk.unique.share) for _, risk in found)],
        ["found by a prosecutor, at most", *(percent(risk.prosecutor) for _, risk in found)],
        ["found by a journalist, at most", *(_journalist(risk) for _, risk in found)],
        ["found by a marketer, on average", *(percent(risk.marketer) for _, risk in found)],
    ]
    return table("Who knows all quasi columns", ["", *(name for name, _ in found)], rows)


def _journalist(risk: RowRisk) -> str:
    return "no more than a prosecutor" if risk.journalist is None else percent(risk.journalist)


def _combinations(found: Sequence[Combination]) -> Element:
    rows = [[one.text, percent(one.share)] for one in found[:MAX_COMBINATIONS]]
    return table("Singled out by these and by no part of them", ["Classes known", "Persons"], rows)
