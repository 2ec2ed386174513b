"""Who can be singled out, as plain text of at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from treeanon.risks.model import MOST_COMBINATIONS, Risk, RowRisk, Share

_NAME = 12
_LEAST = 4
_TABLE_NAME = 42
_WIDTH = 79


def risk_text(risk: Risk, most: int = 10) -> str:
    """The shares by what is known, the risks of rows, and the `most` dangerous combinations.

    >>> from treeanon.risks.model import Combination
    >>> cell = Share(3, 4, 0.75, 0.75)
    >>> print(risk_text(Risk("trees", 5, 1, 0, 4, 4, "exact", ((cell,),), ((Share(1, 4, 0.25, 0.25),),),
    ...     (Combination(("age",), (), 3, 0.75),))))
    4 persons, all looked at
    <BLANKLINE>
    singled out among fewer than 5 persons by whoever knows up to
                     no relation
    1 value               75.0 %
    <BLANKLINE>
    singled out alone by whoever knows up to
                     no relation
    1 value               25.0 %
    <BLANKLINE>
    singled out among fewer than 5 by this, by no part of it
              3   75.0 %  age
    """
    parts = [[_people(risk)], *(_of_trees(risk) if risk.kind == "trees" else _of_table(risk))]
    if risk.combinations:
        parts.append(list(_combinations(risk, most)))
    return "\n\n".join("\n".join(part) for part in parts)


def _people(risk: Risk) -> str:
    if risk.exactness == "exact":
        return f"{_counted(risk.persons, 'person')}, all looked at"
    return f"{_counted(risk.persons, 'person')}, of whom {risk.decided:,} were looked at, drawn at random"


def _of_trees(risk: Risk) -> Iterator[list[str]]:
    few = f"singled out among fewer than {risk.k:,} persons by whoever knows up to"
    yield [few, *_matrix(risk.below_k)]
    yield ["singled out alone by whoever knows up to", *_matrix(risk.unique), *_bounds(risk)]


def _matrix(rows: Sequence[Sequence[Share]]) -> Iterator[str]:
    """A line for every number of values, a column for every number of relations."""
    many = len(rows[0])
    width = (_WIDTH - _NAME) // max(many, _LEAST)
    heads = ["no relation", *(_counted(n, "relation") if many <= _LEAST else str(n) for n in range(1, many))]
    widths = [max(width, len(heads[0])), *(width for _ in heads[1:])]
    yield f"{'':{_NAME}}" + "".join(f"{head:>{size}}" for head, size in zip(heads, widths, strict=True))
    for m, row in enumerate(rows, start=1):
        cells = (f"{_percent(cell.share):>{size}}" for cell, size in zip(row, widths, strict=True))
        yield f"{_counted(m, 'value'):{_NAME}}" + "".join(cells)


def _bounds(risk: Risk) -> Iterator[str]:
    """How far the shares may be from what is shown."""
    cells = [share for rows in (risk.below_k, risk.unique) for row in rows for share in row]
    off = max((max(cell.share - cell.low, cell.high - cell.share) for cell in cells), default=0.0)
    if risk.exactness == "sampled":
        yield f"each within {100 * off:.1f} points of the share of all persons, with 95 % confidence"
    elif off:
        yield f"each may be up to {100 * off:.1f} points more: of some, not all was looked at"


def _of_table(risk: Risk) -> Iterator[list[str]]:
    lines = [f"{'singled out by whoever knows up to':{_TABLE_NAME}}{f'among fewer than {risk.k:,}':>21}{'alone':>12}"]
    for m, (below, alone) in enumerate(zip(risk.below_k, risk.unique, strict=True), start=1):
        lines.append(_line(_counted(m, "column"), below[0], alone[0]))
    whole = risk.whole
    if whole is None:
        yield lines
        return
    yield [*lines, _line("all quasi columns", whole.below_k, whole.unique)]
    yield list(_whole(whole))


def _line(name: str, below: Share, alone: Share) -> str:
    return f"{name:{_TABLE_NAME}}{_percent(below.share):>21}{_percent(alone.share):>12}"


def _whole(whole: RowRisk) -> Iterator[str]:
    yield f"{'groups of persons alike in all of them':{_TABLE_NAME}}{whole.groups:>11,}"
    yield f"{'the smallest group: k of the file':{_TABLE_NAME}}{whole.smallest:>11,}"
    known = f"{_percent(whole.prosecutor):>11}  knows who is in it"
    yield f"{'prosecutor risk: the largest chance':{_TABLE_NAME}}{known}"
    if whole.journalist is None:
        yield f"{'journalist risk':{_TABLE_NAME}}{'no more':>11}  without --population"
    else:
        of = f"among {whole.population or 0:,} people"
        yield f"{'journalist risk: the largest chance':{_TABLE_NAME}}{_percent(whole.journalist):>11}  {of}"
    yield f"{'marketer risk: the mean chance':{_TABLE_NAME}}{_percent(whole.marketer):>11}"
    if whole.absent:
        yield f"{_counted(whole.absent, 'person')}: fewer alike in the population than in the file, which counts there"


def _combinations(risk: Risk, most: int) -> Iterator[str]:
    of = "" if risk.exactness == "exact" else ", of those looked at"
    yield f"singled out among fewer than {risk.k:,} by this, by no part of it{of}"
    for one in risk.combinations[:most]:
        head = f"{one.persons:>11,}{_percent(one.share):>9}  "
        yield from wrap(_clean(one.text), _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    left = len(risk.combinations) - most
    if left > 0:
        least = "at least " if len(risk.combinations) >= MOST_COMBINATIONS else ""
        yield f"and {least}{_counted(left, 'more combination')} (--json lists {'them' if left > 1 else 'it'})"


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _percent(share: float) -> str:
    """The share in percent; one that is not nothing, and not all, never looks so."""
    text = f"{100 * share:.1f}"
    if text == "0.0" and share > 0:
        return "< 0.1 %"
    return "> 99.9 %" if text == "100.0" and share < 1 else f"{text} %"


def _clean(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
