"""Forests to measure searches on: TPC-H trees from files, and two invented kinds with long tails of rare values."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import treeanon as ta
from treeanon.forest.classes import Classes
from treeanon.hierarchy import Hierarchy
from treeanon.kernels.tree.forest import canonical
from treeanon.schema.model import ClassSpec, InputSpec

Numbers = npt.NDArray[np.int64]

TPCH_UNDER = {
    "nation": "/",
    "orderdate": "/",
    "orderprice": "orderdate",
    "mfgr": "orderdate",
    "brand": "mfgr",
    "quantity": "brand",
}
EVENTS = {"condition": 6, "medication": 5, "procedure": 4}
"""Classes below an encounter, and the fan-out of their hierarchies."""
POOL, TAIL = 400, 1.5


def schema_of(under: Mapping[str, str], hierarchies: Mapping[str, Hierarchy]) -> ta.Schema:
    specs = tuple(ClassSpec(name, under=upper, hierarchy=hierarchies[name]) for name, upper in under.items())
    return ta.Schema(InputSpec("trees"), specs)


def tpch_schema(folder: Path) -> ta.Schema:
    links = json.loads((folder / "tpch.hierarchy.json").read_text())
    return schema_of(TPCH_UNDER, {name: Hierarchy.from_parents(links[name]) for name in TPCH_UNDER})


def tpch_file(folders: Sequence[Path], records: int) -> Path | None:
    """The file of so many records: the smallest that has about as many (scale factor 10 is 18 short of a million)."""
    files = {int(path.name[5:-12]): path for folder in folders for path in folder.glob("tpch_*.trees.jsonl")}
    fit = [size for size in files if size >= records * 0.9999]
    return files[min(fit)] if fit else None


def read_tpch(path: Path, records: int) -> ta.Forest:
    forest = ta.read(path, tpch_schema(path.parent))
    return forest if len(forest) <= records else forest[:records]


def save(forest: ta.Forest, path: Path) -> Path:
    """A folder from which `load` maps the forest without the peak of memory that reading documents has."""
    path.mkdir(parents=True)
    (path / "meaning").write_bytes(pickle.dumps((forest.schema, forest.classes)))
    for name in ("offsets", "parent", "label"):
        np.save(path / f"{name}.npy", getattr(forest, name))
    return path


def load(path: Path) -> ta.Forest:
    schema, classes = pickle.loads((path / "meaning").read_bytes())
    return ta.Forest(schema, classes, *(np.load(path / f"{name}.npy") for name in ("offsets", "parent", "label")))


def grown(values: int, fan: int, name: str) -> Hierarchy:
    """A hierarchy over so many values, `fan` of them or of its groups in a group; ragged where they do not divide."""
    level = [f"{name} {i}" for i in range(values)]
    parents: dict[str, str] = {}
    depth = 0
    while len(level) > fan:
        depth += 1
        upper = [f"{name} group {depth}.{i}" for i in range(-(-len(level) // fan))]
        parents |= {text: upper[i // fan] for i, text in enumerate(level)}
        level = upper
    return Hierarchy.from_parents(parents | dict.fromkeys(level, f"any {name}"))


class Growing:
    """A forest from columns: nodes of (record, parent, class, value), any order within a record but parents first."""

    def __init__(self, under: Mapping[str, str], hierarchies: Mapping[str, Hierarchy]) -> None:
        names = list(under)
        parents = tuple(-1 if upper == "/" else names.index(upper) for upper in under.values())
        self.schema = schema_of(under, hierarchies)
        self.classes = Classes(tuple(names), parents, tuple(hierarchies[name] for name in names))
        self.columns: list[tuple[Numbers, Numbers, Numbers]] = []
        self.size = 0

    def add(self, name: str, record: Numbers, parent: Numbers | None, value: Numbers) -> Numbers:
        """The numbers of new nodes; `value` numbers the leaves of the class's hierarchy."""
        index = self.classes.index(name)
        label = self.classes.first[index] + self.classes.hierarchies[index].leaf_nodes[value]
        self.columns.append((record, np.full(len(record), -1) if parent is None else parent, label))
        self.size += len(record)
        return np.arange(self.size - len(record), self.size)

    def forest(self, records: int) -> ta.Forest:
        record, parent, label = (np.concatenate(column) for column in zip(*self.columns, strict=True))
        order = np.argsort(record, kind="stable")
        place = np.empty(self.size, np.int64)
        place[order] = np.arange(self.size)
        offsets = np.searchsorted(record[order], np.arange(records + 1))
        moved = np.where(parent[order] < 0, -1, place[parent[order]] - offsets[record[order]])
        rank = np.arange(len(self.classes), dtype=np.int32)
        trees = canonical(offsets, moved.astype(np.int32), label[order].astype(np.int32), rank)
        return ta.Forest(self.schema, self.classes, *trees)


