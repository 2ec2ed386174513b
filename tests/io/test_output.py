"""Output appears whole or not at all, whatever happens while it is written."""

from __future__ import annotations

import gzip
import os
import resource
import signal
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import zstandard

import treeanon as ta
from tests.support.hostile import NDJSON, NUMBER, WORD, a_schema, put, trees
from treeanon.errors import DataError, FileError, TreeanonError, UsageError
from treeanon.forest import Forest
from treeanon.io.output import exchange, open_output

SCHEMA = "\n".join(["version = 1", "[input]", 'format = "ndjson"', "[[class]]", 'name = "age"', 'path = "age"', ""])
NAMES = ["o.ndjson", "o.json", "o.xml", "o.trees.jsonl", "o.ndjson.gz", "o.ndjson.zst", "o.zip"]


def a_forest(count: int) -> Forest:
    return Forest.from_records(NDJSON, [[["age", f"{WORD}{i}", []]] for i in range(count)])


def rarely(name: str) -> Any:
    """A case in a process of its own, like one that is always tried: for the slow run."""
    return pytest.param(name, marks=pytest.mark.slow)


@cache
def few() -> Forest:
    return a_forest(100)


WHOLE = a_schema("json", ".", ("age", "age"))


def wrong(target: str | Path, words: str, error: type[TreeanonError] = FileError, **options: bool) -> None:
    """Writing fails, with these words; nothing appears in the folder."""
    folder = Path(target).parent
    before = sorted(folder.rglob("*")) if folder.is_dir() else []
    with pytest.raises(error) as caught:
        ta.write(few(), target, **options)
    assert words in str(caught.value) and WORD not in str(caught.value)
    assert (sorted(folder.rglob("*")) if folder.is_dir() else []) == before


@pytest.mark.parametrize("name", NAMES)
def test_existing_file(name: str, tmp_path: Path) -> None:
    path = put(tmp_path / name, "old")
    path.chmod(0o640)
    wrong(path, "exists already; use --force")
    assert path.read_text() == "old"
    ta.write(few(), path, force=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == [name]
    form = "ndjson" if name == "o.zip" else name.split(".")[1]
    schema = NDJSON.for_format("trees" if form == "trees" else form)
    assert sorted(map(str, trees(path, schema))) == sorted(map(str, few().records()))


def test_targets_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "d.ndjson").mkdir()
    put(tmp_path / "file", "x")
    wrong(tmp_path / "none" / "o.ndjson", "No such file or directory")
    wrong(tmp_path / "none" / "o.zip", "No such file or directory")
    wrong(tmp_path / "none" / "deep/", "No such file or directory")
    wrong(tmp_path / "file" / "o.ndjson", "Not a directory")
    wrong(f"{tmp_path}/file/", "exists already")
    wrong(f"{tmp_path}/file/", "is no folder", force=True)
    put(tmp_path / "d.ndjson" / "mine.txt", "x")
    wrong(tmp_path / "d.ndjson", "exists already")
    wrong(tmp_path / "d.ndjson", "not from treeanon", force=True)


def test_name_too_long(tmp_path: Path) -> None:
    wrong(tmp_path / ("x" * 300 + ".ndjson"), "File name too long")


def test_values_that_xml_cannot_hold(tmp_path: Path) -> None:
    forest = Forest.from_records(NDJSON, [[["age", f"{WORD}\x01", []]]])
    for name in ("o.xml", "o.xml.gz", "o.xml.zst"):
        with pytest.raises(DataError) as caught:
            ta.write(forest, tmp_path / name)
        assert WORD not in str(caught.value) and not list(tmp_path.iterdir())


