"""Random small forests over random class trees and hierarchies, for searches that try every combination."""

from __future__ import annotations

import json
from random import Random

import treeanon as ta
from tests.reference import trees as slow
from tests.support.paths import FOLDER, new_path


def random_schema(rnd: Random) -> tuple[ta.Schema, dict[str, str]]:
    """Up to four classes in a random tree with random hierarchies; and the role of each."""
    text = 'version = 1\n[input]\nformat = "trees"\n'
    roles: dict[str, str] = {}
    for i in range(rnd.randint(1, 4)):
        name = f"c{i}"
        parents: dict[str, str] = {}
        for j in range(rnd.randint(1, 5)):
            parents[f"{name}v{j}"] = rnd.choice([f"{name}*", *parents])
        file = new_path(f"search-{name}", ".json")
        file.write_text(json.dumps(parents))
        under = rnd.choice(["/", *list(roles)[-2:]])
        roles[name] = rnd.choice(["quasi"] * 6 + ["keep", "sensitive"])
        text += f'[[class]]\nname = "{name}"\nunder = "{under}"\nhierarchy = "{file.name}"\nrole = "{roles[name]}"\n'
    return ta.Schema.loads(text, folder=FOLDER), roles


def random_forest(rnd: Random) -> tuple[ta.Forest, frozenset[str]]:
    """A forest in which records resemble each other, and its classes with role quasi.

    Half of the forests have inner nodes of the hierarchies as values; nodes may skip levels of the class tree.
    """
    schema, roles = random_schema(rnd)
    classes = ta.Forest.from_records(schema, []).classes
    leaves_only = rnd.random() < 0.5
    values = []
    for hierarchy in classes.hierarchies:
        codes = hierarchy.leaf_nodes.tolist() if leaves_only else range(len(hierarchy))
        values.append([hierarchy.texts[code] for code in codes][: rnd.randint(1, 4)])

    def is_below(i: int, above: int) -> bool:
        while i >= 0:
            i = classes.parents[i]
            if i == above:
                return True
        return False

    def level(above: int) -> slow.Tree:
        below = [i for i in range(len(classes.names)) if is_below(i, above)]
        out: slow.Tree = []
        for _ in range(rnd.choice([0, 1, 1, 2, 3] if above < 0 else [0, 1, 1, 2]) if below else 0):
            i = rnd.choice(below)
            out.append([classes.names[i], rnd.choice(values[i]), level(i)])
        return out

    made = [level(-1) for _ in range(rnd.randint(2, 5))]
    records = [rnd.choice(made) if rnd.random() < 0.8 else level(-1) for _ in range(rnd.randint(2, 9))]
    if rnd.random() < 0.05:
        records.append([["*", "*", []]])
    return ta.Forest.from_records(schema, records), frozenset(n for n, role in roles.items() if role == "quasi")
