"""Pages in a real browser: hostile values are text, nothing runs, nothing is loaded, and there is room on a phone."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.support.chromium import chromium
from treeanon.hierarchy import Hierarchy
from treeanon.previews.preview import preview_of
from treeanon.reports.page.page import page
from treeanon.schema.model import ClassSpec, InputSpec


@pytest.fixture(scope="module")
def asked_for() -> Iterator[tuple[int, list[str]]]:
    """A server that pages must not ask for anything: its port, and what it was asked for."""
    found: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.append(self.path)
            self.send_error(404)

        def log_message(self, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, found
    server.shutdown()


def hostile(port: int) -> list[str]:
    url = f"http://127.0.0.1:{port}/leak"
    return [
        "<script>window.ran=1;document.title='ran'</script>",
        f"</title></style></svg><img src='{url}' onerror='window.ran=1'>",
        f'"><link rel=stylesheet href="{url}"><iframe src="{url}"></iframe>',
        "]]><![CDATA[<script>window.ran=1</script>",
        f"<meta http-equiv=refresh content='0;url={url}'>",
        "<!-- --><svg onload=window.ran=1></svg>",
        "\x1b[31mred\x1b[0m \x07 \x08\r\n\t",
        "\u202eright to left\u202c \u2066isolate\u2069 \u200b\ufeff\u2028",
        "a" * 1_000_000,
        "e" + "\u0301" * 5000,
        "\u05d0\u05d1\u05d2 \u6d41\u611f \U0001f637" * 50,
        f"javascript:window.ran=1;url({url})@import '{url}'",
        "&lt;script&gt;&amp;#x3c;",
    ]


NAME = "<b>class</b> & \"q\" 'a'"


def hostile_forest(port: int) -> ta.Forest:
    """Persons whose values, whose hierarchies and whose classes are hostile."""
    values = hostile(port)
    hierarchy = Hierarchy.from_paths(
        [[text, f"<i>{i // 4}</i>", "<script>window.ran=1</script>*"] for i, text in enumerate(values)]
    )
    specs = (ClassSpec(NAME, hierarchy=hierarchy), ClassSpec("below", under=NAME, hierarchy=hierarchy))
    schema = ta.Schema(InputSpec("trees"), specs)
    people = [[[NAME, text, [["below", other, []] for other in values[i : i + 3]]]] for i, text in enumerate(values)]
    return ta.Forest.from_records(schema, [one for one in people for _ in range(2)])


def assert_harmless(browser: Any, path: Path, title: str, found: list[str]) -> None:
    browser.get(path.as_uri())
    assert browser.title == title
    assert browser.execute_script("return typeof window.ran") == "undefined"
    assert browser.execute_script(
        "return document.scripts.length + document.images.length + document.links.length"
    ) == len(browser.find_elements("css selector", "a"))
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert {url.partition("#")[0] for url in urls} <= {path.as_uri()} and found == []
    # The policy has nothing to complain of: the style has the hash that it names.
    assert [entry for entry in browser.get_log("browser") if "Content Security Policy" in entry["message"]] == []
    assert browser.execute_script("return getComputedStyle(document.querySelector('.banner')).textAlign") == "center"


def test_hostile_values_are_text(tmp_path: Path, asked_for: tuple[int, list[str]]) -> None:
    port, found = asked_for
    forest = hostile_forest(port)
    release = ta.anonymize(forest, k=2, m=1, n=1, algorithm="gcs")
    changes = preview_of(forest, release, 10).changes
    pages = {
        "internal": page(release, before=forest, changes=changes, audience="internal", title="<script>x</script>"),
        "public": page(release, title="<script>x</script>"),
    }
    with chromium() as browser:
        for audience, text in pages.items():
            assert len(text) < 1_000_000
            path = tmp_path / f"{audience}.html"
            path.write_text(text, encoding="utf-8")
            assert_harmless(browser, path, f"<script>x</script> ({audience})", found)
            seen = browser.execute_script("return document.body.textContent")
            assert "<script>window.ran=1" in seen
            assert not any(letter in seen for letter in "\x1b\x00\x07\u202e\u202c\u2066\u200b\ufeff\u2028")
            assert "\\x1b[31m" in seen or audience == "public"


def hostile_table(port: int) -> ta.Table:
    values = [text for text in hostile(port) if text]
    texts = [text for text in values for _ in range(3)]
    columns = {NAME: (texts, Hierarchy.flat(values)), "ill": (texts[::-1], Hierarchy.flat(values))}
    return ta.Table.of_texts(columns, {"ill": "sensitive"})


@pytest.mark.parametrize("algorithm", ["local", "mondrian"])
def test_hostile_rows_are_text(tmp_path: Path, asked_for: tuple[int, list[str]], algorithm: str) -> None:
    port, found = asked_for
    table = hostile_table(port)
    release = ta.anonymize(table, k=2, l=1, algorithm=algorithm)
    changes = preview_of(table, release, 20).changes
    with chromium() as browser:
        for audience, text in (
            ("internal", page(release, changes=changes, audience="internal")),
            ("public", page(release)),
        ):
            path = tmp_path / f"{audience}.html"
            path.write_text(text, encoding="utf-8")
            assert_harmless(browser, path, f"Anonymized release ({audience})", found)


def test_there_is_room_on_a_phone(tmp_path: Path) -> None:
    forest = hostile_forest(1)
    release = ta.anonymize(forest, k=2, m=1, n=1, algorithm="gcs")
    path = tmp_path / "page.html"
    changes = preview_of(forest, release, 4).changes
    path.write_text(page(release, before=forest, changes=changes, audience="internal"), encoding="utf-8")
    with chromium(360, 780) as browser:
        browser.get(path.as_uri())
        # Only what has a region of its own may be wider, and scrolls there.
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
        regions = browser.find_elements("css selector", "[role=region]")
        assert regions and all(region.get_attribute("tabindex") == "0" for region in regions)


def test_rows_before_and_after_fit_the_page(tmp_path: Path) -> None:
    """Long values wrap: what a region that scrolls hides would be missing in print."""
    rows, words = 60, ["of the first kind", "of the second kind", "of the third kind"]
    columns = {f"column {i}": ([f"value {j % 3} {words[j % 3]}" for j in range(rows)], None) for i in range(6)}
    flat = {name: (texts, Hierarchy.flat(sorted(set(texts)))) for name, (texts, _) in columns.items()}
    ill = [f"illness {words[(j * 7 // 3) % 3]}" for j in range(rows)]
    table = ta.Table.of_texts({**flat, "ill": (ill, Hierarchy.flat(sorted(set(ill))))}, {"ill": "sensitive"})
    release = ta.anonymize(table, l=2, publish="permuted", algorithm="anatomy")
    path = tmp_path / "page.html"
    text = page(release, changes=preview_of(table, release, 3).changes, audience="internal")
    path.write_text(text, encoding="utf-8")
    with chromium(1000, 800) as browser:
        browser.get(path.as_uri())
        region = browser.find_element("css selector", "#records [role=region]")
        assert region.get_property("scrollWidth") <= region.get_property("clientWidth")


def test_keys_reach_everything(tmp_path: Path) -> None:
    """The tab key goes to the link over the contents first, and a region scrolls with the arrows."""
    forest = hostile_forest(1)
    release = ta.anonymize(forest, k=2, m=1, n=1, algorithm="gcs")
    path = tmp_path / "page.html"
    path.write_text(page(release), encoding="utf-8")
    with chromium(360, 780) as browser:
        from selenium.webdriver.common.keys import Keys

        browser.get(path.as_uri())
        browser.find_element("css selector", "body").send_keys(Keys.TAB)
        first = browser.switch_to.active_element
        assert first.get_attribute("href").endswith("#content")
        first.send_keys(Keys.ENTER)
        assert browser.current_url.endswith("#content")
        outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline in ("solid", "none")
        wide = next(
            r for r in browser.find_elements("css selector", "[role=region]") if r.get_property("scrollWidth") > 400
        )
        browser.execute_script("arguments[0].focus()", wide)
        assert browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
        wide.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        assert (
            browser.execute_async_script(
                "const done = arguments[1]; setTimeout(() => done(arguments[0].scrollLeft), 500)", wide
            )
            > 0
        )


CONTRASTS = """
const number = text => text.match(/[0-9.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4)
  .reduce((sum, x, i) => sum + x * [.2126, .7152, .0722][i], 0);
const over = (above, below) => {
  const a = above.length > 3 ? above[3] : 1;
  return [0, 1, 2].map(i => a * above[i] + (1 - a) * below[i]);
};
const paper = element => {
  let layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(number(getComputedStyle(at).backgroundColor));
  const box = element.closest('svg.node')?.querySelector('rect');
  if (box) layers.unshift(number(getComputedStyle(box).fill));
  return layers.reverse().reduce((below, above) => over(above, below), [255, 255, 255]);
};
const found = [];
for (const one of document.querySelectorAll('body *')) {
  const own = [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  if (!own || ['title', 'style'].includes(one.tagName)) continue;
  const style = getComputedStyle(one);
  const ink = light(over(number(one instanceof SVGElement ? style.fill : style.color), paper(one)));
  const ground = light(paper(one));
  const ratio = (Math.max(ink, ground) + .05) / (Math.min(ink, ground) + .05);
  if (ratio < 4.5) found.push(one.outerHTML.slice(0, 120) + ' ' + ratio);
}
return found;
"""


@pytest.mark.parametrize("dark", [False, True])
def test_everything_can_be_read(tmp_path: Path, dark: bool) -> None:
    """Texts stand out from what they stand on by 4.5 to 1 at least, as WCAG asks (AA), on light and on dark paper."""
    forest = hostile_forest(1)
    release = ta.anonymize(forest, k=2, m=1, n=1, algorithm="gcs")
    risk = ta.risk(forest, k=2, m=2, n=1)
    changes = preview_of(forest, release, 4).changes
    made = page(release, before=forest, changes=changes, risk_before=risk, risk_after=risk, audience="internal")
    (tmp_path / "internal.html").write_text(made, encoding="utf-8")
    (tmp_path / "public.html").write_text(page(release), encoding="utf-8")
    with chromium(dark=dark) as browser:
        for name in ("internal", "public"):
            browser.get((tmp_path / f"{name}.html").as_uri())
            ground = browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
            assert (ground == "rgb(20, 23, 27)") == dark
            assert browser.execute_script(CONTRASTS) == []