@pytest.mark.parametrize("force", [False, True])
def test_symlinks(force: bool, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    link = tmp_path / "link.ndjson"
    link.symlink_to("deep/o.ndjson")
    if force:
        put(tmp_path / "deep" / "o.ndjson", "old")
    ta.write(few(), link, force=force)
    assert link.is_symlink() and len(trees(tmp_path / "deep" / "o.ndjson", NDJSON)) == 100
    wrong(link, "exists already")
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["o.ndjson"]


def test_packed_output_tells_nothing_of_its_origin(tmp_path: Path) -> None:
    for name in ("secret-name.ndjson.gz", "other.ndjson.gz"):
        ta.write(few(), tmp_path / name, seed=1)
    data = (tmp_path / "other.ndjson.gz").read_bytes()
    assert data == (tmp_path / "secret-name.ndjson.gz").read_bytes()
    assert data[3] == 0 and data[4:8] == b"\0" * 4  # no flags (no name), no time
    ta.write(few(), tmp_path / "o.ndjson.zst", seed=1)
    unpacked = zstandard.ZstdDecompressor().decompressobj().decompress((tmp_path / "o.ndjson.zst").read_bytes())
    assert unpacked == gzip.decompress(data)
    ta.write(few(), tmp_path / "o.zip", seed=1)
    with zipfile.ZipFile(tmp_path / "o.zip") as archive:
        assert archive.testzip() is None
        assert [m.date_time for m in archive.infolist()] == [(1980, 1, 1, 0, 0, 0)]


def test_endings_in_capitals(tmp_path: Path) -> None:
    ta.write(few(), tmp_path / "O.NDJSON.GZ")
    assert (tmp_path / "O.NDJSON.GZ").read_bytes()[:2] == b"\x1f\x8b"


@pytest.mark.parametrize("name", NAMES)
def test_order(name: str, tmp_path: Path) -> None:
    def written(seed: int | None) -> bytes:
        ta.write(few(), tmp_path / name, force=True, seed=seed)
        return (tmp_path / name).read_bytes()

    assert written(3) == written(3) != written(4)
    assert written(None) != written(None)


@pytest.mark.parametrize("target", ["out/", "out", "out.zip"])
def test_folders(target: str, tmp_path: Path) -> None:
    """One record per file: fresh names in random order, and only such folders are ever replaced."""
    source = tmp_path / "in"
    for i in range(100):
        put(source / f"{WORD}-{i}.json", f'{{"age":{i}}}')
    forest = ta.read(source, WHOLE)
    ta.write(forest, f"{tmp_path}/{target}", seed=1)
    names = [f"record-{i:07}.json" for i in range(1, 101)]
    if target == "out.zip":
        with zipfile.ZipFile(tmp_path / target) as archive:
            assert archive.namelist() == names
            first = archive.read(names[0]).decode()
    else:
        assert sorted(p.name for p in (tmp_path / "out").iterdir()) == names
        first = (tmp_path / "out" / names[0]).read_text()
    assert first != '{"age":"0"}\n'
    assert sorted(map(str, trees(tmp_path / target, WHOLE))) == sorted(map(str, forest.records()))
    with pytest.raises(FileError, match="exists already"):
        ta.write(forest, f"{tmp_path}/{target}")
    ta.write(forest, f"{tmp_path}/{target}", force=True)
    if target != "out.zip":
        put(tmp_path / "out" / "thesis.doc", "x")
        with pytest.raises(FileError, match="not from treeanon"):
            ta.write(forest, f"{tmp_path}/{target}", force=True)
        assert (tmp_path / "out" / "thesis.doc").read_text() == "x"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", target.rstrip("/")]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    ta.write(few(), tmp_path / "o")
    assert [p.name for p in (tmp_path / "o").iterdir()] == ["part-00001.ndjson"]
    with pytest.raises(UsageError, match="cannot go to standard output"):
        ta.write(Forest.from_records(WHOLE, [[["age", "1", []]], []]), "-")


def test_a_failing_rename_brings_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ta.write(few(), tmp_path / "o")
    before = (tmp_path / "o" / "part-00001.ndjson").read_bytes()
    assert _write_with_failing_rename(tmp_path / "o", monkeypatch, OSError(5, "broken")) is FileError
    assert (tmp_path / "o" / "part-00001.ndjson").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["o"]


def test_a_signal_between_the_renames_brings_the_old_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ta.write(few(), tmp_path / "o")
    assert _write_with_failing_rename(tmp_path / "o", monkeypatch, SystemExit(143)) is SystemExit
    assert [p.name for p in tmp_path.iterdir()] == ["o"]


def _write_with_failing_rename(target: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException) -> type:
    rename: Callable[..., Path] = Path.rename
    calls = 0

    def failing(self: Path, goal: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise problem
        return rename(self, goal)

    monkeypatch.setattr(Path, "rename", failing)
    monkeypatch.setattr("treeanon.io.output._renameat2", lambda: None)
    with pytest.raises((TreeanonError, SystemExit)) as caught:
        ta.write(few(), target, force=True)
    monkeypatch.undo()
    return caught.type


@pytest.mark.parametrize("known", [True, False], ids=["exchange", "renames"])
def test_a_folder_is_replaced(known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not known:
        monkeypatch.setattr("treeanon.io.output._renameat2", lambda: None)
    else:
        monkeypatch.delattr(Path, "rename")
    first, second = put(tmp_path / "new" / "a", "1").parent, put(tmp_path / "old" / "b", "2").parent
    exchange(first, second)
    assert [p.name for p in sorted(tmp_path.rglob("*"))] == ["new", "b", "old", "a"]
    with pytest.raises(OSError, match="No such file"):
        exchange(first, tmp_path / "none")


@pytest.mark.parametrize("tmpfile", [True, False], ids=["nameless", "named"])
@pytest.mark.parametrize("target", ["o.ndjson", "o.zip", "o/", "o"])
def test_what_is_not_checked_only_this_user_can_read(
    target: str, tmpfile: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not tmpfile:
        monkeypatch.delattr(os, "O_TMPFILE")
    looked = []

    def check(path: Any) -> None:
        for one in tmp_path.iterdir():
            assert stat.S_IMODE(one.stat().st_mode) == 0o700
        assert Path(path).is_relative_to("/proc") or Path(path).parent.parent == tmp_path
        looked.append(path)

    ta.io.write(few(), f"{tmp_path}/{target}", check=check)
    (made,) = tmp_path.iterdir()
    assert looked and stat.S_IMODE(made.stat().st_mode) == (0o755 if made.is_dir() else 0o644)
    made.chmod(0o750)
    ta.write(few(), f"{tmp_path}/{target}", force=True)
    assert stat.S_IMODE(made.stat().st_mode) == 0o750


@pytest.mark.parametrize("tmpfile", [True, False], ids=["nameless", "named"])
def test_private_files(tmpfile: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not tmpfile:
        monkeypatch.delattr(os, "O_TMPFILE")
    path = tmp_path / "x.json"
    for mode in (0o600, 0o644):
        if path.exists():
            path.chmod(mode)
        with open_output(path, force=True, private=True) as stream:
            stream.write(b"x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("tmpfile", [True, False], ids=["nameless", "named"])
def test_without_files_without_names(tmpfile: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems do not know files without names: a named one must not be left behind either."""
    if not tmpfile:
        monkeypatch.delattr(os, "O_TMPFILE")
    put(tmp_path / "o.ndjson", "old")
    ta.write(few(), tmp_path / "o.ndjson", force=True)
    ta.write(few(), tmp_path / "p.ndjson")
    wrong(tmp_path / "p.ndjson", "exists already")
    bad = Forest.from_records(NDJSON, [[["age", "\x01", []]]])
    with pytest.raises(DataError):
        ta.write(bad, tmp_path / "o.xml")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.ndjson", "p.ndjson"]


# ---- In a process of its own: full disks and signals. ---------------------------------------------


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a schema and records that take a while to write."""
    folder = tmp_path_factory.mktemp("big")
    put(folder / "s.toml", SCHEMA)
    put(folder / "in.ndjson", "".join(f'{{"age":"{WORD}{i}"}}\n' for i in range(1000)) * 1500)
    put(folder / "odd.ndjson", "".join(f'{{"age":"{i * 7919 % 1000003}"}}\n' for i in range(200_000)))
    put(folder / "few.ndjson", "".join(f'{{"age":"{WORD}{i}"}}\n' for i in range(20_000)))
    return folder


def command(big: Path, target: str | Path, source: str = "few.ndjson") -> list[str]:
    given = [str(big / source), "-s", str(big / "s.toml"), "-o", str(target), "--force", "--to", "ndjson"]
    return [sys.executable, "-m", "treeanon", "convert", *given]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 200 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", folder], capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("mounting is not permitted")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("target", ["o.ndjson", "o/", rarely("o.ndjson.gz"), rarely("o.ndjson.zst"), rarely("o.zip")])
def test_disk_full(target: str, small_disk: Path, big: Path) -> None:
    put(small_disk / "o.ndjson", "old")
    done = subprocess.run(command(big, f"{small_disk}/{target}", "odd.ndjson"), capture_output=True, text=True)
    assert [p.name for p in small_disk.iterdir()] == ["o.ndjson"]
    assert (small_disk / "o.ndjson").read_text() == "old"
    assert done.returncode == 4 and done.stdout == "" and WORD not in done.stderr


@pytest.mark.parametrize("name", ["o.ndjson", "o.ndjson.gz", "o.ndjson.zst", "o.zip"])
def test_no_space_at_the_very_end(name: str, small_disk: Path) -> None:
    put(small_disk / "o.other", b"x" * 200 * 1024)
    wrong(small_disk / name, "No space left on device")


@pytest.mark.parametrize("target", ["o.zip", rarely("o.ndjson"), rarely("o.ndjson.gz"), rarely("o/")])
def test_file_size_limit(target: str, tmp_path: Path, big: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    arguments = command(big, f"{tmp_path}/{target}", "odd.ndjson")
    done = subprocess.run(arguments, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 4 and "File too large" in done.stderr and WORD not in done.stderr
    assert not list(tmp_path.iterdir())


def test_full_device_and_standard_output(big: Path) -> None:
    for target in ("/dev/full", "-"):
        with Path("/dev/full").open("wb") as stdout:
            done = subprocess.run(command(big, target), stdout=stdout, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 4 and "No space left on device" in done.stderr
    done = subprocess.run(command(big, "-"), capture_output=True)
    assert done.returncode == 0 and done.stdout.count(b"\n") == 20_000 and done.stderr.startswith(b"20,000 records")


def test_no_space_for_spooling(small_disk: Path, big: Path) -> None:
    environment = os.environ | {"TMPDIR": str(small_disk)}
    done = subprocess.run(command(big, "-", "odd.ndjson"), capture_output=True, text=True, env=environment)
    assert done.stdout == "" and done.returncode == 4


@pytest.mark.parametrize("source", ["few.ndjson", "odd.ndjson"])
def test_reader_of_the_pipe_goes_away(source: str, big: Path) -> None:
    with subprocess.Popen(command(big, "-", source), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        told = process.stderr.read().decode()
        assert process.wait() == 4
    assert "Traceback" not in told and "Exception ignored" not in told and WORD not in told


SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP]
# By default every signal once, and every kind of output once.
USUAL = [
    *product(SIGNALS, ["o.ndjson"]),
    *product(SIGNALS[1:2], ["o/"]),
]
RARE = [pair for pair in product(SIGNALS, ["o.ndjson.gz", "o.zip", "o/"]) if pair not in USUAL]


@pytest.mark.parametrize(
    ("sent", "target"), [*USUAL, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in RARE)], ids=str
)
def test_signals(sent: signal.Signals, target: str, tmp_path: Path, big: Path) -> None:
    """A signal in the middle of writing: the old file is as it was, and nothing else is there."""
    if sent == signal.SIGKILL and target == "o/":
        pytest.skip("nobody cleans up a folder after SIGKILL")
    old = put(tmp_path / target / "part-1.ndjson" if target == "o/" else tmp_path / target, "old")
    arguments = command(big, f"{tmp_path}/{target}", "in.ndjson")
    # Whoever runs the tests in the background may have made the signal one to be ignored.
    catchable = None if sent == signal.SIGKILL else partial(signal.signal, sent, signal.SIG_DFL)
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=catchable
    ) as process:  # fmt: skip
        assert wait_until_it_writes(process, tmp_path), process.stderr and process.stderr.read()
        process.send_signal(sent)
        told = process.communicate()[1].decode()
    assert process.returncode in ((-9,) if sent == signal.SIGKILL else (128 + sent,))
    assert old.read_text() == "old"
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [old]
    assert len(list(tmp_path.iterdir())) == 1 and WORD not in told and "Traceback" not in told


def wait_until_it_writes(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Whether the process holds an unfinished file in the folder before it ends."""
    handles = Path(f"/proc/{process.pid}/fd")
    while process.poll() is None:
        try:
            for handle in handles.iterdir():
                goal = str(handle.readlink())
                if goal.startswith(str(folder)) and handle.is_file() and handle.stat().st_size:
                    return True
        except OSError:
            pass
        # Parts of a folder are open for moments only; the folder is staged in a hidden one.
        if any(folder.glob(".*/*/part-*")):
            return True
        time.sleep(0.002)
    return False


def test_numbers_are_not_told(tmp_path: Path) -> None:
    wrong(tmp_path / NUMBER / "o.ndjson", "No such file")
