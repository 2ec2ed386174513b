"""What a release of tables holds: fresh keys in random order, merged rows, nothing of what is not published."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import treeanon as ta
from tests.reference.relational_releases import check_package, check_sqlite
from tests.support.paths import ROOT
from treeanon.errors import FileError, UsageError
from treeanon.io.relational.writing import plan_of
from treeanon.schema.keys import parse_key
from treeanon.schema.relational import resolve

KINDS = ["sqlite", "csv", "tsv", "parquet"]


def schema_of(
    root: str, keys: list[str], classes: dict[str, str], files: str = "csv", format: str = "tables", extra: str = ""
) -> ta.Schema:
    """A resolved schema of classes with these paths."""
    text = f'version = 1\n[input]\nformat = "{format}"\nobjects = "merged"\n'
    text += f"record = {json.dumps(root)}\nkey = {json.dumps(keys)}\n"
    for name, path in classes.items():
        text += f"[[class]]\nname = {json.dumps(name)}\npath = {json.dumps(path)}\n"
    resolved = resolve(ta.Schema.loads(text + extra))
    assert resolved.input.relations is not None
    return replace(resolved, input=replace(resolved.input, relations=replace(resolved.input.relations, files=files)))


def round_trip(forest: ta.Forest, folder: Path, kind: str) -> Path:
    target = folder / ("out.sqlite" if kind == "sqlite" else "out")
    ta.write(forest, target, force=True)
    assert ta.read(target, forest.schema) == forest
    (check_sqlite if kind == "sqlite" else check_package)(target)
    return target


def rows_of(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


# --- keys ------------------------------------------------------------------------------------------------------------

KEY = 7_300_000_000_000_001


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A database whose keys are large numbers, with a table and columns that no schema names."""
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as made:
        made.executescript("""
            CREATE TABLE nation (key INTEGER PRIMARY KEY, name TEXT, phone_prefix TEXT);
            CREATE TABLE customer (key INTEGER PRIMARY KEY, ssn TEXT, name TEXT, age TEXT,
                nation_key INTEGER REFERENCES nation);
            CREATE TABLE orders (customer_key INTEGER REFERENCES customer, no INTEGER, price INTEGER, comment TEXT,
                PRIMARY KEY (customer_key, no));
            CREATE TABLE line (customer_key INTEGER, order_no INTEGER, line_no INTEGER, brand TEXT,
                PRIMARY KEY (customer_key, order_no, line_no),
                FOREIGN KEY (customer_key, order_no) REFERENCES orders);
            CREATE TABLE diary (customer_key INTEGER REFERENCES customer, secret_entry TEXT);
        """)
        made.executemany("INSERT INTO nation VALUES (?, ?, 'prefix')", [(KEY + n, f"nation {n % 2}") for n in range(4)])
        customers = [(KEY + n, f"ssn-{n}", f"Name{n}", str(n % 3), KEY + n % 4) for n in range(40)]
        made.executemany("INSERT INTO customer VALUES (?, ?, ?, ?, ?)", customers)
        orders = [(KEY + n % 40, KEY + 1000 + n, n % 5, "comment") for n in range(100)]
        made.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", orders)
        lines = [(c, o, KEY + 5000 + n, f"brand {n}") for n, (c, o, _, _) in enumerate(orders)]
        made.executemany("INSERT INTO line VALUES (?, ?, ?, ?)", lines)
        made.execute("INSERT INTO diary VALUES (?, 'secret')", (KEY,))
        made.commit()
    return path


SHOP = """
version = 1
[input]
format = "sqlite"
record = "customer"
[[class]]
name = "ssn"
path = "ssn"
role = "identifier"
[[class]]
name = "diary"
path = "diary.secret_entry"
role = "drop"
[[class]]
name = "age"
path = "age"
[[class]]
name = "nation"
path = "nation.name"
[[class]]
name = "price"
path = "orders.price"
type = "integer"
[[class]]
name = "brand"
path = "orders.line.brand"
"""


