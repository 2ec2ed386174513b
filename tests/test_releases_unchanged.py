"""Releases of the samples with a seed are, byte for byte, what they were before names and places changed."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.paths import ROOT
from treeanon.cli.main import main

XML = "samples/patients.xml -s schemas/hospital-xml.toml"
JSON = "samples/patients.ndjson -s schemas/hospital-json.toml"
CENSUS = "samples/census.csv -s schemas/census.toml"
CLINIC = "samples/clinic -s schemas/clinic.toml"
CLINIC_SQL = "samples/clinic.sqlite -s schemas/clinic-sqlite.toml"

QUICK = {
    "max5.xml": f"{XML} -k 5",
    "max5.ndjson": f"{JSON} -k 5",
    "clinicdir": f"{CLINIC} -k 5",
    "t-datafly.csv": f"{CENSUS} -k 5 --l 2 -a datafly --max-suppressed 1%",
    "t-mondrian.csv": f"{CENSUS} -k 5 --l 2 -a mondrian --max-suppressed 1%",
}
SLOW = {
    "max10.xml": f"{XML} -k 10 -m 2 -n 1",
    "joint.ndjson": f"{JSON} -k 5 --attacker joint",
    "sub.xml": f"{XML} -k 5 --recoding subtree",
    "rpd.xml": f"{XML} -k 5 --objective rpd --max-suppressed 1%",
    "gcs.xml": f"{XML} -k 5 -a gcs",
    "gcsc.xml": f"{XML} -k 5 -a gcs --complete --g 3",
    "ocs.xml": f"{XML} -k 5 -a ocs --closed cuts",
    "mir.ndjson": f"{JSON} -k 5 -a miracle",
    "neg.xml": f"{XML} -k 5 --negative diagnosis",
    "trees.trees.jsonl": f"{XML} -k 5 -m 2 -n 0",
    "clinic.sqlite": f"{CLINIC} -k 5",
    "clinic.ndjson": f"{CLINIC} -k 5 --to ndjson",
    "clinicsql": f"{CLINIC_SQL} -k 5 --to tables",
    "doc.xml": f"{XML} -k 5 -a samarati --release documents --rest drop",
    "t-tclose.csv": f"{CENSUS} -k 5 --t 0.3",
    "t-relaxed.csv": f"{CENSUS} -k 5 --l 2 -a mondrian --mode relaxed --split ncp --style sets",
    "t-dual.csv": f"{CENSUS} -k 5 --l 1 -a onedim-dual --max-loss 0.2",
    "t-perm": f"{CENSUS} -k 2 --publish permuted --l 3 --diversity frequency -a onedim-l",
    "t-onedim-l.csv": f"{CENSUS} -k 2 --l 2 --diversity frequency -a onedim-l",
    "t-suppress-tuples.csv": f"{CENSUS} -k 2 --l 1 -a suppress-tuples --max-suppressed 99%",
    **{
        f"t-{name}.csv": f"{CENSUS} -k 5 --l 2 -a {name} --max-suppressed 1%"
        for name in ("optimal", "samarati", "incognito", "local", "topdown")
    },
    "t-suppress-columns.csv": f"{CENSUS} -k 5 --l 2 --diversity frequency -a suppress-columns",
    **{
        f"t-{name}.csv": f"{CENSUS} -k 5 --l 1 -a {name} --max-suppressed 1%"
        for name in ("onedim", "hilbert", "hilbert-fast", "idistance", "idistance-fast")
    },
}


def release(name: str, folder: Path) -> Path:
    """The path of the release of that name, made in the folder."""
    target = folder / name
    arguments = ["anonymize", *(QUICK | SLOW)[name].split(), "--seed", "7", "--quiet", "-o", str(target)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return target


def digest(path: Path) -> str:
    """SHA-256 of a file, of the files of a folder, or of the contents of a database."""
    found = hashlib.sha256()
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as database:
            found.update("\n".join(database.iterdump()).encode())
    else:
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            found.update((file.name + "\n").encode() + file.read_bytes())
    return found.hexdigest()


DIGESTS: dict[str, str] = {
    "t-suppress-tuples.csv": "f656ff0825a05f568c31cadbcc1e27c09c69d4939027d464f7b47d6a0a747c64",
    "max5.xml": "d3fe6500ecd7c122f5c2c55ece9da45dfef59cc6ab35030047592e29cb0d8357",
    "max5.ndjson": "d7c8691d414b8286ae83abe98c782742d0a03649b895d8485dfea1895ee0385d",
    "clinicdir": "a2bf907c175fb8471a44da491cab93f5c809559036f4d56fbcaaace5dee71a02",
    "t-datafly.csv": "4fa424e8bb09e152efae96b5b5d251ea776ce40a57803b2a01af68c347477bae",
    "t-mondrian.csv": "03a65c6f7fce06e2626cbac393217ed39d7aa89603c92791682dad1707b18e1b",
    "max10.xml": "8090ea7448b0a722feba8f0a11ac8f22da1461a0c5658ca1c49411b7f87fe202",
    "joint.ndjson": "4877bae74f71db0be42ca7eba25fc22b2463134bf9f821678f3908855f82a058",
    "sub.xml": "d28d16df5f48086217baffb8f8574f5c0bb5a8e0cc95437ef11ac8e959807eb7",
    "rpd.xml": "43700fd3227d819bd219df0fad9e43878aa1463022eee3bbc4379e354b6a3bed",
    "gcs.xml": "721e7815b4944eeafe94f6dd4dba9ec88478911f5a73352f6a8f749f26df6b47",
    "gcsc.xml": "6771b226301d96b4081acb2f060dfaa0497fcb0a73a0da3516be435d2747ea5e",
    "ocs.xml": "32775471cbc1f14e3df7bce4be8fe2f3f3003d1bd16cf8674af1425091609adc",
    "mir.ndjson": "8deb29ea0cbb327f91c81e374324e5ff6d0fd16ac56e005f0173960176908f9f",
    "neg.xml": "b38f0909765e3949060a95d168e2174a19444e4926086b5603217c5f06855890",
    "trees.trees.jsonl": "024651a8f8444c2a086873f1e111f6471dd70b9488160a6ecb09ede9aee7749f",
    "clinic.sqlite": "77fbd36bb3aa484f770796dc05bb965ef3fee91493797fd8af116bff51890992",
    "clinic.ndjson": "1c310b36cdaf26912ca8a9851c4899ee4bd29f8ba1af0c64f38d22e73d3fa1df",
    "clinicsql": "a2bf907c175fb8471a44da491cab93f5c809559036f4d56fbcaaace5dee71a02",
    "doc.xml": "a95e75c6e13912bb85c7d0dc6c9a34abf3be6b6c4b645ce8a93c2f66436e1bc8",
    "t-tclose.csv": "a64c3d18a597c8663486b4819d0568abf43204798e14269da8a6ee3726f824bf",
    "t-relaxed.csv": "eee41dc9318d8133cf3a49068521caf716b57c4a7cdd8acfb38eaa90c2eeaa43",
    "t-dual.csv": "4c98a10263cd1b0fc21f1478216aa156ea57180cc9af0b3dfd7eaf98ba04f4a1",
    "t-perm": "9fbbbdafe0395d067c0b7d0169ebb72ef82d9842877465515d30da9e06d207ef",
    "t-onedim-l.csv": "d8e8659f17f87df955c46435f01b1c964dc213cd0ee46d56cdcaf2ebede1ed56",
    "t-optimal.csv": "8c12424bbbd5835cf6231b5f7eee1f10db36e1ac7cf45bda127186911299f416",
    "t-samarati.csv": "28fa6b058111efd9917aca232458daecbccb961ecf24cdb2b4ebceeff2c58e25",
    "t-incognito.csv": "7e7b8481abfb85f336e7715bc2ccae7b15ddeaa6a4537f8cfb0bc0c69e488ede",
    "t-local.csv": "e89d1004358c03441fb13fba5f655e315f8a504803e20ec7cd06806d7e80dd18",
    "t-topdown.csv": "2aa782c8531eceb98b50923f60e8e973c3ffdf3a45b1b518153435c143873b75",
    "t-suppress-columns.csv": "e665dc554083341599665629a5ef367005f5e46c6fd9d00deddda23109346b3f",
    "t-onedim.csv": "2bb656626fdb7b0293f1f8411d1d7ea2fd68415a45d1c39a3642b84c38a32a0b",
    "t-hilbert.csv": "81b684eb376af9b6a4b9dfd896f5881cd9caae18977eea1483698056207295d4",
    "t-hilbert-fast.csv": "ca228ee7a2a59339333e5549aadba2467b846f739d790e68629d1a63e83e879f",
    "t-idistance.csv": "433a315daa20d0ed553d888c935191aa9729f72c3197c43fbbf30de70ce1dda6",
    "t-idistance-fast.csv": "a258225c9b5115a12b12128cbdbfdc6d8cee50edd9a0121943367907b90105a6",
}


def check(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert digest(release(name, folder)) == DIGESTS[name]


@pytest.mark.parametrize("name", QUICK)
def test_quick(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(name, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_slow(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(name, tmp_path, monkeypatch)
