"""Bundles of FHIR by the preset, from reading to a checked release, beside `orjson.loads` of the same files.

    python tests/bench/health.py [--persons 450] [--kilobytes 800] [--results tests/bench/RESULTS.md]

Time is that of the processor (other work on the machine does not count), in one process, kernels compiled. Losses are
those at k=5, m=2, n=1; of the diagnoses published the share is told that is a code or the name of a block or chapter.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import orjson
from results import put

import treeanon as ta
from treeanon.infer.preset import schema_by_preset

sys.path.append(str(Path(__file__).parents[2] / "samples"))
from make_health import Health  # type: ignore[import-not-found]

T = TypeVar("T")
WHOLE = ("Encounter", "Condition", "Procedure", "MedicationRequest")
CODES = ("condition (icd10cm)", "procedure (snomed)", "prescription (atc)")


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Return the processor's time of a call, and what it gives."""
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def named(release: ta.Release, name: str) -> float:
    """Return the share of a class's values that are more than its root."""
    forest = release.forest
    at = forest.classes.names.index(name)
    labels = forest.label[forest.classes.class_of[forest.label] == at]
    return float((labels != forest.classes.first[at]).mean())


def measured(folder: Path, persons: int, kilobytes: float) -> list[str]:
    """Return the times and losses as lines."""
    source, out = folder / "bundles", folder / "out"
    source.mkdir()
    size = 0
    for number, bundle in enumerate(Health(persons=persons, kilobytes=kilobytes).bundles()):
        size += (source / f"{number}.json").write_text(json.dumps(bundle))
    # The kernels are compiled, or read, first.
    (folder / "s.toml").write_text(schema_by_preset("fhir-r4", source).text())
    schema = ta.Schema.load(folder / "s.toml")
    ta.read(source / "0.json", schema)
    bare, _ = timed(lambda: deque((orjson.loads(path.read_bytes()) for path in source.iterdir()), maxlen=0))
    reading, forest = timed(lambda: ta.read(source, schema))
    search, release = timed(lambda: ta.anonymize(forest, k=5, m=2, n=1))
    writing, _ = timed(lambda: release.write(out))
    whole = {
        name: kept.whole for name, kept in release.loss.objects.items() if name.endswith("]") and name.count("[") == 1
    }
    lines = [
        f"{persons} bundles, {size / 1e6:.0f} MB, {len(forest.label):,} nodes of {len(schema.classes)} classes.",
        "",
        "| | seconds | of `orjson.loads` |",
        "| --- | --- | --- |",
    ]
    total = reading + search + writing
    for what, took in (
        ("`orjson.loads`", bare), ("reading", reading), ("search and its check", search),
        ("writing, reading again, checking", writing), ("reading to release", total),
    ):  # fmt: skip
        lines.append(f"| {what} | {took:.1f} | {took / bare:.1f} × |")
    lines += ["", "| | whole |", "| --- | --- |"]
    lines += [f"| {kind} | {whole[f'entry[resource.resourceType={kind}]']:.1%} |" for kind in WHOLE]
    lines += ["", "| | value loss | codes, or nodes with a name |", "| --- | --- | --- |"]
    losses = release.loss.value_loss_by_class
    lines += [f"| {name} | {losses[name]:.3f} | {named(release, name):.1%} |" for name in CODES]
    return lines


def main() -> None:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=450)
    parser.add_argument("--kilobytes", type=float, default=800)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = measured(Path(folder), given.persons, given.kilobytes)
    put(["`python tests/bench/health.py` (processor time)", "", *lines], "health", given.results)


if __name__ == "__main__":
    main()
