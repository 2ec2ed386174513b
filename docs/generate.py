"""What the site says of the program itself, taken from it when the site is built.

A hook of the builder: it writes the page of the command line from the commands, the parameters of searches from their
registries, and the drawings of the architecture from the text blocks in its page.
"""

from __future__ import annotations

import re
import textwrap
from html import escape
from pathlib import Path
from typing import Any

import click

HOME = Path(__file__).resolve().parent.parent
COPIED = {
    "preview.svg": "samples/preview.svg",
    "treeanon.schema.json": "schemas/treeanon.schema.json",
    "treeanon.solution.schema.json": "schemas/treeanon.solution.schema.json",
}
"""Files of the repository that pages show or link to."""


def command_line() -> str:
    """Return the page of the command line, in Markdown.

    >>> "## treeanon verify" in command_line()
    True
    """
    from treeanon.cli.main import main

    pages = [
        "# Command line\n",
        "What `treeanon COMMAND --help` prints, for every command. Exit codes are explained in"
        " [Deal with bad input](../how-to/bad-input.md#what-do-the-exit-codes-mean).\n",
    ]
    with click.Context(main, info_name="treeanon") as context:
        for name in main.list_commands(context):
            command = main.get_command(context, name)
            assert command is not None
            pages += _helps(command, click.Context(command, info_name=name, parent=context), 2)
    return "\n".join(pages)


def _helps(command: click.Command, context: click.Context, level: int) -> list[str]:
    context.terminal_width = context.max_content_width = 80
    context.meta["treeanon.cli.help_all"] = True
    pages = [f"{'#' * level} {context.command_path}\n", f"```text\n{command.get_help(context).rstrip()}\n```\n"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            one = command.get_command(context, name)
            assert one is not None
            pages += _helps(one, click.Context(one, info_name=name, parent=context), level + 1)
    return pages


def parameters() -> str:
    """Return the lists of the parameters of all searches, in Markdown.

    >>> "- `g`, a whole number from 1 (default: `2`): Number of cuts" in parameters()
    True
    """
    from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
    from treeanon.algorithms.tree.registry import TREE_ALGORITHMS

    texts = []
    for algorithm in (*TREE_ALGORITHMS.values(), *TABLE_ALGORITHMS.values()):
        texts.append(f"### `{algorithm.name}`\n\n{_sentence(algorithm.summary)}")
        if algorithm.source:
            texts.append(f"Source: {algorithm.source}.")
        items = [f"- `{one.name}`, {_values(one)}: {one.help}".replace("'", "’") for one in algorithm.parameters]
        texts.append("\n".join(items) if items else "No parameters of its own.")
    return "\n\n".join(texts)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _values(parameter: Any) -> str:
    """Return what values a parameter takes, and which it has unless told otherwise."""
    if parameter.required:
        return f"{parameter.expected} (required)"
    return parameter.expected if parameter.default is None else f"{parameter.expected} (default: `{parameter.default}`)"


WIDE, LINE, PAD = 340, 16, 10
"""Drawings fit the narrowest screens at their full size: lengths in pixels."""


def walk_drawing(text: str) -> str:
    """Return a walk as SVG: a box for each line of `file: what happens in it`, and arrows between them.

    >>> walk_drawing("api.py: takes the call").count("<rect")
    1
    """
    parts, y = [], 0
    steps = [line.split(":", 1) for line in text.strip().splitlines()]
    for number, (file, what) in enumerate(steps):
        lines = textwrap.wrap(what.strip(), 47)
        height = PAD * 2 + LINE * (1 + len(lines))
        if number:
            middle = WIDE // 2
            parts.append(f'<path class="way" d="M{middle} {y - 18} V{y - 4} m-4 -5 l4 5 l4 -5"/>')
        parts.append(f'<rect x="1" y="{y + 1}" width="{WIDE - 2}" height="{height - 2}" rx="6"/>')
        parts.append(f'<text class="file" x="{PAD + 2}" y="{y + PAD + 12}">{escape(file.strip())}</text>')
        for at, line in enumerate(lines, 1):
            parts.append(f'<text x="{PAD + 2}" y="{y + PAD + 12 + LINE * at}">{escape(line)}</text>')
        y += height + 18
    return _svg(parts, y - 18, "The files of a walk, from the first to the last")


def map_drawing(text: str) -> str:
    """Return the layers of the package as SVG, a row for each line, its packages side by side.

    >>> map_drawing("kernels\\nforest table").count("<rect")
    3
    """
    parts, y = [], 0
    for line in text.strip().splitlines():
        names = line.split()
        width = (WIDE - 6 * (len(names) - 1)) / len(names)
        for at, name in enumerate(names):
            x = at * (width + 6)
            parts.append(f'<rect x="{x + 1:.1f}" y="{y + 1}" width="{width - 2:.1f}" height="26" rx="4"/>')
            parts.append(f'<text class="name" x="{x + width / 2:.1f}" y="{y + 18}">{escape(name)}</text>')
        y += 34
    return _svg(parts, y - 6, "The packages in layers, lowest first")


def _svg(parts: list[str], height: int, title: str) -> str:
    inside = "".join(parts)
    return (
        f'<svg class="drawing" viewBox="0 0 {WIDE} {height}" width="{WIDE}" height="{height}" role="img"'
        f' aria-label="{title}" xmlns="http://www.w3.org/2000/svg">{inside}</svg>'
    )


def drawn(markdown: str) -> str:
    """Return a page with its text blocks named `walk` and `map` as drawings."""
    for name, draw in (("walk", walk_drawing), ("map", map_drawing)):
        markdown = re.sub(
            rf"^```{name}\n(.*?)^```$",
            lambda found, draw=draw: draw(found[1]),
            markdown,
            flags=re.MULTILINE | re.DOTALL,
        )
    return markdown


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and files that are not in the folder of the pages."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "reference/command-line.md", content=command_line()))
    for name, source in COPIED.items():
        files.append(File.generated(config, name, abs_src_path=str(HOME / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Fill in what is generated, and draw."""
    return drawn(markdown.replace("<!-- generated: parameters -->", parameters()))
