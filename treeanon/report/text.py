"""Results as plain text of at most 80 columns, for terminals."""

from __future__ import annotations

from collections.abc import Iterator

from treeanon.loss import Losses, MiningLoss

_NAME = 30
_BAR = 20
_MOST_PAIRS = 20


def losses_text(losses: Losses, mining: MiningLoss | None = None) -> str:
    """The losses of a release as tables: totals, then classes, then the pairs of classes that lost relations.

    >>> from treeanon.loss import Counts
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
    return "\n".join((*_totals(losses, mining), *_classes(losses), *_pairs(losses)))


def _totals(losses: Losses, mining: MiningLoss | None) -> Iterator[str]:
    before, after = losses.before, losses.after
    yield f"{'':{_NAME}}{'input':>14}{'release':>14}"
    yield f"{'persons':{_NAME}}{before.records:>14,}{after.records:>14,}"
    yield f"{'nodes':{_NAME}}{before.nodes:>14,}{after.nodes:>14,}"
    yield f"{'different trees':{_NAME}}{before.trees:>14,}{after.trees:>14,}"
    yield ""
    yield f"{'value loss':{_NAME}}{losses.value_loss:>14.3f}  0 as held, 1 class root"
    yield f"{'relations kept':{_NAME}}{_percent(losses.relations_kept):>14}"
    yield f"{'RPD':{_NAME}}{losses.rpd:>14.5f}  lower is better"
    if mining:
        part = "" if mining.records == mining.of_records else "a sample of "
        yield f"{'ML2':{_NAME}}{mining.ml2:>14.3f}  mined in {part}{mining.records:,} persons"
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
