"""Small collections whose values are texts that stand nowhere else, so that a page can be searched for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from random import Random

from lxml import html

import treeanon as ta
from treeanon.forest.forest import Tree
from treeanon.hierarchy import Hierarchy
from treeanon.schema.model import ClassSpec, InputSpec

TOKEN = re.compile("qz[0-9]{4}zq")

CLASSES = (("kind", None), ("place", None), ("state", "place"), ("cure", "state"))


def tokens() -> Iterator[str]:
    return (f"qz{number:04}zq" for number in count())


def random_hierarchy(rnd: Random, names: Iterator[str]) -> Hierarchy:
    """A hierarchy of two to four levels."""
    paths = []
    root = next(names)
    for _ in range(rnd.randint(1, 3)):
        group = next(names)
        for _ in range(rnd.randint(1, 4)):
            paths.append([next(names), group, root])
    return Hierarchy.from_paths(paths)


def random_forest(rnd: Random) -> ta.Forest:
    """Persons with rare and frequent values, in classes that lie under each other."""
    names = tokens()
    hierarchies = {name: random_hierarchy(rnd, names) for name, _ in CLASSES}
    specs = tuple(ClassSpec(name, under=under, hierarchy=hierarchies[name]) for name, under in CLASSES)
    schema = ta.Schema(InputSpec("trees"), specs)
    leaves = {name: [h.texts[leaf] for leaf in h.leaf_nodes.tolist()] for name, h in hierarchies.items()}

    def one(name: str) -> str:
        found = leaves[name]
        return found[min(rnd.randrange(len(found)), rnd.randrange(2 * len(found)))]

    def person() -> Tree:
        cures: Tree = [["cure", one("cure"), []] for _ in range(rnd.randint(0, 2))]
        states: Tree = [["state", one("state"), cures]]
        return [["kind", one("kind"), []], *(["place", one("place"), states] for _ in range(rnd.randint(0, 2)))]

    return ta.Forest.from_records(schema, [person() for _ in range(rnd.randint(8, 40))])


def labels_of(forest: ta.Forest) -> set[str]:
    """The values that a collection holds."""
    return {forest.classes.texts[label] for label in set(forest.label.tolist())}


def texts_of(page: str) -> list[str]:
    """Every piece of text in a page, and every attribute that can be read."""
    root = html.fromstring(page)
    for style in root.iter("style"):
        style.text = ""
    found = [text.strip() for text in root.itertext()]
    found += [element.get(name, "") for element in root.iter() for name in ("aria-label", "title", "alt", "content")]
    return [text for text in found if text]
