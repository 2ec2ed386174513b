"""Whether an input fits into memory: what anonymizing its trees takes, by a sample of it, and what there is."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from treeanon.errors import TreeanonError
from treeanon.forest import ReadReport
from treeanon.forest.build import with_objects
from treeanon.formats import Format
from treeanon.io.interface import ReadOptions, reader_of
from treeanon.io.profiles.seam import decoded
from treeanon.io.reading import input_format
from treeanon.io.relational.urls import is_remote
from treeanon.io.sources import STDIN, Sources, find_sources, following_links
from treeanon.schema import Schema

SMALL = 64 << 20
"""Bytes of an input below which nothing is estimated."""

_BYTES_A_NODE = 150
"""What trees take while they are read, searched, checked and written; measured, see tests/bench/RESULTS.md."""

_AT_LEAST = 250 << 20
_BYTES_OF_JSON_A_NODE = 20
_MEMORY = Path("/proc/meminfo")
_GROUP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Room:
    """The nodes that an input is estimated to have, the bytes of memory that they take, and those that there are."""

    nodes: int
    needed: int
    there: int

    @property
    def fits(self) -> bool:
        """Whether there is enough by the estimate, which may be wrong by a quarter."""
        return self.needed <= self.there * 1.25

    @property
    def is_tight(self) -> bool:
        """Whether it may not be enough."""
        return self.needed > self.there * 0.8

    @property
    def sentence(self) -> str:
        """Return the estimate in words."""
        return (
            f"about {self.nodes:,} nodes, which take about {self.needed / 1e9:.1f} GB of memory on one machine;"
            f" {self.there / 1e9:.1f} GB are free"
        )


def room_for(source: str | Path, schema: Schema, format: str | None = None) -> Room | None:
    """Return the estimate for an input of documents; None where it is small, or nothing can be told before reading."""
    form = input_format(source, schema, format)
    if str(source) == STDIN or is_remote(str(source)) or not form.is_document or schema.files:
        return None
    with following_links(schema.input.follow_links):
        found, there = find_sources(source, form.endings), memory_there()
    if there is None or found.size is None or found.size < SMALL:
        return None
    schema = schema.for_format(form.name)
    read, nodes = _sample(replace(found, items=decoded(found.items, schema, form)), form, schema)
    if not nodes:
        return None
    total = round(nodes * found.size / max(read, 1))
    held = found.size if form.name == "json" else 0
    return Room(total, _AT_LEAST + held + total * _BYTES_A_NODE, there)


def _sample(found: Sources, form: Format, schema: Schema) -> tuple[int, int]:
    """Return the bytes, as they are stored, of the first records, and their nodes; no nodes where that fails."""
    if form.name == "json":
        # A document would have to be held as a whole.
        return _BYTES_OF_JSON_A_NODE, 1
    read = 0

    def advance(count: int) -> None:
        nonlocal read
        read += count

    options = ReadOptions("skip", collection=True, advance=advance)
    nodes, enough = 0, min(SMALL, found.size or 0) // 64
    # What is wrong is told when all is read.
    with suppress(TreeanonError):
        for batch in reader_of(form.name)(found.items, schema, options, ReadReport()):
            nodes += with_objects(batch, schema.layout).cells
            if read >= enough:
                break
    return read, nodes


def memory_there() -> int | None:
    """Return the bytes of memory that this process can still take, by the machine and by its control groups.

    None where the system does not tell.
    """
    found = [_of_machine(), *_of_groups()]
    known = [free for free in found if free is not None]
    return min(known) if known else None


def _of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMORY.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_groups() -> list[int | None]:
    """Return what is free in each control group, of version 2 or 1, that this process is in."""
    try:
        lines = [line.split(":", 2) for line in _GROUP.read_text().splitlines()]
    except OSError:
        return []
    found: list[int | None] = []
    for _, controllers, name in (line for line in lines if len(line) == 3):
        is_second = not controllers
        if not is_second and "memory" not in controllers.split(","):
            continue
        top = _GROUPS if is_second else _GROUPS / "memory"
        folder = top / name.lstrip("/")
        # A container sees its own group as the top one.
        for group in (folder, *folder.parents) if folder.is_relative_to(top) else (top,):
            if group.is_relative_to(top):
                found.append(_free_in(group, is_second))
    return found


def _free_in(group: Path, is_second: bool) -> int | None:
    limit, used = ("max", "current") if is_second else ("limit_in_bytes", "usage_in_bytes")
    try:
        most = int((group / f"memory.{limit}").read_text())
        taken = int((group / f"memory.{used}").read_text())
    except (OSError, ValueError):  # "max": no limit
        return None
    # What only keeps files at hand is given back.
    with suppress(OSError, ValueError, IndexError):
        name = "inactive_file" if is_second else "total_inactive_file"
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        taken -= int(stat.get(name, 0))
    return max(most - taken, 0)
