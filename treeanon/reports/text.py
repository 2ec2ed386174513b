"""Losses and risks as plain text of at most 80 columns, and losses as plain data for JSON.

Shares are never rounded to nothing or to all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from treeanon.metrics import Losses, MiningLoss, ObjectsKept
from treeanon.metrics.table import FlatLosses
from treeanon.metrics.table.measure import ASKED, PermutedLosses
from treeanon.privacy.uniqueness import ESTIMATORS
from treeanon.risks.model import MOST_COMBINATIONS, Risk, RowRisk, Share, Uniqueness
from treeanon.shown import counted, percent

_NAME = 30
_BAR = 20
_MOST_PAIRS = 20


def losses_text(losses: Losses, mining: MiningLoss | None = None, *, matched: bool = True) -> str:
    """Return the losses of a release as tables: totals, then classes, then the pairs of classes that lost relations.

    dML² is omitted unless published records are `matched` with their original ones.

    >>> from treeanon.metrics import Counts
    >>> held, left = Counts(2, 4, 2, {"sex": 2}), Counts(2, 4, 1, {"sex": 1})
    >>> print(losses_text(Losses(0.5, {"sex": 0.5}, 0.75, {"sex>age": 0.75}, 0.25, held, left)))
                                           input       release
    persons                                    2             2
    nodes                                      4             4
    distinct trees                             2             1
    <BLANKLINE>
    value loss                             0.500  0 unchanged, 1 class root
    relations kept                        75.0 %
    RPD                                  0.25000  lower is better
    <BLANKLINE>
    class                            loss                          values  released
    sex                             0.500  ##########..........         2         1
    <BLANKLINE>
    relations between                       kept
    sex > age                             75.0 %
    """
    mined = () if mining is None else _mined(mining, matched=matched)
    return "\n".join((*_totals(losses), *mined, *object_lines(losses.objects), *_classes(losses), *_pairs(losses)))


def rpda_line(value: float, scope: str) -> str:
    """Return the line of RPDa, which goes below that of RPD.

    >>> rpda_line(0.5, "class")
    'RPDa                                 0.50000  by levels of the class'
    """
    whose = "the class" if scope == "class" else "all hierarchies"
    return f"{'RPDa':{_NAME}}{value:>14.5f}  by levels of {whose}"


def _totals(losses: Losses) -> Iterator[str]:
    before, after = losses.before, losses.after
    yield f"{'':{_NAME}}{'input':>14}{'release':>14}"
    yield f"{'persons':{_NAME}}{before.records:>14,}{after.records:>14,}"
    yield f"{'nodes':{_NAME}}{before.nodes:>14,}{after.nodes:>14,}"
    yield f"{'distinct trees':{_NAME}}{before.trees:>14,}{after.trees:>14,}"
    yield ""
    yield f"{'value loss':{_NAME}}{losses.value_loss:>14.3f}  0 unchanged, 1 class root"
    yield f"{'relations kept':{_NAME}}{_percent(losses.relations_kept):>14}"
    yield f"{'RPD':{_NAME}}{losses.rpd:>14.5f}  lower is better"


def _mined(mining: MiningLoss, *, matched: bool) -> Iterator[str]:
    part = "" if mining.records == mining.of_records else "a sample of "
    most = min((level.most_nodes for level in mining.levels), default=0)
    yield f"{'ML2':{_NAME}}{mining.ml2:>14.3f}  mined in {part}{mining.records:,} persons"
    yield f"{'':{_NAME}}{'':>14}  up to {most} nodes, {_percent(mining.min_support)} or more"
    if matched:
        yield f"{'dML2':{_NAME}}{mining.dml2:>14.3f}"


def object_lines(objects: Mapping[str, ObjectsKept], *, release: str = "release") -> Iterator[str]:
    """Yield the lines of a table of the objects of each type, if there are any; of many types only those in question.

    >>> from treeanon.metrics import ObjectsKept
    >>> found = {"visits[]": ObjectsKept(10, 9, 0.9), "ills[]": ObjectsKept(9000, 8999, 0.9999)}
    >>> print(*object_lines(found), sep="\\n")
    <BLANKLINE>
    objects of type                        input       release    kept whole
    visits[]                                  10             9        90.0 %
    ills[]                                 9,000         8,999       >99.9 %
    equal objects of one parent count once, those that have become equal too
    """
    if not objects:
        return
    yield ""
    yield f"{'objects of type':{_NAME}}{'input':>14}{release:>14}{'kept whole':>14}"
    whole = sum(found.whole == 1 for found in objects.values()) if len(objects) > _MOST_PAIRS else 0
    listed = [one for one in objects.items() if not whole or one[1].whole != 1]
    for name, found in listed[:_MOST_PAIRS]:
        share = "unknown" if found.whole is None else percent(found.whole)
        numbers = f"{found.before:>14,}{found.after:>14,}{share:>14}"
        if len(name) < _NAME:
            yield f"{_cell(name, _NAME - 1):{_NAME}}{numbers}"
        else:  # A separate line keeps the numbers aligned.
            yield _cell(name, 79)
            yield f"{'':{_NAME}}{numbers}"
    if len(listed) > _MOST_PAIRS:
        yield f"and {len(listed) - _MOST_PAIRS:,} more types"
    if whole:
        yield f"{whole:,} more types of objects are kept whole entirely"
    if any(found.after < found.before for found in objects.values()):
        yield "equal objects of one parent count once, those that have become equal too"


def _classes(losses: Losses) -> Iterator[str]:
    if not losses.value_loss_by_class:
        return
    had, has = losses.before.values, losses.after.values
    yield ""
    yield f"{'class':{_NAME}}{'loss':>7}  {'':{_BAR}}{'values':>10}{'released':>10}"
    for name, loss in losses.value_loss_by_class.items():
        bar = ("#" * round(loss * _BAR)).ljust(_BAR, ".")
        yield f"{_cell(name, _NAME - 1):{_NAME}}{loss:>7.3f}  {bar}{had.get(name, 0):>10,}{has.get(name, 0):>10,}"


def _pairs(losses: Losses) -> Iterator[str]:
    lost = sorted((kept, pair) for pair, kept in losses.relations_kept_by_pair.items() if kept < 1)
    if not lost:
        return
    yield ""
    yield f"{'relations between':{_NAME}}{'kept':>14}"
    for kept, pair in lost[:_MOST_PAIRS]:
        words = pair.replace(">", " > ") if ">" in pair and " in " not in pair else pair.replace("+", " + ")
        text, number = _cell(words, 79), _percent(kept)
        if len(text) < _NAME + 14 - len(number):
            yield f"{text:{_NAME}}{number:>{14 - max(len(text) - _NAME, 0)}}"
        else:  # A separate line keeps the numbers aligned.
            yield text
            yield f"{number:>{_NAME + 14}}"
    if len(lost) > _MOST_PAIRS:
        yield f"and {len(lost) - _MOST_PAIRS} more pairs of classes"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _cell(text: str, most: int) -> str:
    """Return the text in at most `most` printable characters."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    return clean if len(clean) <= most else clean[: most - 1] + "~"


