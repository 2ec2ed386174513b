"""The explorer on small and dark screens, with hostile values, with rows, and when it has ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.support.chromium import chromium
from tests.support.explorer_pages import complaints, keep, opened, part, said, settled, wait
from tests.support.explorers import hospital_ground, rows_ground, served
from treeanon.explore.settings import explored_data

By = pytest.importorskip("selenium.webdriver.common.by", reason="selenium is not installed").By
Keys = pytest.importorskip("selenium.webdriver.common.keys", reason="selenium is not installed").Keys

HOSTILE = [
    "<script>document.title='run'</script>",
    "<img src=/x onerror=\"document.title='run'\">",
    "</text></svg><svg onload=document.title='run'>",
    "\x1b[31mred\x07",
    "\u202eright to left\u2066",
    "x" * 1_000_000,
]


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with chromium() as found:
        yield found


def test_small_and_dark_screens(tmp_path: Path) -> None:
    with served(hospital_ground(tmp_path)) as explorer, chromium(360, 740, dark=True) as driver:
        opened(driver, explorer)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 360
        for name in ("k", "algorithm", "write", "status"):
            where = driver.find_element(By.ID, name).rect
            assert where["x"] >= 0 and where["x"] + where["width"] <= 360 and where["height"] >= 12, name
        paper = driver.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
        assert max(map(int, paper.removeprefix("rgb(").removesuffix(")").split(","))) < 60
        keep(driver, "explorer-small.png")


def test_records_stand_side_by_side(tmp_path: Path) -> None:
    with served(hospital_ground(tmp_path)) as explorer, chromium(1000, 900) as driver:
        opened(driver, explorer)
        sides = driver.find_elements(By.CSS_SELECTOR, "#records .record:first-of-type .sides > *")
        before, after = (side.rect for side in sides[:2])
        assert before["y"] == after["y"] and before["x"] + before["width"] <= after["x"]
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 1000


def test_hostile_values_are_shown_as_text(driver: Any, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "at"\npath = "at"\n'
        '[[class]]\nname = "<img src=x onerror=document.title=1>"\npath = "ill[]"\nunder = "at"\n'
    )
    people = [{"at": value, "ill": [HOSTILE[0], value]} for value in HOSTILE for _ in range(4)]
    (tmp_path / "in.ndjson").write_text("".join(json.dumps(person) + "\n" for person in people))
    explored = explored_data(ta.read(tmp_path / "in.ndjson", ta.Schema.load(tmp_path / "s.toml")), 1000)
    with served(explored) as explorer:
        opened(driver, explorer)
        driver.find_element(By.ID, "k").send_keys(Keys.HOME)
        wait(driver, lambda d: "at least 2 records" in said(d, "guarantee"))
        for number in range(1, len(people), 4):
            driver.execute_script(
                "form.show.value = 'number'; form.number.value = arguments[0]; form.dispatchEvent(new Event('input'))",
                number,
            )
            wait(driver, lambda d, number=number: f"Record {number} of the input" in said(d, "records"))
            settled(driver)
            shown = driver.execute_script("return document.getElementById('records').textContent")
            assert HOSTILE[(number - 1) // 4][:8].replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")[:8] in shown
            assert driver.execute_script("return document.querySelectorAll('script').length") == 2
            assert driver.execute_script("return document.querySelectorAll('img, iframe').length") == 0
        assert driver.title == "treeanon explore"
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 1280
        assert not complaints(driver)


def test_rows_are_explored_as_well(driver: Any) -> None:
    with served(rows_ground(200)) as explorer:
        opened(driver, explorer)
        before = part(driver, "records")
        driver.find_element(By.ID, "l").send_keys(Keys.ARROW_RIGHT)
        wait(driver, lambda d: "distinct 3-diversity" in said(d, "guarantee"))
        driver.find_element(By.ID, "k").send_keys(Keys.ARROW_RIGHT * 20)
        wait(driver, lambda d: "25-anonymity" in said(d, "guarantee") and part(d, "records") != before)
        settled(driver)
        assert not complaints(driver)


def test_an_explorer_that_has_ended_is_told(driver: Any) -> None:
    with served(rows_ground()) as explorer:
        opened(driver, explorer)
    driver.find_element(By.ID, "k").send_keys(Keys.ARROW_RIGHT)
    wait(driver, lambda d: "does not answer" in said(d, "status"))
