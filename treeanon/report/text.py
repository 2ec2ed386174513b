"""Results as plain text of at most 80 columns, for terminals.

Results as plain data, for JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treeanon.metrics import Losses, MiningLoss
from treeanon.metrics.table import FlatLosses
from treeanon.metrics.table.permuted import PermutedLosses

_NAME = 30
_BAR = 20
_MOST_PAIRS = 20


def losses_text(losses: Losses, mining: MiningLoss | None = None, *, matched: bool = True) -> str:
    """The losses of a release as tables: totals, then classes, then the pairs of classes that lost relations.

    dML² is left out where records were not `matched` with those that they came from.

    >>> from treeanon.metrics import Counts
    >>> held, left = Counts(2, 4, 2, {"sex": 2}), Counts(2, 4, 1, {"sex": 1})
    >>> print(losses_text(Losses(0.5, {"sex": 0.5}, 0.75, {"sex>age": 0.75}, 0.25, held, left)))
                                           input       release
    persons                                    2             2
    nodes                                      4             4
    different trees                            2             1
    <BLANKLINE>
    value loss                             0.500  0 as held, 1 class root
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
    return "\n".join((*_totals(losses), *mined, *_classes(losses), *_pairs(losses)))


def _totals(losses: Losses) -> Iterator[str]:
    before, after = losses.before, losses.after
    yield f"{'':{_NAME}}{'input':>14}{'release':>14}"
    yield f"{'persons':{_NAME}}{before.records:>14,}{after.records:>14,}"
    yield f"{'nodes':{_NAME}}{before.nodes:>14,}{after.nodes:>14,}"
    yield f"{'different trees':{_NAME}}{before.trees:>14,}{after.trees:>14,}"
    yield ""
    yield f"{'value loss':{_NAME}}{losses.value_loss:>14.3f}  0 as held, 1 class root"
    yield f"{'relations kept':{_NAME}}{_percent(losses.relations_kept):>14}"
    yield f"{'RPD':{_NAME}}{losses.rpd:>14.5f}  lower is better"


def _mined(mining: MiningLoss, *, matched: bool) -> Iterator[str]:
    part = "" if mining.records == mining.of_records else "a sample of "
    yield f"{'ML2':{_NAME}}{mining.ml2:>14.3f}  mined in {part}{mining.records:,} persons"
    if matched:
        yield f"{'dML2':{_NAME}}{mining.dml2:>14.3f}"


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
        text, number = _cell(pair.replace(">", " > "), 79), _percent(kept)
        if len(text) < _NAME + 14 - len(number):
            yield f"{text:{_NAME}}{number:>{14 - max(len(text) - _NAME, 0)}}"
        else:  # a line of its own, so that the numbers keep their column
            yield text
            yield f"{number:>{_NAME + 14}}"
    if len(lost) > _MOST_PAIRS:
        yield f"and {len(lost) - _MOST_PAIRS} more pairs of classes"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _cell(text: str, most: int) -> str:
    """The text in at most so many printable characters."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    return clean if len(clean) <= most else clean[: most - 1] + "~"


def flat_losses_text(losses: FlatLosses, *, alike: bool = True) -> str:
    """The losses of a release of a table: totals, then columns; what counts groups only where rows are `alike`.

    >>> print(flat_losses_text(FlatLosses(0.5, 0.5, {"sex": 0.5}, {"sex": 0.5}, 8, None, 2.0, 0.5, 1, 2, 4, 0)))
    rows left out                          0  of 4
    groups                                 2
    GCP (taxonomy)                   0.50000  0 as held, 1 lost
    GCP (set)                        0.50000
    precision                        0.50000  1 as held
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
    yield f"{'GCP (taxonomy)':{_NAME}}{losses.gcp_taxonomy:>10.5f}  0 as held, 1 lost"
    yield f"{'GCP (set)':{_NAME}}{losses.gcp_set:>10.5f}"
    yield f"{'precision':{_NAME}}{losses.precision:>10.5f}  1 as held"
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
    """The losses of a permuted release.

    >>> print(permuted_losses_text(PermutedLosses({1: 0.25}, 2, 2.0, 3, 4, 0)))
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
    for level, loss in losses.queries.items():
        yield f"{f'queries by {level} column(s)':{_NAME}}{loss:>10.5f}  KL divergence, 0 is exact"


def losses_data(losses: Losses, mining: MiningLoss | None = None) -> dict[str, Any]:
    """The losses of a release as plain data; mining losses under `mining`, if they were measured.

    >>> from treeanon.metrics import Counts
    >>> held, left = Counts(2, 4, 2, {"sex": 2}), Counts(2, 4, 1, {"sex": 1})
    >>> data = losses_data(Losses(0.5, {"sex": 0.5}, 1.0, {}, 0.25, held, left))
    >>> data["value_loss"], data["after"]["values"], "mining" in data
    (0.5, {'sex': 1}, False)
    """
    return losses.as_dict() | ({"mining": mining.as_dict()} if mining else {})