def flat_losses_text(losses: FlatLosses, *, alike: bool = True) -> str:
    """Return the losses of a release of a table: totals, then columns. Measures of groups are shown if rows are
    `alike`.

    >>> print(flat_losses_text(FlatLosses(0.5, 0.5, {"sex": 0.5}, {"sex": 0.5}, 8, None, 2.0, 0.5, 1, 2, 4, 0)))
    rows left out                          0  of 4
    groups                                 2
    GCP (taxonomy)                   0.50000  0 unchanged, 1 lost
    GCP (set)                        0.50000
    precision                        0.50000  1 unchanged
    discernibility                         8
    rows in a group / k              2.00000
    height                                 1
    <BLANKLINE>
    column                            taxonomy       set
    sex                                0.50000   0.50000  ##########..........
    """
    return "\n".join((*_flat_totals(losses, alike=alike), *_flat_columns(losses)))


def _flat_totals(losses: FlatLosses, *, alike: bool) -> Iterator[str]:
    yield f"{'rows left out':{_NAME}}{losses.suppressed:>10,}  of {losses.rows:,}"
    if alike:
        yield f"{'groups':{_NAME}}{losses.groups:>10,}"
    yield f"{'GCP (taxonomy)':{_NAME}}{losses.gcp_taxonomy:>10.5f}  0 unchanged, 1 lost"
    yield f"{'GCP (set)':{_NAME}}{losses.gcp_set:>10.5f}"
    yield f"{'precision':{_NAME}}{losses.precision:>10.5f}  1 unchanged"
    if alike:
        yield f"{'discernibility':{_NAME}}{losses.discernibility:>10,}"
    if losses.classification is not None:
        yield f"{'classification':{_NAME}}{losses.classification:>10.5f}  share of wrong labels"
    if alike:
        yield f"{'rows in a group / k':{_NAME}}{losses.average_class_size:>10.5f}"
    yield f"{'height':{_NAME}}{losses.height:>10,}"