def contents(target: Path) -> bytes:
    """All bytes of what was written, and what compressed files hold."""
    if target.is_dir():
        return b"".join(contents(path) for path in target.iterdir())
    read = target.read_bytes()
    if target.suffix == ".parquet":
        read += repr(pq.read_table(target).to_pydict()).encode() + repr(pq.read_schema(target)).encode()
    return read


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_else_is_written(shop: Path, kind: str, tmp_path: Path) -> None:
    forest = ta.read(shop, ta.Schema.loads(SHOP))
    if kind != "sqlite":
        schema = forest.schema.for_format("tables")
        relations = replace(schema.input.relations, files=kind)
        forest = replace(forest, schema=replace(schema, input=replace(schema.input, relations=relations)))
    found = contents(round_trip(forest, tmp_path, kind))
    for n in range(200):
        for start in (0, 1000, 5000):
            number = KEY + start + n
            assert str(number).encode() not in found
            assert number.to_bytes(8, "big") not in found and number.to_bytes(8, "little") not in found
            assert number.to_bytes(7, "big") not in found
    for word in (b"ssn", b"Name", b"comment", b"diary", b"secret", b"phone", b"prefix"):
        assert word not in found


def test_primary_keys_that_are_identifiers(tmp_path: Path) -> None:
    """The name of such a column would tell that its numbers are the true ones."""
    ssn = '[[class]]\nname = "ssn"\npath = "ssn"\nrole = "identifier"\n'
    schema = schema_of("p", ["v.p -> p.id"], {"a": "a", "b": "v.b"}, format="sqlite", extra=ssn)
    relations = replace(schema.input.relations, primary={"p": ("ssn",), "v": ("no",)})
    schema = replace(schema, input=replace(schema.input, relations=relations))
    path = round_trip(ta.Forest.from_records(schema, [[["a", "1", []], ["b", "2", []]]]), tmp_path, "sqlite")
    assert rows_of(path, "SELECT name, pk FROM pragma_table_info('p')") == [("id", 1), ("a", 0)]
    assert rows_of(path, "SELECT name, pk FROM pragma_table_info('v')") == [("no", 1), ("p", 0), ("b", 0)]


def test_keys_are_numbers_in_random_order(shop: Path, tmp_path: Path) -> None:
    """Keys are 1 to n; which row gets which, and the order of rows, follow no input; rows lie in order of keys."""
    forest = ta.read(shop, ta.Schema.loads(SHOP))
    path = tmp_path / "out.sqlite"
    firsts, orders = set(), set()
    for _ in range(20):
        ta.write(forest, path, force=True)
        keys = [key for (key,) in rows_of(path, "SELECT key FROM customer ORDER BY rowid")]
        assert keys == list(range(1, 41))
        numbers = [no for (no,) in rows_of(path, "SELECT no FROM orders ORDER BY rowid")]
        assert numbers == list(range(1, len(numbers) + 1))
        assert sorted(rows_of(path, "SELECT key FROM nation")) == [(1,), (2,)]
        query = "SELECT group_concat(brand) FROM customer c JOIN line l ON l.customer_key = c.key WHERE c.key = 1"
        firsts.add(rows_of(path, query)[0])
        orders.add(tuple(rows_of(path, "SELECT price FROM orders ORDER BY rowid")))
    assert len(firsts) > 8, "which person is first differs from run to run"
    assert len(orders) == 20


def test_children_follow_the_order_of_no_parent(shop: Path, tmp_path: Path) -> None:
    """The places of rows of one table tell nothing of the places of the rows that they belong to."""
    forest = ta.read(shop, ta.Schema.loads(SHOP))
    path = tmp_path / "out.sqlite"
    ties = 0
    for _ in range(20):
        ta.write(forest, path, force=True)
        owners = [key for (key,) in rows_of(path, "SELECT customer_key FROM orders ORDER BY rowid")]
        ties += sum(a <= b for a, b in pairwise(owners))
    share = ties / (20 * (len(owners) - 1))
    assert 0.4 < share < 0.6


