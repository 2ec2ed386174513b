"""Previews as text for a terminal, marked as original data.

Records before and after are shown side by side, or one below the other if the terminal is narrow.
"""

from __future__ import annotations

from collections.abc import Iterator

from treeanon.previews.model import Change, Part, RecordChange, RowChange, document_of
from treeanon.previews.preview import Preview
from treeanon.release import PermutedRelease, Release
from treeanon.reports.preview_cells import (
    Line,
    Pair,
    Remark,
    Side,
    Span,
    Style,
    cell,
    counts_of,
    cut,
    first,
    fits,
    folded,
    in_colors,
    pairs_of,
    plain,
    wrapped,
)
from treeanon.shown import percent
from treeanon.verifier.freeform import FreeformVerdict

SIGNS: dict[Change, str] = {"generalized": "~", "moved": ">", "merged": "=", "dropped": "x", "left-out": "-"}
WORDS: dict[Change, str] = {
    "generalized": "generalized", "moved": "moved", "merged": "merged", "dropped": "not published",
    "left-out": "left out",
}  # fmt: skip

STACKED = 64
"""Minimum width for before and after side by side."""
_MIDDLE = 5
_INDENT = 2


def record_lines(change: RecordChange | RowChange, width: int) -> list[Line]:
    """Return the lines of a record before and after, of at most `width` columns."""
    drawn = _stacked if width < STACKED else _beside
    return [line for pair in pairs_of(change) for line in drawn(pair, width)]