def some(rng: np.random.Generator, owners: Numbers, least: int, most: int) -> Numbers:
    """The owners repeated, each from `least` to `most` times."""
    return np.repeat(owners, rng.integers(least, most + 1, len(owners)))


def zipf(rng: np.random.Generator, values: int, draws: int, exponent: float = 1.0) -> Numbers:
    """Draws with a long tail; frequent and rare values lie mixed in the hierarchy."""
    weight = 1 / np.arange(1, values + 1) ** exponent
    return rng.permutation(values)[rng.choice(values, draws, p=weight / weight.sum())]


def codes(
    values: int,
    records: int = 100_000,
    seed: int = 1,
    *,
    visits: tuple[int, int] = (1, 3),
    diagnoses: tuple[int, int] = (2, 6),
    answers: int = 0,
) -> ta.Forest:
    """Persons with 1 to 3 visits and 2 to 6 diagnosis codes among them, out of `values` with a long tail.

    `answers` more classes have five values each; a person has a value of ten of them.
    """
    rng = np.random.default_rng(seed)
    under = {"sex": "/", "age": "/", "ward": "/", "diagnosis": "ward"}
    sizes = {"sex": (2, 2), "age": (90, 5), "ward": (24, 6), "diagnosis": (values, 10)}
    asked = [f"answer {at}" for at in range(answers)]
    under |= dict.fromkeys(asked, "/")
    sizes |= dict.fromkeys(asked, (5, 5))
    out = Growing(under, {name: grown(*size, name) for name, size in sizes.items()})
    everybody = np.arange(records)
    out.add("sex", everybody, None, rng.integers(0, 2, records))
    out.add("age", everybody, None, rng.integers(0, 90, records))
    for at in range(min(answers, 10)):
        which = at + 10 * rng.integers(0, -(-(answers - at) // 10), records)
        for each in np.unique(which).tolist():
            held = np.flatnonzero(which == each)
            out.add(asked[each], held, None, rng.integers(0, 5, len(held)))
    owner = some(rng, everybody, *visits)
    visit = out.add("ward", owner, None, zipf(rng, 24, len(owner)))
    coded = some(rng, everybody, *diagnoses)
    first = np.searchsorted(owner, everybody)
    many = np.bincount(owner, minlength=records)
    chosen = first[coded] + (rng.random(len(coded)) * many[coded]).astype(np.int64)
    out.add("diagnosis", coded, visit[chosen], zipf(rng, values, len(coded)))
    return out.forest(records)


def clinical(records: int = 615, seed: int = 1) -> ta.Forest:
    """Patients of about 29 nodes with about 700 different values, most of them rare, under hierarchies 4 to 8 deep.

    A patient has three complaints, each encounter is about one of them, and a complaint has usual conditions,
    medications and procedures. Half of what is written down is usual; the rest is drawn with a very long tail.
    """
    rng = np.random.default_rng(seed)
    everybody = np.arange(records)
    owner = some(rng, everybody, 3, 8)
    complaints = zipf(rng, 40, 3 * records, 0.8).reshape(3, records)
    complaint = complaints[rng.integers(0, 3, len(owner)), owner]
    drawn: dict[str, Numbers] = {}
    at: dict[str, Numbers] = {}
    for name in EVENTS:
        at[name] = some(rng, np.arange(len(owner)), 0, 3)
        draws = len(at[name])
        usual = zipf(rng, POOL, 40 * 4, TAIL).reshape(40, 4)[complaint[at[name]], rng.integers(0, 4, draws)]
        values = np.where(rng.random(draws) < 0.5, usual, zipf(rng, POOL, draws, TAIL))
        drawn[name] = np.unique(values, return_inverse=True)[1].astype(np.int64)
    under = {"gender": "/", "race": "/", "born": "/", "encounter": "/"} | dict.fromkeys(EVENTS, "encounter")
    sizes = {"gender": (2, 2), "race": (6, 6), "born": (90, 3), "encounter": (45, 3)}
    sizes |= {name: (int(drawn[name].max()) + 1, fan) for name, fan in EVENTS.items()}
    out = Growing(under, {name: grown(*size, name) for name, size in sizes.items()})
    out.add("gender", everybody, None, rng.integers(0, 2, records))
    out.add("race", everybody, None, zipf(rng, 6, records, 1.5))
    out.add("born", everybody, None, rng.integers(0, 90, records))
    visit = out.add("encounter", owner, None, zipf(rng, 45, len(owner), 1.2))
    for name, values in drawn.items():
        out.add(name, owner[at[name]], visit[at[name]], values)
    return out.forest(records)
