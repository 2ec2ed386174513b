"""What a look finds, as HTML for the parts of the page. Every text goes through `el`, which makes text of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treeanon.explore.chart import chart, numbers
from treeanon.explore.sample import Ground
from treeanon.explore.session import Curved, Event, Looked, Problem, Risked
from treeanon.explore.settings import LARGEST_K
from treeanon.explore.snapshot import Outcome
from treeanon.forest import Forest
from treeanon.metrics import Losses
from treeanon.metrics.table import FlatLosses
from treeanon.release import PermutedRelease, Release, TableRelease
from treeanon.report.page.elements import Content, el, text_of
from treeanon.report.page.page import internal_sections
from treeanon.report.page.parts import percent, scrolled
from treeanon.report.page.reading import as_they_are
from treeanon.report.page.risks import NOT_ALIKE, risks
from treeanon.report.page.statement import guarantees, statement

Contents = Sequence[Content]

SECTIONS = ("records", "losses", "relations", "hierarchies")
PARTS = ("status", "guarantee", "curve", "points", "risk", *SECTIONS)
"""The names of the parts, which are ids of the page."""

_TAKEN = "Another look has taken the place of this one, perhaps in another window. Move a setting to go on here."


def parts_of(event: Event, ground: Ground) -> dict[str, str]:
    """The HTML of the parts that an event changes, by their names."""
    return {name: _html(content) for name, content in _parts(event, ground).items()}


def _html(content: Contents) -> str:
    """The HTML of what an element would hold."""
    return text_of(el("div", *content))[len("<div>") : -len("</div>")]


def _parts(event: Event, ground: Ground) -> Mapping[str, Contents]:
    if isinstance(event, Looked):
        return _looked(event.outcome, ground)
    if isinstance(event, Risked):
        section = risks(event.before, event.after, NOT_ALIKE if event.after is None else "")
        return {"risk": section.content if section else ()}
    if isinstance(event, Curved):
        return _curved(event, ground)
    if isinstance(event, Problem):
        problem = [el("p", line, class_="problem") for line in event.message.splitlines()]
        if event.part == "risk":
            return {"risk": problem}
        none: dict[str, Contents] = dict.fromkeys(PARTS, ())
        return {**none, "status": ["There is no release by these settings."], "guarantee": problem}
    return {} if event.complete else {"status": [_TAKEN]}


def _looked(found: Outcome, ground: Ground) -> Mapping[str, Contents]:
    release = found.preview.release
    assert not isinstance(release, PermutedRelease)
    before = ground.data if isinstance(ground.data, Forest) else None
    sections = [one for one in internal_sections(release, before, found.preview.changes) if one is not None]
    return {
        "status": [f"{_summary(release.loss)}; found in {found.seconds:.2f} s."],
        "guarantee": _guarantee(release, ground),
        **dict.fromkeys(SECTIONS, ()),
        **{section.key: section.content for section in sections},
    }


def _summary(loss: Losses | FlatLosses) -> str:
    if isinstance(loss, Losses):
        return f"Value loss {loss.value_loss:.3f}, relations kept {percent(loss.relations_kept)}"
    return f"GCP {loss.gcp_taxonomy:.3f}, from 0 (as held) to 1 (lost)"


def _guarantee(release: Release | TableRelease, ground: Ground) -> Contents:
    """What holds, and what gave way beside details of values."""
    found = [(release.verdict.holds, release.verdict.sentence)]
    whole = None if ground.whole else el("p", "This is true of the sample, and says nothing of the whole input.")
    told = release.as_dict()
    withheld = ", ".join(told.get("withheld", ()))
    return [
        statement(guarantees(release), found),
        whole,
        el("p", f"Withheld, as too rare to be published safely: {withheld}.") if withheld else None,
        el("p", f"Persons left out as outliers: {told['suppressed']:,}.") if told.get("suppressed") else None,
        as_they_are(release.unprotected()),
    ]


def _curved(found: Curved, ground: Ground) -> Mapping[str, Contents]:
    """The curve so far, and its numbers."""
    largest = min(LARGEST_K, max(ground.persons, found.k))
    left = f"{found.left} more to come." if found.left else "Each point is a search of its own, by the same settings."
    drawing = scrolled("Loss against k", chart(found.points, found.k, largest))
    return {"curve": [drawing, el("p", left, class_="hint")], "points": [numbers(found.points)]}
