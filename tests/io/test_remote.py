"""Inputs and outputs in a real S3 server on loopback (moto's): whole or absent, and no secret is told."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import ssl
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import treeanon as ta
from tests.support.as_installed import ran
from tests.support.paths import ROOT
from treeanon.errors import FileError, GuaranteeError, TreeanonError, UsageError
from treeanon.io.relational.urls import is_remote, shown

SECRET = "Zwischenfall"
SCHEMA = """version = 1
[input]
format = "{}"
one_per_person = true
{}
[[class]]
name = "age"
path = "age"
"""
ROWS = [{"age": str(20 + number % 4), "name": f"CANARY-{number}"} for number in range(40)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = ("age,name\n" + "".join(f"{row['age']},{row['name']}\n" for row in ROWS)).encode()


SERVER = """
import sys
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(*server.get_host_and_port(), sep=":", flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """A client of an S3 server of its own, which has a bucket `clinic`; the environment says where it is."""
    if find_spec("moto") is None or find_spec("flask") is None:
        pytest.skip("moto's server is not installed")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    boto3 = pytest.importorskip("boto3")
    # In a process of its own: it takes more than a hundred megabytes, and keeps what it was given.
    command, pipe = [sys.executable, "-c", SERVER], subprocess.PIPE
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    with pytest.MonkeyPatch.context() as patch, server:
        assert server.stdout is not None
        patch.setenv("AWS_ENDPOINT_URL", f"http://{server.stdout.readline().strip()}")
        patch.setenv("AWS_ACCESS_KEY_ID", "treeanon")
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        client = boto3.client("s3")
        client.create_bucket(Bucket="clinic")
        try:
            yield client
        finally:
            server.kill()


@pytest.fixture
def bucket(store: Any) -> Any:
    """The client, and an empty bucket."""
    for item in store.list_objects_v2(Bucket="clinic").get("Contents", []):
        store.delete_object(Bucket="clinic", Key=item["Key"])
    return store


def put(bucket: Any, **files: bytes) -> None:
    for name, data in files.items():
        bucket.put_object(Bucket="clinic", Key=name, Body=data)


def keys(bucket: Any) -> list[str]:
    return [item["Key"] for item in bucket.list_objects_v2(Bucket="clinic").get("Contents", [])]


def body(bucket: Any, key: str) -> bytes:
    found: bytes = bucket.get_object(Bucket="clinic", Key=key)["Body"].read()
    return found


def zipped(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def schema(form: str, more: str = "") -> ta.Schema:
    return ta.Schema.loads(SCHEMA.format(form, more))


@pytest.mark.parametrize(
    ("form", "key", "data"),
    [
        ("ndjson", "a b#c.ndjson.gz", gzip.compress(LINES)),
        ("ndjson", "in/", LINES),
        ("ndjson", "in/*.ndjson", LINES),
        ("ndjson", "in.zip", zipped(**{"p.ndjson": LINES})),
        ("csv", "in.csv", CSV),
        ("csv", "in/", CSV),
        ("csv", "in.zip", zipped(**{"p.csv": CSV})),
    ],
)
def test_documents_and_rows(bucket: Any, tmp_path: Path, form: str, key: str, data: bytes) -> None:
    stored = key if not key.startswith("in/") else f"in/p.{form}"
    put(bucket, **{stored: data, "in/.hidden.ndjson": b"x", "in/other.txt": b"x"})
    found = schema(form)
    forest = ta.read(f"s3://clinic/{key}", found)
    (tmp_path / "p.ndjson").write_bytes(LINES)
    assert forest == ta.read(tmp_path / "p.ndjson", schema("ndjson"))


@pytest.mark.parametrize("name", ["clinic.sqlite", "clinic.sqlite.gz", "folder", "zip", "datapackage"])
def test_tables(bucket: Any, name: str) -> None:
    expected = ta.read(ROOT / "samples/clinic.sqlite", ta.Schema.load(ROOT / "schemas/clinic-sqlite.toml"))
    if "sqlite" in name:
        data = (ROOT / "samples/clinic.sqlite").read_bytes()
        put(bucket, **{name: gzip.compress(data) if name.endswith("gz") else data})
        found = ta.read(f"s3://clinic/{name}", ta.Schema.load(ROOT / "schemas/clinic-sqlite.toml"))
    else:
        files = {path.name: path.read_bytes() for path in (ROOT / "samples/clinic").iterdir()}
        put(bucket, **({"c.zip": zipped(**files)} if name == "zip" else {f"c/{at}": d for at, d in files.items()}))
        key = {"zip": "c.zip", "folder": "c/", "datapackage": "c/datapackage.json"}[name]
        found = ta.read(f"s3://clinic/{key}", ta.Schema.load(ROOT / "schemas/clinic.toml"))
    assert found == expected


@pytest.mark.parametrize("key", ["out.ndjson", "out/o.ndjson.gz", "out.zip"])
def test_a_release_appears_when_it_is_checked(bucket: Any, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    put(bucket, **{"in.ndjson": LINES})
    release = ta.anonymize(ta.read("s3://clinic/in.ndjson", schema("ndjson")), k=3, m=1, n=0, seed=1)
    goal = f"s3://clinic/{key}"
    assert release.write(goal).holds
    assert ta.read(goal, schema("ndjson")) == release.forest
    with pytest.raises(FileError, match="exists already"):
        release.write(goal)
    first = body(bucket, key)
    assert release.write(goal, force=True).holds
    seen: list[object] = []

    def looking(*_: object, **__: object) -> ta.Forest:
        seen.append((keys(bucket), body(bucket, key) != b""))
        return release.forest[:10]

    bucket.delete_object(Bucket="clinic", Key=key)
    put(bucket, **{key: first})
    monkeypatch.setattr("treeanon.release.tree_release.read_back", looking)
    with pytest.raises(GuaranteeError):
        release.write(goal, force=True)
    assert body(bucket, key) == first and seen
    bucket.delete_object(Bucket="clinic", Key=key)
    with pytest.raises((GuaranteeError, bucket.exceptions.NoSuchKey)):
        release.write(goal)
    assert keys(bucket) == ["in.ndjson"] and not bucket.list_multipart_uploads(Bucket="clinic").get("Uploads")


def test_an_object_that_appears_in_the_meantime_is_not_replaced(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from treeanon.io import remote

    store = remote._filesystem("s3://clinic/x")[0]
    monkeypatch.setattr(type(store), "exists", lambda *_, **__: False)
    put(bucket, **{"in.ndjson": LINES, "out.ndjson": b"theirs"})
    release = ta.anonymize(ta.read("s3://clinic/in.ndjson", schema("ndjson")), k=3, m=1, n=0, seed=1)
    with pytest.raises(FileError, match="exists already"):
        release.write("s3://clinic/out.ndjson")
    assert body(bucket, "out.ndjson") == b"theirs"


def problem(source: str, kind: type[TreeanonError] = FileError) -> str:
    with pytest.raises(kind) as caught:
        ta.read(source, schema("ndjson"))
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_what_is_not_there(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "s3://clinic/no.ndjson: there is no such file" in problem("s3://clinic/no.ndjson")
    assert "there is no such file" in problem("s3://nowhere/no.ndjson")
    put(bucket, **{"broken.ndjson.gz": b"x"})
    assert "compressed data is broken" in problem("s3://clinic/broken.ndjson.gz", TreeanonError)  # type: ignore[type-abstract]
    forest = ta.Forest.from_records(schema("ndjson"), [[["age", "7", []]]])
    with pytest.raises(UsageError, match="several files cannot appear at once"):
        ta.write(forest, "s3://clinic/out/", format="ndjson")
    with pytest.raises(UsageError, match="for reading only"):
        ta.write(forest, f"https://ann:{SECRET}@host/o.ndjson?t={SECRET}", format="ndjson")
    with pytest.raises(FileError, match="there is no such file"):
        ta.write(forest, "s3://nowhere/o.ndjson", format="ndjson")
    # Another name of the same store, so that no connection is kept.
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    assert "cannot be reached" in problem("s3://clinic/in.ndjson")
    s3fs.S3FileSystem.clear_instance_cache()


def test_the_command_line(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    put(bucket, **{"in.ndjson": LINES})
    (tmp_path / "s.toml").write_text(SCHEMA.format("ndjson", ""))

    def run(line: str) -> tuple[int, str]:
        code, out, err = ran(line.split(), monkeypatch, capfd)
        assert SECRET not in out + err and "CANARY" not in out + err
        return code, out + err

    ask = "-s s.toml -k 3 -m 1 -n 0"
    assert run("init s3://clinic/in.ndjson -o proposed.toml")[0] == 0
    assert run(f"anonymize s3://clinic/in.ndjson {ask} -o s3://clinic/out.ndjson")[0] == 0
    assert run(f"verify s3://clinic/out.ndjson {ask}")[0] == 0
    assert run(f"verify s3://clinic/in.ndjson {ask}")[0] == 1
    for more, code, words in (
        ("-o s3://clinic/out.ndjson", 4, "s3://clinic/out.ndjson: exists already"),
        ("-o s3://clinic/in.ndjson --force", 2, "is an input"),
        ("-o s3://clinic/out/", 2, "several files cannot appear at once"),
        (f"-o https://a:{SECRET}@b/c.ndjson", 2, "for reading only"),
        ("-o x.ndjson --solution s3://clinic/s.json", 2, "requires a local file"),
        ("-o x.ndjson --engine spark", 2, "no such URLs"),
    ):
        got, said = run(f"anonymize s3://clinic/in.ndjson {ask} {more}")
        assert (got, words in said) == (code, True), said
    assert keys(bucket) == ["in.ndjson", "out.ndjson"]
    job = 'input = "s3://clinic/in.ndjson"\nschema = "s.toml"\noutput = "s3://clinic/job.ndjson"\nk = 3\nm = 1\nn = 0\n'
    (tmp_path / "job.toml").write_text(f"[release]\n{job}")
    code, said = run("run job.toml --dry-run")
    assert code == 0 and "s3://clinic/in.ndjson (1 file" in said and "job.ndjson" not in keys(bucket)
    assert run("run job.toml")[0] == 0 and "job.ndjson" in keys(bucket)


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a web server whose files are the requests' own, with a certificate that only this process trusts."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    pytest.importorskip("aiohttp")
    context, trusted = (
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        ssl.create_default_context(cafile=_certificate(tmp_path)),
    )
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    monkeypatch.setitem(fsspec.config.conf, "https", {"ssl": trusted})
    files = {"/in.ndjson.gz": gzip.compress(LINES), "/in.zip": zipped(**{"p.ndjson": LINES}), "/in.csv": CSV}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            code = 404 if path not in files else 200 if query == f"sig={SECRET}" else 403
            data = files[path] if code == 200 else SECRET.encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://localhost:{server.server_address[1]}"
        server.shutdown()


def _certificate(folder: Path) -> Path:
    """Make a certificate of localhost, which signs itself."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name.from_rfc4514_string("CN=localhost")
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    signed = made.sign(key, hashes.SHA256())
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key.pem").write_bytes(private)
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    return folder / "cert.pem"


def test_a_web_server(web: str, tmp_path: Path) -> None:
    (tmp_path / "p.ndjson").write_bytes(LINES)
    expected = ta.read(tmp_path / "p.ndjson", schema("ndjson"))
    for name in ("in.ndjson.gz", "in.zip"):
        assert ta.read(f"{web}/{name}?sig={SECRET}", schema("ndjson")) == expected
    assert ta.read(f"{web}/in.csv?sig={SECRET}", schema("csv")) == expected
    assert f"{web}/no.ndjson: there is no such file" in problem(f"{web}/no.ndjson?sig={SECRET}")
    assert f"{web}/in.ndjson.gz: access is denied" in problem(f"{web}/in.ndjson.gz?sig={SECRET}2")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://clinic/a.csv", "s3://clinic/a.csv"),
        (f"https://ann:{SECRET}@host:8443/a.csv?X-Amz-Signature={SECRET}#{SECRET}", "https://host:8443/a.csv"),
        (f"s3://key:{SECRET}@clinic/a.csv", "s3://clinic/a.csv"),
        ("az://box/what?.csv", "az://box/what?.csv"),
    ],
)
def test_what_messages_show(url: str, said: str) -> None:
    assert is_remote(url) and shown(url) == said


def test_nothing_is_loaded_before_a_url_is_given(tmp_path: Path) -> None:
    (tmp_path / "p.ndjson").write_bytes(LINES)
    code = (
        "import sys, treeanon as ta\n"
        f"schema = ta.Schema.loads({SCHEMA.format('ndjson', '')!r})\n"
        f"forest = ta.read({str(tmp_path / 'p.ndjson')!r}, schema)\n"
        f"ta.write(forest, {str(tmp_path / 'o.ndjson')!r})\n"
        "print([name for name in ('fsspec', 's3fs', 'treeanon.io.remote') if name in sys.modules])\n"
        "sys.modules['fsspec'] = None\n"
        "try:\n    ta.read('s3://clinic/in.ndjson', schema)\n"
        "except ta.errors.UsageError as problem:\n    print(problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.stderr
    assert done.stdout.splitlines()[0] == "[]" and "pip install 'treeanon[remote]'" in done.stdout


def test_parts_of_an_upload_that_fails_are_taken_back(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    from treeanon.io.output import unnamed_file
    from treeanon.io.remote import put as upload

    monkeypatch.setattr("s3fs.core.calculate_chunksize", lambda *_, **__: 5 << 20)
    seen: list[object] = []
    whole = s3fs.S3FileSystem._upload_file_part_concurrent

    async def failing(*given: Any, **more: Any) -> object:
        parts = await whole(*given, **more)
        seen.append((keys(bucket), len(bucket.list_multipart_uploads(Bucket="clinic").get("Uploads", []))))
        if len(seen) == 1:
            raise OSError("no")
        return parts

    monkeypatch.setattr(s3fs.S3FileSystem, "_upload_file_part_concurrent", failing)
    file, path = unnamed_file()
    with file:
        file.write(bytes(11 << 20))
        file.flush()
        with pytest.raises(FileError, match=r"s3://clinic/large\.zip: cannot be"):
            upload("s3://clinic/large.zip", file, path, force=False)
        assert not keys(bucket) and not bucket.list_multipart_uploads(Bucket="clinic").get("Uploads")
        upload("s3://clinic/large.zip", file, path, force=False)
    assert seen == [([], 1), ([], 1)] and len(body(bucket, "large.zip")) == 11 << 20


def test_files_of_a_report(bucket: Any, tmp_path: Path) -> None:
    from treeanon.reports.signed.examined import described, fingerprint

    put(bucket, **{"in/a.ndjson": LINES, "in/b/c.ndjson": b"{}\n"})
    for name, data in (("a.ndjson", LINES), ("b/c.ndjson", b"{}\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert fingerprint("s3://clinic/in/a.ndjson") == fingerprint(str(tmp_path / "a.ndjson"))
    assert fingerprint("s3://clinic/in/") == fingerprint(str(tmp_path))
    assert described("input", "s3://clinic/in/a.ndjson")["path"] == "s3://clinic/in/a.ndjson"
    # Keys in a URL are nothing that S3 knows; they are not told all the same.
    problem(f"s3://key:{SECRET}@clinic/in/a.ndjson")
