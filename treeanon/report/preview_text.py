"""A preview as text for a terminal, with original data in it, which it says."""

from __future__ import annotations

from treeanon.previews.model import Change, RecordChange, RowChange
from treeanon.previews.preview import Preview
from treeanon.release import PermutedRelease, Release
from treeanon.report.preview_text_cells import Line, Span, first, folded, in_colours, plain
from treeanon.report.preview_text_lines import SIGNS, WORDS, heading, record_lines
from treeanon.report.preview_text_pairs import counts_of
from treeanon.verifier.freeform import FreeformVerdict

WIDTH = 80
WIDEST = 160
NARROWEST = 20
LINES = 60


def preview_text(preview: Preview, *, width: int = WIDTH, color: bool = False, lines: int | None = LINES) -> str:
    """The preview as text of at most so many columns, at most so many lines a record (None: all).

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\npath = "age"')
    >>> forest = ta.Forest.from_records(schema, [[["age", "34", []]], [["age", "34", []]], [["age", "35", []]]])
    >>> print(preview_text(ta.preview(forest, k=2, records=1)))
    PREVIEW: nothing is written. It shows ORIGINAL data: keep it to yourself.
    Whoever knows up to 2 values of a person and up to 1 relation between them finds
    no person, or at least 2.
    Verified by counting: 2^(2,1)-anonymity holds. The largest k that holds is 3.
    Value loss 1.000, relations kept 100.0 %.
    <BLANKLINE>
    ~ more general   > moved   = one with others   x not published
    <BLANKLINE>
    record 1 of 3, changed by 100 %
    before                                    after
    age: 34                                ~  age: *
    1 more general, 0 as they were
    """
    show = in_colours if color else plain
    return "\n".join(show(line) for line in preview_lines(preview, width=width, lines=lines))


def preview_lines(preview: Preview, *, width: int = WIDTH, lines: int | None = LINES) -> list[Line]:
    """The preview as lines of spans, for whatever draws them."""
    width = max(NARROWEST, min(width, WIDEST))
    out: list[Line] = [(Span(text, "title"),) for text in folded(_BANNER, width)]
    out += [(Span(text),) for sentence in told_guarantee(preview) for text in folded(sentence, width)]
    out += [(), *_legend(width)]
    for change in preview.changes:
        body = record_lines(change, width)
        out += [(), *_title(preview, change, width), *heading(width)]
        out += body if lines is None else first(body, lines, width)
        out += [(Span(text, "faint"),) for text in folded(_summary(change), width)]
    if not preview.changes:
        out += [(), *((Span(text),) for text in folded(_NONE, width))]
    return out


_BANNER = "PREVIEW: nothing is written. It shows ORIGINAL data: keep it to yourself."
_NONE = "There is no record to show: what was asked for changed in none."


def told_guarantee(preview: Preview) -> list[str]:
    """Sentences on what the release would guarantee, of what it is, and what it loses; without a value of the data."""
    release = preview.release
    if isinstance(release, Release):
        told = [release.solution.guarantee.sentence, f"Verified by counting: {release.verdict.sentence}"]
        loss = release.loss
        told.append(f"Value loss {loss.value_loss:.3f}, relations kept {100 * loss.relations_kept:.1f} %.")
    else:
        asked = f"Asked for: {', '.join(model.name for model in release.models)}."
        told = [asked if isinstance(release, PermutedRelease) else release.sentence]
        told.append(f"Verified by counting: {release.verdict.sentence}")
        if isinstance(release, PermutedRelease):
            hidden = release.made.sensitive.name
            told.append(f"Only {hidden} is hidden, among the values of a group; all else is published as it is.")
        else:
            left_out = f"{release.loss.suppressed:,} of {release.loss.rows:,} rows left out"
            told.append(f"GCP (taxonomy) {release.loss.gcp_taxonomy:.3f}, from 0 (as held) to 1 (lost); {left_out}.")
    return [*told, *told_sample(preview)]


def told_sample(preview: Preview) -> list[str]:
    """What to know of a preview that is of a sample; nothing for one of all records.

    >>> told_sample(Preview(None, (), 1000, 50))[0][:41]
    'This is of a SAMPLE of 50 of 1,000 record'
    """
    if preview.sampled is None:
        return []
    return [
        f"This is of a SAMPLE of {preview.sampled:,} of {preview.records:,} records: the release of all will be"
        " another, and what holds in the sample need not hold for all."
    ]


def _legend(width: int) -> list[Line]:
    """What the signs mean; colours say nothing more."""
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
        text += ", left out as an outlier"
    else:
        text += f", changed by {100 * change.change:.0f} %"
        if isinstance(change, RowChange):
            text += _alike(preview, change)
    return [(Span(line, "title"),) for line in folded(text, width)]


def _alike(preview: Preview, change: RowChange) -> str:
    """How many rows a published one hides among; of a freeform release that is not to be seen."""
    release = preview.release
    if isinstance(release, Release) or isinstance(release.verdict, FreeformVerdict):
        return ""
    what = "in a group of" if isinstance(release, PermutedRelease) else "one of"
    rows = f"{change.alike:,} published rows"
    return f", {what} {rows}" if isinstance(release, PermutedRelease) else f", {what} {rows} that look alike"


def _summary(change: RecordChange | RowChange) -> str:
    counts = counts_of(change)
    kinds: list[Change] = list(SIGNS)
    told = [f"{counts[kind]:,} {WORDS[kind]}" for kind in kinds if counts[kind]]
    return ", ".join([*told, f"{counts[None]:,} as {'it was' if counts[None] == 1 else 'they were'}"])
