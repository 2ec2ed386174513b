"""Settings as the command line that publishes the whole input by them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import PurePath

from treeanon.explore.sample import Ground
from treeanon.explore.settings import QUICK, Settings
from treeanon.io.relational.urls import is_database, shown

_READING = {"format": "--from", "delimiter": "--delimiter", "on_error": "--on-error", "strict": "--strict"}


def command_line(settings: Settings, ground: Ground) -> str:
    """The command line, quoted for a shell. A quick look is left to the page: it asks for the usual effort.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"age": (["34"], Hierarchy.flat(["34"]))})
    >>> ground = Ground(table, 1, 1, 1, source="my census.csv", schema="s.toml")
    >>> command_line(Settings("table", k=7, algorithm="local"), ground)
    "treeanon anonymize 'my census.csv' -s s.toml -k 7 -a local -o 'my census-release.csv'"
    """
    source = shown(ground.source)
    # After `--` nothing is an option, whatever the input is called.
    named = ["--", source] if source.startswith("-") and source != "-" else [source]
    words = [f"-s={ground.schema}"] if ground.schema.startswith("-") else ["-s", ground.schema]
    options = [*words, *_asked(settings), *_reading(ground), "-o", output_name(ground.source)]
    words = [*options, *named] if named[0] == "--" else [*named, *options]
    return shlex.join(["treeanon", "anonymize", *words])


def _asked(settings: Settings) -> Iterator[str]:
    yield from ("-k", str(settings.k))
    if settings.kind == "trees":
        yield from ("-m", str(settings.m), "-n", str(settings.n))
    if settings.attacker != "independent":
        yield from ("--attacker", settings.attacker)
    if settings.l is not None:
        yield from ("--l", str(settings.l))
    yield from ("-a", settings.algorithm)
    for name, weight in settings.options.get("weights", {}).items():
        yield from ("--weight", f"{name}={weight:g}")
    if settings.options.get("effort", QUICK) != QUICK:
        yield from ("--effort", settings.effort)
    if settings.suppressed != "0":
        yield from ("--max-suppressed", settings.suppressed)


def _reading(ground: Ground) -> Iterator[str]:
    for reduction in ground.reading.get("reduced", ()):
        yield from ("--reduce", reduction)
    for name, flag in _READING.items():
        given = ground.reading.get(name)
        if given is True:
            yield flag
        elif given and given != "error":
            yield from (flag, str(given))


def output_name(source: str) -> str:
    """A name for the release beside that of its input, of the same format.

    >>> output_name("data/patients.xml.gz"), output_name("clinic/"), output_name("-"), output_name("postgresql://u@h/d")
    ('patients-release.xml.gz', 'clinic-release', 'release', 'release')
    """
    if source == "-" or is_database(source):
        return "release"
    path = PurePath(source)
    endings = "".join(path.suffixes)
    stem = path.name.removesuffix(endings).replace("*", "") or "release"
    return f"{stem}-release{endings}"
