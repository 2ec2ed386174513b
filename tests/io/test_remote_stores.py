"""`gs://` and `az://` against emulators on loopback, where these are installed: gcp-storage-emulator and azurite.

The first is on PyPI, beside gcsfs and adlfs, the other on npm; then `pytest -m slow tests/io/test_remote_stores.py`.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.support.command_line import treeanon
from treeanon.errors import FileError, GuaranteeError

pytestmark = pytest.mark.slow

SCHEMA = 'version = 1\n[input]\nformat = "ndjson"\none_per_person = true\n[[class]]\nname = "age"\npath = "age"\n'
ROWS = "".join(json.dumps({"age": str(20 + at % 4), "name": f"CANARY-{at}"}) + "\n" for at in range(40))
# What azurite is started with; the emulator's own documentation names this account and key.
ACCOUNT, KEY = "treeanon", "dHJlZWFub24="


def free_port() -> int:
    with closing(socket.socket()) as own:
        own.bind(("127.0.0.1", 0))
        port: int = own.getsockname()[1]
        return port


def gs(folder: Path) -> Iterator[tuple[str, Any]]:
    server = pytest.importorskip("gcp_storage_emulator.server", reason="gcp-storage-emulator is not installed")
    port = free_port()
    running = server.create_server("127.0.0.1", port, in_memory=True, default_bucket="clinic")
    running.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        # The kind of a bucket is asked for by a protocol that the emulator does not speak.
        patch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
        gcsfs = pytest.importorskip("gcsfs", reason="gcsfs is not installed")
        try:
            yield "gs://clinic", gcsfs.GCSFileSystem(use_listings_cache=False, skip_instance_cache=True)
        finally:
            running.stop()


def az(folder: Path) -> Iterator[tuple[str, Any]]:
    command = shutil.which("azurite-blob")
    if command is None:
        pytest.skip("azurite is not installed")
    adlfs = pytest.importorskip("adlfs", reason="adlfs is not installed")
    port = free_port()
    arguments = [command, "--blobPort", str(port), "--location", str(folder), "--silent", "--skipApiVersionCheck"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AZURITE_ACCOUNTS", f"{ACCOUNT}:{KEY}")
        place = f"http://127.0.0.1:{port}/{ACCOUNT}"
        secret = f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={place};DefaultEndpointsProtocol=http"
        patch.setenv("AZURE_STORAGE_CONNECTION_STRING", secret)
        with subprocess.Popen(arguments) as running:
            try:
                for _ in range(600):
                    with closing(socket.socket()) as probe:
                        if probe.connect_ex(("127.0.0.1", port)) == 0:
                            break
                    time.sleep(0.1)
                store = adlfs.AzureBlobFileSystem(connection_string=secret, use_listings_cache=False)
                store.mkdir("clinic")
                yield "az://clinic", store
            finally:
                running.terminate()


@pytest.fixture(scope="module", params=[gs, az], ids=["gs", "az"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    yield from request.param(tmp_path_factory.mktemp("store"))


@pytest.fixture
def home(store: tuple[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Any]:
    """The URL of an emulated store with an input, and a client of it, in a folder with a schema."""
    url, client = store
    for name in client.find("clinic"):
        client.rm_file(name)
    client.pipe_file("clinic/in/a.ndjson", ROWS.encode())
    (tmp_path / "s.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return url, client


def keys(client: Any) -> list[str]:
    return sorted(client.find("clinic"))


@pytest.mark.parametrize("source", ["in/a.ndjson", "in/", "in/*.ndjson"])
def test_inputs(home: tuple[str, Any], source: str) -> None:
    assert len(ta.read(f"{home[0]}/{source}", Path("s.toml"))) == 40


@pytest.mark.parametrize("name", ["out.ndjson.gz", "a b#c.zip"])
def test_a_release_appears_when_it_is_checked(
    home: tuple[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, client = home
    release = ta.anonymize(f"{url}/in/a.ndjson", schema=Path("s.toml"), k=2, m=1, n=0)
    with monkeypatch.context() as patch:
        patch.setattr("treeanon.release.tree_release.require_same", _fails)
        with pytest.raises(GuaranteeError):
            release.write(f"{url}/{name}")
    assert keys(client) == ["clinic/in/a.ndjson"]
    assert release.write(f"{url}/{name}").holds
    assert keys(client) == sorted([f"clinic/{name}", "clinic/in/a.ndjson"])
    assert len(ta.read(f"{url}/{name}", Path("s.toml"))) == 40
    before = client.cat_file(f"clinic/{name}")
    with pytest.raises(FileError, match="exists already"):
        release.write(f"{url}/{name}")
    assert client.cat_file(f"clinic/{name}") == before
    assert release.write(f"{url}/{name}", force=True).holds


def _fails(*given: object) -> None:
    raise GuaranteeError("no")


def test_the_command_line(home: tuple[str, Any]) -> None:
    url = home[0]
    asked = ("-s", "s.toml", "-k", "2", "-m", "1", "-n", "0")
    done = treeanon("anonymize", f"{url}/in/a.ndjson", *asked, "-o", f"{url}/out.ndjson")
    assert done.returncode == 0 and not any(word in done.stderr for word in ("CANARY", KEY)), done.stderr
    assert treeanon("verify", f"{url}/out.ndjson", *asked).returncode == 0
    done = treeanon("anonymize", f"{url}/in/b.ndjson", *asked, "-o", f"{url}/x.ndjson")
    assert done.returncode == 4 and "there is no such file" in done.stderr
    assert [key.rpartition("/")[2] for key in keys(home[1])] == ["a.ndjson", "out.ndjson"]