def _flat_columns(losses: FlatLosses) -> Iterator[str]:
    yield ""
    yield f"{'column':{_NAME}}{'taxonomy':>12}{'set':>10}"
    for name, loss in losses.ncp_taxonomy.items():
        bar = ("#" * round(loss * _BAR)).ljust(_BAR, ".")
        yield f"{_cell(name, _NAME - 1):{_NAME}}{loss:>12.5f}{losses.ncp_set[name]:>10.5f}  {bar}"


def permuted_losses_text(losses: PermutedLosses) -> str:
    """Return the losses of a permuted release.

    >>> print(permuted_losses_text(PermutedLosses({1: 0.25}, 4, 2, 2.0, 3, 4, 0)))
    rows left out                          0  of 4
    groups                                 2
    rows in a group                      2.0  3 in the largest
    queries by 1 column(s)           0.25000  KL divergence, 0 is exact
    """
    return "\n".join(_permuted(losses))


def _permuted(losses: PermutedLosses) -> Iterator[str]:
    yield f"{'rows left out':{_NAME}}{losses.suppressed:>10,}  of {losses.rows:,}"
    yield f"{'groups':{_NAME}}{losses.groups:>10,}"
    yield f"{'rows in a group':{_NAME}}{losses.average_group_size:>10,.1f}  {losses.largest_group:,} in the largest"
    sample = f", in a sample of {losses.queried:,} rows" if losses.queried < losses.rows else ""
    for level, loss in losses.queries.items():
        yield f"{f'queries by {level} column(s)':{_NAME}}{loss:>10.5f}  KL divergence, 0 is exact{sample}"
    if not losses.queries and losses.rows > ASKED:
        yield f"{'queries':{_NAME}}{'-':>10}  not asked of so many rows; `treeanon compare --permuted --queries 2` does"


def losses_data(losses: Losses, mining: MiningLoss | None = None) -> dict[str, Any]:
    """Return the losses of a release as plain data; mining losses under `mining`, if they were measured.

    >>> from treeanon.metrics import Counts
    >>> held, left = Counts(2, 4, 2, {"sex": 2}), Counts(2, 4, 1, {"sex": 1})
    >>> data = losses_data(Losses(0.5, {"sex": 0.5}, 1.0, {}, 0.25, held, left))
    >>> data["value_loss"], data["after"]["values"], "mining" in data
    (0.5, {'sex': 1}, False)
    """
    return losses.as_dict() | ({"mining": mining.as_dict()} if mining else {})


_RISK_NAME = 12
_LEAST = 4
_TABLE_NAME = 42
_WIDTH = 79


def risk_text(risk: Risk, most: int = 10) -> str:
    """Return the shares by attacker knowledge, the risks of rows, and the `most` dangerous combinations.

    >>> from treeanon.risks.model import Combination
    >>> cell = Share(3, 4, 0.75, 0.75)
    >>> print(risk_text(Risk("trees", 5, 1, 0, 4, 4, "exact", ((cell,),), ((Share(1, 4, 0.25, 0.25),),),
    ...     (Combination(("age",), (), 3, 0.75),))))
    4 persons, all examined
    <BLANKLINE>
    singled out among fewer than 5 persons by knowledge of up to
                     no relation
    1 value               75.0 %
    <BLANKLINE>
    singled out uniquely by knowledge of up to
                     no relation
    1 value               25.0 %
    <BLANKLINE>
    minimal combinations that single out among fewer than 5
              3   75.0 %  age
    """
    parts = [[_people(risk)], *(_of_trees(risk) if risk.kind == "trees" else _of_table(risk))]
    if risk.largest_l:
        parts.append(list(_diversity(risk)))
    if risk.combinations:
        parts.append(list(_combinations(risk, most)))
    return "\n\n".join("\n".join(part) for part in parts)


def _people(risk: Risk) -> str:
    if risk.exactness == "exact":
        return f"{counted(risk.persons, 'person')}, all examined"
    return f"{counted(risk.persons, 'person')}, of whom {risk.decided:,} were examined, drawn at random"


def _of_trees(risk: Risk) -> Iterator[list[str]]:
    few = f"singled out among fewer than {risk.k:,} persons by knowledge of up to"
    yield [few, *_matrix(risk.below_k)]
    yield ["singled out uniquely by knowledge of up to", *_matrix(risk.unique), *_bounds(risk)]


def _uniqueness(found: Uniqueness) -> Iterator[str]:
    """Yield a line for each estimate of how many persons are unique in the population."""
    of = f"of {counted(found.population, 'person')} of the population"
    for name in ESTIMATORS:
        told: float | None = getattr(found, name)
        share = "no solution" if told is None else _risk_percent(told / found.population)
        yield f"{f'unique in the population ({name})':{_TABLE_NAME}}{share:>11}  {of}"