def test_equal_rows_are_one(tmp_path: Path) -> None:
    """Rows that became equal by generalization are one, with the rows that belonged to either."""
    classes = {"a": "n.name", "day": "visit.day", "kind": "visit.kind", "drug": "visit.drug.name"}
    keys = ["visit.p -> p.id", "p.n -> n.id", "drug.visit -> visit.id"]
    visits = [["day", day, [["kind", "k", []], ["drug", day, []]]] for day in "123"]
    records = [[["a", "x", []], *visits], [["a", "y", []], *visits[:2]], [["a", "x", []]]]
    forest = ta.Forest.from_records(schema_of("p", keys, classes, format="sqlite"), records)
    sizes = []
    for published in (forest, forest.project({"day": [forest.classes.texts[forest.classes.root("day")]]})):
        path = round_trip(published, tmp_path, "sqlite")
        sizes.append([rows_of(path, f"SELECT count(*) FROM {table}")[0][0] for table in ("p", "n", "visit", "drug")])
    assert sizes == [[3, 2, 5, 5], [3, 2, 2, 5]]


def test_seed_repeats(shop: Path, tmp_path: Path) -> None:
    forest = ta.read(shop, ta.Schema.loads(SHOP))
    ta.write(forest, tmp_path / "a.sqlite", seed=3)
    ta.write(forest, tmp_path / "b.sqlite", seed=3)
    dumps = []
    for name in ("a.sqlite", "b.sqlite"):
        with closing(sqlite3.connect(tmp_path / name)) as database:
            dumps.append(list(database.iterdump()))
    assert dumps[0] == dumps[1]


# --- keys that are made of keys --------------------------------------------------------------------------------------