def heading(width: int) -> list[Line]:
    """Return the heading of the two sides."""
    if width < STACKED:
        return [(Span(cut("before, -> after", width), "title"),)]
    return [(Span(cell("before", (width - _MIDDLE) // 2 + _MIDDLE), "title"), Span("after", "title"))]


def _style(changes: frozenset[Change]) -> Style:
    """Return the style of a line: that of its most important change."""
    order: tuple[Change, ...] = ("dropped", "left-out", "moved", "generalized", "merged")
    return next((kind for kind in order if kind in changes), "")


def _signs(changes: frozenset[Change]) -> str:
    return "".join(sign for kind, sign in SIGNS.items() if kind in changes)


def _shown(side: Side, width: int) -> list[str]:
    """Return the lines of a side, wrapped to the width."""
    lead, text = " " * _indent(side, width), _text(side, width)
    whole = lead + text
    lines = [] if fits(whole, width) else wrapped(text, width - len(lead) - _INDENT)
    if len(lines) < 2:
        return [cut(whole, width)]
    # Continuation lines are indented: they are not separate values.
    return [lead + lines[0], *(lead + " " * _INDENT + line for line in lines[1:])]


def _indent(side: Side, width: int) -> int:
    return min(_INDENT * side.depth, width // 3)


def _text(side: Side, width: int) -> str:
    """Return the text, prefixed by its depth if there is no room for the indentation."""
    return side.text if _INDENT * side.depth <= width // 3 else f"[{side.depth + 1}] {side.text}"


def _remark_text(remark: Remark, width: int) -> str:
    """Return a remark in at most `width` columns, in its short form if necessary."""
    text = f"({remark.text})"
    return cut(text if fits(text, width) or not remark.short else f"({remark.short})", width)


def _published(pair: Pair, width: int) -> Iterator[tuple[str, bool]]:
    """Yield the lines of the published side, and whether each is a remark."""
    if pair.after is None:
        yield from ((_remark_text(remark, width), True) for remark in pair.remarks)
        return
    whole = (
        f"{' ' * _indent(pair.after, width)}{_text(pair.after, width)} ({', '.join(one.text for one in pair.remarks)})"
    )
    if pair.remarks and fits(whole, width):
        yield cut(whole, width), False
        return
    yield from ((line, False) for line in _shown(pair.after, width))
    lead = " " * (_indent(pair.after, width) + _INDENT)
    yield from ((lead + _remark_text(remark, width - len(lead)), True) for remark in pair.remarks)


def _beside(pair: Pair, width: int) -> Iterator[Line]:
    left = (width - _MIDDLE) // 2
    style, signs = _style(pair.changes), _signs(pair.changes)
    own = [] if pair.before is None else _shown(pair.before, left)
    published = list(_published(pair, width - _MIDDLE - left))
    for i in range(max(len(own), len(published))):
        text = own[i] if i < len(own) else ""
        right, is_remark = published[i] if i < len(published) else ("", False)
        sign = Span((signs if i == 0 else "").center(_MIDDLE), style)
        yield (Span(cell(text, left)), sign, Span(right, "faint" if is_remark else style))


def _stacked(pair: Pair, width: int) -> Iterator[Line]:
    style, signs = _style(pair.changes), _signs(pair.changes).ljust(3) + " "
    if pair.before is not None:
        for line in _shown(pair.before, width - 4):
            yield (Span(signs, style), Span(line))
            signs = " " * 4
    if pair.before is None or pair.changes or pair.remarks:
        lead = (signs if pair.before is None else " " * 4) + "-> "
        for text, is_remark in _published(pair, width - 7):
            yield (Span(lead, style), Span(text, "faint" if is_remark else style))
            lead = " " * 7


def document_lines(part: Part, width: int, depth: int = 0) -> Iterator[Line]:
    """Yield the lines of a document, of at most `width` columns: a value, and what it is published as.

    >>> from treeanon.previews.model import Value
    >>> age = Part('"age": ', Value("34", "30-39", frozenset({"generalized"})))
    >>> [line[0].text + line[1].text for line in document_lines(Part("{", None, (age,), "}"), 40)]
    ['    {', '~     "age": 34 -> 30-39', '    }']
    """
    lead, value = " " * min(_INDENT * depth, width // 3), part.value
    changes = frozenset[Change]() if value is None else value.changes
    if part.parts:
        style: Style = "dropped" if part.is_gone else ""
        yield _document_line("", style, lead + part.lead, width)
        for inner in part.parts:
            yield from document_lines(inner, width, depth + 1)
        yield _document_line("", style, lead + part.trail, width)
        return
    own = lead + part.lead + ("" if value is None else value.before)
    became = "" if value is None or value.after in (None, value.before) else f"-> {value.after}"
    whole = f"{own} {became}{part.trail}" if became else own + part.trail
    signs, style = _signs(changes), _style(changes)
    if not became or fits(whole, width - _GUTTER):
        yield _document_line(signs, style, whole, width)
        return
    yield _document_line(signs, style, own, width)
    yield _document_line("", style, f"{lead}{' ' * _INDENT}{became}{part.trail}", width)


_GUTTER = 4


def _document_line(signs: str, style: Style, text: str, width: int) -> Line:
    return Span(signs.ljust(_GUTTER), style), Span(cut(text, width - _GUTTER), style)


WIDTH = 80
WIDEST = 160
NARROWEST = 20
LINES = 60


def preview_text(
    preview: Preview, *, width: int = WIDTH, color: bool = False, lines: int | None = LINES, document: bool = False
) -> str:
    """Return the preview as text of at most `width` columns and at most `lines` lines for each record (None: all).

    With `document`, records of XML, JSON and YAML are shown as these have them, with what changed in its place.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> forest = ta.Forest.from_records(schema, [[["age", "34", []]], [["age", "34", []]], [["age", "35", []]]])
    >>> print(preview_text(ta.preview(forest, k=2, records=1)))
    PREVIEW: nothing is written. It shows ORIGINAL data: do not publish it.
    Whoever knows up to 2 values of a person and up to 1 relation between them finds
    at least 2 records that may be theirs.
    Verified by counting: 2^(2,1)-anonymity holds, for what is known of the original
    and as published (TREE). The largest k that holds is 3.
    Value loss 1.000, relations kept 100.0 %.
    <BLANKLINE>
    ~ generalized   > moved   = merged   x not published   - left out
    <BLANKLINE>
    record 1 of 3, changed by 100 %
    before                                    after
    age: 34                                ~  age: *
    1 generalized, 0 unchanged
    """
    show = in_colors if color else plain
    return "\n".join(show(line) for line in preview_lines(preview, width=width, lines=lines, document=document))


def preview_lines(
    preview: Preview, *, width: int = WIDTH, lines: int | None = LINES, document: bool = False
) -> list[Line]:
    """Return the preview as lines of spans, for any renderer."""
    width = max(NARROWEST, min(width, WIDEST))
    out: list[Line] = [(Span(text, "title"),) for text in folded(_BANNER, width)]
    out += [(Span(text),) for sentence in guarantee_sentences(preview) for text in folded(sentence, width)]
    out += [(), *_legend(width)]
    for change in preview.changes:
        part = _document(preview, change) if document else None
        body = record_lines(change, width) if part is None else list(document_lines(part, width))
        out += [(), *_title(preview, change, width), *(heading(width) if part is None else ())]
        out += body if lines is None else first(body, lines, width)
        out += [(Span(text, "faint"),) for text in folded(_summary(change), width)]
    if not preview.changes:
        out += [(), *((Span(text),) for text in folded(_NONE, width))]
    return out


def _document(preview: Preview, change: RecordChange | RowChange) -> Part | None:
    if isinstance(change, RowChange) or not isinstance(preview.release, Release):
        return None
    return document_of(change, preview.release.forest.schema)


_MOST_TYPES = 3
_BANNER = "PREVIEW: nothing is written. It shows ORIGINAL data: do not publish it."
_NONE = "No record to show: the selected classes changed in none."


def guarantee_sentences(preview: Preview) -> list[str]:
    """Return sentences on the guarantee, the verdict, the losses and the sample, without values of the data."""
    release = preview.release
    if isinstance(release, Release):
        sentences = [release.solution.guarantee.sentence, f"Verified by counting: {release.verdict.sentence}"]
        loss = release.loss
        sentences.append(f"Value loss {loss.value_loss:.3f}, relations kept {100 * loss.relations_kept:.1f} %.")
        shares = {name: of.whole for name, of in loss.objects.items() if of.whole is not None}
        if 0 < len(shares) <= _MOST_TYPES:
            told = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
            sentences.append(f"Objects kept whole: {told}.")
        elif shares:
            least = min(shares, key=lambda name: shares[name])
            sentences.append(f"Objects of {len(shares)} types kept whole: {percent(shares[least])} at least ({least}).")
    else:
        requested = f"Requested: {', '.join(model.name for model in release.models)}."
        sentences = [requested if isinstance(release, PermutedRelease) else release.sentence]
        sentences.append(f"Verified by counting: {release.verdict.sentence}")
        if isinstance(release, PermutedRelease):
            hidden = release.made.sensitive.name
            sentences.append(
                f"Only {hidden} is protected, among the values of each group; all else is published unchanged."
            )
        else:
            left_out = f"{release.loss.suppressed:,} of {release.loss.rows:,} rows suppressed"
            sentences.append(
                f"GCP (taxonomy) {release.loss.gcp_taxonomy:.3f}, from 0 (unchanged) to 1 (lost); {left_out}."
            )
    return [*sentences, *sample_sentences(preview)]


def sample_sentences(preview: Preview) -> list[str]:
    """Return a caution if the preview is of a sample.

    >>> sample_sentences(Preview(None, (), 1000, 50))[0][:42]
    'This preview is of a SAMPLE of 50 of 1,000'
    """
    if preview.sampled is None:
        return []
    return [
        f"This preview is of a SAMPLE of {preview.sampled:,} of {preview.records:,} records: the release of all records"
        " will differ, and what holds for the sample may not hold for all."
    ]


def _legend(width: int) -> list[Line]:
    """Return the legend of the signs; colors add no information."""
    marks = [Span(f"{SIGNS[kind]} {WORDS[kind]}", kind) for kind in SIGNS]
    lines: list[list[Span]] = [[]]
    for mark in marks:
        if lines[-1] and sum(len(span.text) for span in lines[-1]) + 3 + len(mark.text) > width:
            lines.append([])
        lines[-1] += [Span("   "), mark] if lines[-1] else [mark]
    return [tuple(line) for line in lines]


def _title(preview: Preview, change: RecordChange | RowChange, width: int) -> list[Line]:
    name = "row" if isinstance(change, RowChange) else "record"
    text = f"{name} {change.number + 1:,} of {preview.records:,}"
    if change.after is None:
        text += ", suppressed"
    else:
        text += f", changed by {100 * change.change:.0f} %"
        if isinstance(change, RowChange):
            text += _alike(preview, change)
    return [(Span(line, "title"),) for line in folded(text, width)]


def _alike(preview: Preview, change: RowChange) -> str:
    """Return the group size of a published row; a freeform release does not show it."""
    release = preview.release
    if isinstance(release, Release) or isinstance(release.verdict, FreeformVerdict):
        return ""
    what = "in a group of" if isinstance(release, PermutedRelease) else "one of"
    rows = f"{change.alike:,} published rows"
    return f", {what} {rows}" if isinstance(release, PermutedRelease) else f", {what} {rows} that are alike"


def _summary(change: RecordChange | RowChange) -> str:
    counts = counts_of(change)
    kinds: list[Change] = list(SIGNS)
    sentences = [f"{counts[kind]:,} {WORDS[kind]}" for kind in kinds if counts[kind]]
    return ", ".join([*sentences, f"{counts[None]:,} unchanged"])
