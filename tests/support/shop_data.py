"""Invented databases of a music shop and a film rental, with customers, staff and secrets, in SQLite or CSV files."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.planted import Planted

Tables = dict[str, tuple[list[str], list[list[Any]]]]


def shop(customers: int = 60, seed: int = 17) -> tuple[Tables, Planted]:
    """Return the tables of a shop whose customers have an employee who looks after them."""
    p = Planted(seed)
    made = p.random
    staff = [
        [n, p.family(), p.given(), made.choice(["Agent", "Manager"]), p.street(), p.phone(), p.mail()]
        for n in range(1, 4)
    ]
    genres = [[n, name] for n, name in enumerate(["Rock", "Jazz", "Metal", "Latin", "Blues"], 1)]
    tracks = [[n, f"Song {n}", made.randrange(1, 6), made.choice([0.99, 1.99])] for n in range(1, 41)]
    people, invoices, lines = [], [], []
    for number in range(1, customers + 1):
        country = made.choice(["Norway", "Brazil", "Canada"])
        people.append([number, p.given(), p.family(), p.street(), country, p.phone(), p.mail(), made.randrange(1, 4)])
        for _ in range(made.randrange(1, 4)):
            invoice = len(invoices) + 1
            day = f"20{made.randrange(18, 22)}-{made.randrange(1, 13):02d}-{made.randrange(1, 29):02d}"
            invoices.append([invoice, number, day, p.street(), country, made.randrange(1, 20)])
            lines += [[len(lines) + n, invoice, made.randrange(1, 41), 1] for n in range(1, made.randrange(2, 4))]
    return {
        "Employee": (["EmployeeId", "LastName", "FirstName", "Title", "Address", "Phone", "Email"], staff),
        "Genre": (["GenreId", "Name"], genres),
        "Track": (["TrackId", "Name", "GenreId", "UnitPrice"], tracks),
        "Customer": (
            ["CustomerId", "FirstName", "LastName", "Address", "Country", "Phone", "Email", "SupportRepId"], people,
        ),
        "Invoice": (["InvoiceId", "CustomerId", "InvoiceDate", "BillingAddress", "BillingCountry", "Total"], invoices),
        "InvoiceLine": (["InvoiceLineId", "InvoiceId", "TrackId", "Quantity"], lines),
    }, p  # fmt: skip


def rental(customers: int = 60, seed: int = 19) -> tuple[Tables, Planted]:
    """Return the tables of a rental of films, whose staff have user names, password hashes and pictures."""
    p = Planted(seed)
    made = p.random
    staff = [
        [n, p.given(), p.family(), n, p.mail(), n, 1, p.keep(f"user{p.number(5)}"), p.hash(), p.url()] for n in (1, 2)
    ]
    addresses = [
        [n, p.street(), made.randrange(1, 4), made.choice(["35200", "35211", "80111"]), p.phone()]
        for n in range(1, customers + 3)
    ]
    films = [
        [n, f"FILM {n}", f"A {p.tale()} of a lumberjack and a robot who must sink a crocodile in a dark valley",
         made.choice([2006, 2007]), made.choice(["PG", "R", "G", "NC-17"])]
        for n in range(1, 31)
    ]  # fmt: skip
    people, rentals, payments = [], [], []
    for number in range(1, customers + 1):
        people.append([number, made.randrange(1, 3), p.given(), p.family(), p.mail(), number + 2, "2006-02-14"])
        for _ in range(made.randrange(1, 4)):
            one = len(rentals) + 1
            day = f"2005-{made.randrange(5, 9):02d}-{made.randrange(1, 29):02d} 1{made.randrange(10)}:30:00"
            rentals.append([one, day, made.randrange(1, 31), number, made.randrange(1, 3)])
            payments.append([one, number, made.randrange(1, 3), one, made.choice([0.99, 2.99, 4.99]), day])
    return {
        "city": (["city_id", "city"], [[1, "Lethbridge"], [2, "Woodridge"], [3, "Salala"]]),
        "address": (["address_id", "address", "city_id", "postal_code", "phone"], addresses),
        "staff": (
            ["staff_id", "first_name", "last_name", "address_id", "email", "store_id", "active", "username", "password",
             "picture"], staff,
        ),
        "film": (["film_id", "title", "description", "release_year", "rating"], films),
        "customer": (
            ["customer_id", "store_id", "first_name", "last_name", "email", "address_id", "create_date"], people,
        ),
        "rental": (["rental_id", "rental_date", "film_id", "customer_id", "staff_id"], rentals),
        "payment": (["payment_id", "customer_id", "staff_id", "rental_id", "amount", "payment_date"], payments),
    }, p  # fmt: skip


def as_folder(folder: Path, tables: Tables) -> Path:
    """Write a CSV file for each table."""
    folder.mkdir()
    for name, (columns, rows) in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([columns, *rows])
    return folder


def as_sqlite(path: Path, tables: Tables, *, views: dict[str, str] | None = None) -> Path:
    """Write a SQLite file of the tables without keys, and of views given by name and query."""
    with closing(sqlite3.connect(path)) as database:
        for name, (columns, rows) in tables.items():
            database.execute(f'CREATE TABLE "{name}" ({", ".join(columns)})')
            database.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(columns))})', rows)
        for name, query in (views or {}).items():
            database.execute(f'CREATE VIEW "{name}" AS {query}')
        database.commit()
    return path


_CUSTOMERS = {"customer_list": "SELECT customer_id AS id, first_name || ' ' || last_name AS name FROM customer"}


def generators() -> Iterator[tuple[str, Any]]:
    """Yield each form of input by name, with what writes it into a folder and returns its path and its secrets."""
    for name, make in (("shop", shop), ("rental", rental)):
        yield f"{name} folder", lambda folder, make=make: _written(as_folder, folder / "tables", *make())
        views = _CUSTOMERS if name == "rental" else None
        yield (
            f"{name} sqlite",
            lambda folder, make=make, views=views: _written(
                lambda path, tables: as_sqlite(path, tables, views=views), folder / "data.sqlite", *make()
            ),
        )


def _written(write: Any, path: Path, tables: Tables, planted: Planted) -> tuple[Path, Planted]:
    return write(path, tables), planted