STRUCTURES = {
    "a row that extends another, and is referred to": (
        ["staff.person -> person.id", "pay.staff -> staff.person"],
        {"age": "age", "job": "staff.job", "pay": "staff.pay.sum", "day": "staff.pay.day"},
        [
            [["age", "1", []], ["job", "x", [["pay", "1", [["day", "a", []]]], ["pay", "2", []]]]],
            [["age", "1", []]],
            [["job", "x", []], ["job", "y", [["pay", "1", []]]]],
            [["pay", "3", []]],
        ],
    ),
    "a row of a row that extends another": (
        ["staff.person -> person.id", "boss.staff -> staff.person", "car.boss -> boss.staff"],
        {"job": "staff.job", "rank": "staff.boss.rank", "car": "staff.boss.car.name"},
        [[["job", "x", [["rank", "1", [["car", "a", []], ["car", "b", []]]]]]], [["car", "a", []]], []],
    ),
    "the other end of a row that extends another": (
        ["staff.person -> person.id", "visit.person -> person.id", "visit.doctor -> staff.person"],
        {"age": "age", "job": "staff.job", "day": "visit.day", "doctor": "visit.staff.job"},
        [
            [["age", "1", []], ["job", "x", []], ["day", "1", [["doctor", "x", []]]], ["day", "2", []]],
            [["doctor", "x", []]],
        ],
    ),
    "rows tied to two others, and referred to by both": (
        [
            "enrollment.student -> person.id",
            "enrollment.course -> course.id",
            "grade.(student, course) -> enrollment.(student, course)",
        ],
        {"course": "enrollment.course.name", "year": "enrollment.year", "grade": "enrollment.grade.points"},
        [
            [["course", "math", [["year", "1", []], ["year", "2", []], ["grade", "5", []]]], ["course", "art", []]],
            [["course", "math", [["grade", "5", []]]]],
            [["year", "1", []], ["grade", "4", []]],
        ],
    ),
    "one column in all keys": (
        [
            "orders.(tenant, customer) -> customer.(tenant, no)",
            "line.(tenant, order_no) -> orders.(tenant, no)",
            "line.(tenant, product) -> product.(tenant, no)",
        ],
        {"date": "orders.date", "amount": "orders.line.amount", "brand": "orders.line.product.brand"},
        [
            [["date", "1", [["amount", "3", [["brand", "a", []]]], ["amount", "4", []]]], ["date", "2", []]],
            [["date", "1", [["amount", "3", [["brand", "a", []]]]]], ["brand", "b", []]],
        ],
    ),
    "persons that refer to persons": (
        ["person.boss -> person.id", "visit.person -> person.id"],
        {"age": "age", "boss": "person(boss).age", "day": "visit.day", "his": "person(boss).visit.day"},
        [
            [["age", "1", []], ["boss", "2", []], ["day", "3", []], ["his", "4", []], ["his", "5", []]],
            [["age", "2", []]],
        ],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STRUCTURES)
def test_keys_of_keys(name: str, kind: str, tmp_path: Path) -> None:
    keys, classes, records = STRUCTURES[name]
    root = parse_key(keys[0]).target
    schema = schema_of(root, keys, classes, kind, "sqlite" if kind == "sqlite" else "tables")
    forest = ta.Forest.from_records(schema, records)
    round_trip(forest, tmp_path, kind)
    for pairs in (
        [],
        [(("job", "x"), ("pay", "1"))],
        [(("course", "math"), ("grade", "5"))],
        [(("date", "1"), ("brand", "a"))],
    ):
        known = [pair for pair in pairs if all(name in classes for name, _ in pair)]
        round_trip(forest.disassociate(known), tmp_path, kind)


@pytest.mark.parametrize(
    ("keys", "classes", "what"),
    [
        (
            ["visit.person -> person.id", "line.visit -> visit.id", "line.(visit, no) -> test.(visit, no)"],
            {"a": "visit.line.test.name"},
            "shared by several",
        ),
        (
            ["a.person -> person.id", "b.(person, no) -> a.(person, no)", "b.person -> person.id"],
            {"a": "a.x", "b": "a.b.x", "c": "b.x"},
            "would|have all columns",
        ),
        (
            ["person.other -> other.id", "other.person -> person.id"],
            {"a": "other(other).x", "b": "other(person).x"},
            "",
        ),
    ],
)
def test_refused_before_any_work(keys: list[str], classes: dict[str, str], what: str) -> None:
    schema = schema_of("person", keys, classes)
    if what:
        with pytest.raises(UsageError, match=what):
            plan_of(schema)
    else:
        plan_of(schema)


def test_reserved_names() -> None:
    for column in ("treeanon_record",):
        with pytest.raises(UsageError, match="meaning of its own"):
            plan_of(schema_of("person", [], {"a": column}))
    with pytest.raises(UsageError, match="meaning of its own"):
        plan_of(schema_of("person", ["treeanon_moved_person.p -> person.id"], {"a": "treeanon_moved_person.x"}))


# --- names and values ------------------------------------------------------------------------------------------------

NAMES = ["it's", 'a"b', "a b", "a,b", "a\nb", "größe", "select", "../x", "a/b", "con", "datapackage", "x" * 300, "%2F"]
NAMES += [" lead", "trail ", "a\tb", ".hidden", "-", "NULL", "treeanon_id", "a\\b", "0"]


def quoted(name: str) -> str:
    return f'"{name}"' if "'" in name else f"'{name}'"


@pytest.mark.parametrize("kind", KINDS)
def test_names(kind: str, tmp_path: Path) -> None:
    for at, name in enumerate(NAMES):
        other = NAMES[at - 1]
        keys = [f"{quoted(other)}.{quoted(name + ' fk')} -> {quoted(name)}.{quoted(other + ' id')}"]
        classes = {"a": quoted(name), "b": f"{quoted(other)}.{quoted(name)}", "c": f"{quoted(other)}.{quoted(other)}"}
        schema = schema_of(quoted(name), keys, classes, kind, "sqlite" if kind == "sqlite" else "tables")
        record = [["a", "x", []], ["b", "y", [["c", "z", []], ["c", "zz", []]]], ["c", "z", []]]
        round_trip(ta.Forest.from_records(schema, [record, []]), tmp_path, kind)


def test_names_that_sqlite_takes_for_one(tmp_path: Path) -> None:
    for keys, classes in [
        ([], {"a": "Age", "b": "age"}),
        (["Visit.p -> person.id", "visit.p -> person.id"], {"a": "Visit.x", "b": "visit.x"}),
        (["sqlite_visit.p -> person.id"], {"a": "sqlite_visit.x"}),
    ]:
        for files, format in (("csv", "tables"), ("", "sqlite")):
            schema = schema_of("person", keys, classes, files, format)
            forest = ta.Forest.from_records(schema, [[["a", "1", []]]])
            if format == "tables":
                ta.write(forest, tmp_path / "out", force=True)
                assert ta.read(tmp_path / "out", schema) == forest
            else:
                with pytest.raises(UsageError, match="SQLite"):
                    ta.write(forest, tmp_path / "x.sqlite")
                assert not (tmp_path / "x.sqlite").exists()


VALUES = [
    "a\nb",
    '"',
    "'",
    ",",
    "\t",
    " x",
    "x ",
    " ",
    "NULL",
    "NA",
    "null",
    "nan",
    "inf",
    "007",
    "1e5",
    "-0",
    " 5",
    "1.50",
]
VALUES += [
    "1234567890123456789",
    "9223372036854775808",
    "true",
    "false",
    "\r",
    "\r\n",
    "\n",
    "\ufeff",
    "=1+1",
    "\\N",
    "\\",
]
VALUES += ["#", "x" * 100_000, "\x1a", "\x85", "\u2028", "20-24", "*", "1_0", "٣", "0x1A", "1e400", "-1.5e-7", "1.0"]


@pytest.mark.parametrize("kind", KINDS)
def test_values(kind: str, tmp_path: Path) -> None:
    """Values of texts, and of columns that are declared to be numbers, come back as they are."""
    types = "".join(
        f'[[class]]\nname = "{name}"\npath = "{path}"\ntype = "{type}"\nhierarchy = {{ flat = true }}\n'
        for name, path, type in [("n", "n", "number"), ("i", "v.i", "integer"), ("m", "v.m", "number")]
    )
    keys = ["v.p -> p.id", "v.t -> t.id"]
    schema = schema_of(
        "p", keys, {"a": "a", "b": "v.b", "c": "v.t.c"}, kind, "sqlite" if kind == "sqlite" else "tables", types
    )
    for numbers in (
        ["1", "-2", "9223372036854775807"],
        ["1.5", "2", "1e300", "-1.5e-7"],
        ["0.1", "12345678901234567890"],
    ):
        records = [
            [["a", v, []], ["n", n, []], ["b", v, [["c", v, []], ["i", n, []], ["m", n, []]]]]
            for v in VALUES
            for n in numbers
        ]
        round_trip(ta.Forest.from_records(schema, [*records, [], []]), tmp_path, kind)


def test_inner_nodes_make_texts(tmp_path: Path) -> None:
    """A column of integers is one of texts as soon as one of them is generalized."""
    ages = '[[class]]\nname = "age"\npath = "age"\ntype = "integer"\n'
    ages += "hierarchy = { intervals = [5, 10], min = 0, max = 99 }\n"
    schema = schema_of("p", [], {}, format="sqlite", extra=ages)
    forest = ta.Forest.from_records(schema, [[["age", "21", []]], [["age", "7", []]]])
    path = round_trip(forest, tmp_path, "sqlite")
    assert sorted(rows_of(path, "SELECT age, typeof(age) FROM p")) == [(7, "integer"), (21, "integer")]
    forest = ta.Forest.from_records(schema, [[["age", "20-24", []]], [["age", "7", []]]])
    path = round_trip(forest, tmp_path, "sqlite")
    assert sorted(rows_of(path, "SELECT age, typeof(age) FROM p")) == [("20-24", "text"), ("7", "text")]


def test_empty(tmp_path: Path) -> None:
    """Columns of nulls, child tables without rows, and persons without a value."""
    for kind in KINDS:
        schema = schema_of(
            "p", ["v.p -> p.id"], {"a": "a", "b": "v.b"}, kind, "sqlite" if kind == "sqlite" else "tables"
        )
        round_trip(ta.Forest.from_records(schema, [[], [], []]), tmp_path, kind)


# --- what appears, and what stays ------------------------------------------------------------------------------------


def small(kind: str) -> ta.Forest:
    schema = schema_of("p", ["v.p -> p.id"], {"a": "a", "b": "v.b"}, kind, "sqlite" if kind == "sqlite" else "tables")
    return ta.Forest.from_records(schema, [[["a", "1", []], ["b", "2", []]], [["a", "3", []]]])


def test_force_replaces_only_our_packages(tmp_path: Path) -> None:
    forest, target = small("csv"), tmp_path / "out"
    ta.write(forest, target)
    with pytest.raises(FileError, match="exists already"):
        ta.write(forest, target)
    ta.write(small("parquet"), target, force=True)
    assert sorted(path.name for path in target.iterdir()) == ["datapackage.json", "p.parquet", "v.parquet"]
    (target / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="not from treeanon"):
        ta.write(forest, target, force=True)
    assert (target / "notes.txt").exists()


def test_force_keeps_packages_of_others(tmp_path: Path) -> None:
    """The folder that was read may be the only copy of the data."""
    target = tmp_path / "data"
    ta.write(small("csv"), target)
    package = json.loads((target / "datapackage.json").read_text())
    del package["generator"]
    (target / "datapackage.json").write_text(json.dumps(package))
    with pytest.raises(FileError, match="not from treeanon"):
        ta.write(small("csv"), target, force=True)
    for broken in (
        "",
        "[]",
        "null",
        '{"generator": "treeanon", "resources": [{"path": ["p.csv"]}]}',
        '{"resources": 3}',
    ):
        (target / "datapackage.json").write_text(broken)
        with pytest.raises(FileError, match="not from treeanon"):
            ta.write(small("csv"), target, force=True)


@pytest.mark.parametrize("name", ["out", "out.zip", "out.sqlite"])
def test_a_failure_leaves_what_was_there(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        pass

    def refuse(path: Path) -> None:
        raise Stop

    forest, target = small("sqlite" if name == "out.sqlite" else "csv"), tmp_path / name
    with pytest.raises(Stop):
        ta.write(forest, target, check=refuse)
    assert not list(tmp_path.iterdir())
    ta.write(forest, target)
    before = contents(target)
    with pytest.raises(Stop):
        ta.write(forest, target, force=True, check=refuse)
    assert contents(target) == before
    assert [path.name for path in tmp_path.iterdir()] == [name]

    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pcsv, "write_csv", full)
    monkeypatch.setattr("treeanon.io.relational.write_sql.shutil.copyfileobj", full)
    with pytest.raises(FileError, match="No space left"):
        ta.write(forest, target, force=True)
    assert contents(target) == before
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_check_reads_what_was_written(tmp_path: Path) -> None:
    from treeanon.io.reading import read_back

    for kind, name in (("csv", "out"), ("csv", "out.zip"), ("sqlite", "out.sqlite")):
        forest, target = small(kind), tmp_path / name
        seen = []

        def check(path: Path, forest: ta.Forest = forest, target: Path = target, seen: list[bool] = seen) -> None:
            seen.append(read_back(path, target, forest.schema, forest.schema.input.format) == forest)

        ta.write(forest, target, check=check)
        assert seen == [True]
        assert ta.read(target, forest.schema) == forest


def test_zip_tells_no_time(tmp_path: Path) -> None:
    ta.write(small("csv"), tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert sorted(archive.namelist()) == ["datapackage.json", "p.csv", "v.csv"]


def test_standard_output(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom tests.io.relational.test_writing import small\nimport treeanon as ta\n"
        "ta.write(small(sys.argv[1]), '-')\n"
    )
    for kind in ("sqlite", "csv"):
        done = subprocess.run([sys.executable, "-c", script, kind], capture_output=True, cwd=ROOT, check=False)
        if kind == "sqlite":
            (tmp_path / "out.sqlite").write_bytes(done.stdout)
            check_sqlite(tmp_path / "out.sqlite")
            assert ta.read(tmp_path / "out.sqlite", small("sqlite").schema) == small("sqlite")
        else:
            assert b"standard output" in done.stderr and not done.stdout


def test_tables_to_one_compressed_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        ta.write(small("csv"), tmp_path / "out.csv.gz")
    assert not list(tmp_path.iterdir())
