"""Rentals of films in a database tied by keys, of the shape of Pagila: what stays whole, merged and whole.

python tests/bench/rentals.py

599 customers, 16,044 rentals of 1,000 films with a rating in 4,581 copies, all invented; k=5, m=2, n=1, seconds of the
processor. Different are the rentals of a customer that the cut leaves different: by the database and the cut alone.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import time
from functools import cache, partial
from pathlib import Path

import treeanon as ta

TABLES = """
create table city(id integer primary key, country text not null);
create table customer(id integer primary key, city integer not null references city);
create table film(id integer primary key, title text not null, rating text not null);
create table inventory(id integer primary key, film integer not null references film);
create table rental(id integer primary key, inventory integer not null references inventory,
                    customer integer not null references customer);
"""
SCHEMA = """
version = 1
[input]
format = "sqlite"
record = "customer"
objects = "OBJECTS"
[[class]]
name = "country"
path = "city.country"
hierarchy = { groups = 5 }
[[class]]
name = "film"
path = "rental.inventory.film.title"
hierarchy = { groups = 5 }
[[class]]
name = "rating"
path = "rental.inventory.film.rating"
hierarchy = { flat = true }
"""


def main() -> None:
    """Print the table."""
    print("| objects | what | value loss | relations kept | rentals in | out | different | whole | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rentals.sqlite"
        make(source)
        for objects in ("whole", "merged"):
            schema = ta.Schema.loads(SCHEMA.replace("OBJECTS", objects))
            begun = time.process_time()
            release = ta.anonymize(ta.read(source, schema), k=5, m=2, n=1, seed=1)
            seconds, loss = time.process_time() - begun, release.loss
            (kept,) = loss.objects.values()
            print(
                f"| {objects} | k=5, m=2, n=1 | {loss.value_loss:.3f} | {loss.relations_kept:.1%} | {kept.before:,} |"
                f" {kept.after:,} | {different(source, release):,} | {kept.whole:.1%} | {seconds:.1f} |",
                flush=True,
            )


def different(source: Path, release: ta.Release) -> int:
    """Return how many rentals there are if those of one customer that are published as equal are one."""
    classes, cut = release.forest.classes, release.solution.cut or {}

    def published(name: str, text: str) -> str:
        at = classes.index(name)
        texts = classes.texts[classes.first[at] : classes.first[at + 1]]
        node = texts.index(text)
        while texts[node] not in cut[name]:
            node = int(classes.hierarchies[at].parent[node])
        return texts[node]

    query = (
        "select customer, title, rating from rental, inventory, film where inventory.id = inventory and film.id = film"
    )
    shown = {name: cache(partial(published, name)) for name in ("film", "rating")}
    with sqlite3.connect(source) as database:
        rows = database.execute(query).fetchall()
    return len({(customer, shown["film"](film), shown["rating"](rating)) for customer, film, rating in rows})


def make(path: Path) -> None:
    """Write the database."""
    draw = random.Random(5)
    with sqlite3.connect(path) as database:
        database.executescript(TABLES)
        cities = [(number, f"Land {min(12, int(draw.expovariate(0.3)) + 1)}") for number in range(1, 201)]
        database.executemany("insert into city values(?, ?)", cities)
        customers = [(number, draw.randint(1, 200)) for number in range(1, 600)]
        database.executemany("insert into customer values(?, ?)", customers)
        ratings = ("G", "PG", "PG-13", "R", "NC-17")
        films = [(number, f"Film {number}", draw.choice(ratings)) for number in range(1, 1001)]
        database.executemany("insert into film values(?, ?, ?)", films)
        copies = [(number, draw.randint(1, 1000)) for number in range(1, 4582)]
        database.executemany("insert into inventory values(?, ?)", copies)
        rentals = [(number, draw.randint(1, 4581), draw.randint(1, 599)) for number in range(1, 16045)]
        database.executemany("insert into rental values(?, ?, ?)", rentals)


if __name__ == "__main__":
    main()