def _diversity(risk: Risk) -> Iterator[str]:
    known = "2 values, 1 relation" if risk.kind == "trees" else "all columns"
    yield f"largest l (no value held by more than 1/l), groups by {known}"
    for name, largest in risk.largest_l.items():
        yield f"{name:{_RISK_NAME}}" + (f"{largest:>{_RISK_NAME}}" if largest is not None else "no values")


def _matrix(rows: Sequence[Sequence[Share]]) -> Iterator[str]:
    """Yield a line for every number of values, with a column for every number of relations."""
    many = len(rows[0])
    width = (_WIDTH - _RISK_NAME) // max(many, _LEAST)
    heads = ["no relation", *(counted(n, "relation") if many <= _LEAST else str(n) for n in range(1, many))]
    widths = [max(width, len(heads[0])), *(width for _ in heads[1:])]
    yield f"{'':{_RISK_NAME}}" + "".join(f"{head:>{size}}" for head, size in zip(heads, widths, strict=True))
    for m, row in enumerate(rows, start=1):
        cells = (f"{_risk_percent(cell.share):>{size}}" for cell, size in zip(row, widths, strict=True))
        yield f"{counted(m, 'value'):{_RISK_NAME}}" + "".join(cells)


def _bounds(risk: Risk) -> Iterator[str]:
    """Yield the error bounds of the shares."""
    cells = [share for rows in (risk.below_k, risk.unique) for row in rows for share in row]
    off = max((max(cell.share - cell.low, cell.high - cell.share) for cell in cells), default=0.0)
    if risk.exactness == "sampled":
        yield f"each within {100 * off:.1f} points of the share of all persons, with 95 % confidence"
    elif off:
        yield f"each may be up to {100 * off:.1f} points higher: some persons were not fully examined"


def _of_table(risk: Risk) -> Iterator[list[str]]:
    lines = [f"{'singled out by knowledge of up to':{_TABLE_NAME}}{f'among fewer than {risk.k:,}':>21}{'alone':>12}"]
    for m, (below, alone) in enumerate(zip(risk.below_k, risk.unique, strict=True), start=1):
        lines.append(_line(counted(m, "column"), below[0], alone[0]))
    whole = risk.whole
    if whole is None:
        yield lines
        return
    yield [*lines, _line("all quasi-identifiers", whole.below_k, whole.unique)]
    yield list(_whole(whole))


def _line(name: str, below: Share, alone: Share) -> str:
    return f"{name:{_TABLE_NAME}}{_risk_percent(below.share):>21}{_risk_percent(alone.share):>12}"


def _whole(whole: RowRisk) -> Iterator[str]:
    yield f"{'groups with equal quasi-identifiers':{_TABLE_NAME}}{whole.groups:>11,}"
    yield f"{'smallest group: k of the file':{_TABLE_NAME}}{whole.smallest:>11,}"
    known = f"{_risk_percent(whole.prosecutor):>11}  knows who is in the file"
    yield f"{'prosecutor risk: highest probability':{_TABLE_NAME}}{known}"
    if whole.journalist is None:
        yield f"{'journalist risk':{_TABLE_NAME}}{'not higher':>11}  without --population"
    else:
        of = f"population of {whole.population or 0:,}"
        yield f"{'journalist risk: highest probability':{_TABLE_NAME}}{_risk_percent(whole.journalist):>11}  {of}"
    yield f"{'marketer risk: mean probability':{_TABLE_NAME}}{_risk_percent(whole.marketer):>11}"
    if whole.uniqueness is not None:
        yield from _uniqueness(whole.uniqueness)
    if whole.absent:
        yield f"{counted(whole.absent, 'person')}: fewer matches in the population than in the file; the latter count"


def _combinations(risk: Risk, most: int) -> Iterator[str]:
    of = "" if risk.exactness == "exact" else ", of those examined"
    yield f"minimal combinations that single out among fewer than {risk.k:,}{of}"
    for one in risk.combinations[:most]:
        head = f"{one.persons:>11,}{_risk_percent(one.share):>9}  "
        yield from wrap(_clean(one.text), _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    left = len(risk.combinations) - most
    if left > 0:
        least = "at least " if len(risk.combinations) >= MOST_COMBINATIONS else ""
        yield f"and {least}{counted(left, 'more combination')} (--json lists {'them' if left > 1 else 'it'})"


def _risk_percent(share: float) -> str:
    """Return the share in percent, never rounded to 0 or 100."""
    text = f"{100 * share:.1f}"
    if text == "0.0" and share > 0:
        return "< 0.1 %"
    return "> 99.9 %" if text == "100.0" and share < 1 else f"{text} %"


def _clean(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
