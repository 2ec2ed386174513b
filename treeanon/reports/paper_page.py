"""The running example of the paper on trees as text, as a page, and as files of pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

from treeanon.reports.page.elements import Content, Element, Section, el, style, table, text_of
from treeanon.reports.page.page import head
from treeanon.reports.paper_steps import Picture, Step

TITLE = "The running example of the paper on k^(m,n)-anonymity"
SOURCE = (
    "O. Gkountouna, M. Terrovitis: Anonymizing collections of tree-structured data, IEEE TKDE 2015. The persons are"
    " invented; here k = 2, m = 2 and n = 1."
)

_WIDTH = 100
_COLOR = re.compile(r"--([\w-]+): ([^;]+);")


def paper_lines(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the steps as lines of text."""
    yield TITLE
    yield from wrap(SOURCE, _WIDTH)
    for number, step in enumerate(steps, start=1):
        yield from ("", f"{number}. {step.title} ({step.section})", "")
        yield from wrap(step.words, _WIDTH)
        yield ""
        yield from (f"  {line}".rstrip() for line in step.lines)


def paper_page(steps: Sequence[Step]) -> str:
    """Return the steps as a page that loads nothing."""
    sections = [_section(number, step) for number, step in enumerate(steps, start=1)]
    links = el("ul", [el("li", el("a", one.title, href=f"#{one.key}")) for one in sections])
    inner = el(
        "div",
        el("header", el("h1", TITLE), el("p", SOURCE, class_="note")),
        el("nav", links, aria_label="Contents"),
        el("main", [one.element() for one in sections], id="content"),
        class_="paper",
    )
    body = el("body", inner, class_="public")
    return "<!DOCTYPE html>\n" + text_of(el("html", head(TITLE, "public"), body, lang="en")) + "\n"


def _section(number: int, step: Step) -> Section:
    content: list[Content] = [el("p", step.section, class_="note"), el("p", step.words)]
    if step.rows:
        content.append(table(step.title, step.heads, step.rows))
    sides = [el("div", el("h4", one.caption), el("div", one.drawing, class_="scroll")) for one in step.pictures]
    if sides:
        content.append(el("div", sides, class_="sides"))
    return Section(f"step-{number}", f"{number}. {step.title}", content)


def picture_file(picture: Picture) -> str:
    """Return a drawing as a file of its own, on a light ground, with the colors of pages."""
    light = style().split("@media", 1)[0]
    colors = dict(_COLOR.findall(light))
    rules = [line for line in style().splitlines() if line.startswith(".tree") and not line.startswith(".tree.wide")]
    css = re.sub(r"var\(--([\w-]+)\)", lambda found: colors[found[1]], "\n".join(rules))
    drawing: Element = picture.drawing
    drawing.set("xmlns", "http://www.w3.org/2000/svg")
    wide, high = drawing.get("width"), drawing.get("height")
    ground = el("rect", width=wide, height=high, style="fill: #fff; stroke: none")
    drawing.insert(0, ground)
    sheet = el("style")
    sheet.text = css + "\ntext { font-family: system-ui, sans-serif; }"
    drawing.insert(0, sheet)
    return text_of(drawing) + "\n"
