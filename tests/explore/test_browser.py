"""The explorer in a real browser: settings move and trees follow, also by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import treeanon as ta
from tests.support.chromium import chromium
from tests.support.explorer_pages import complaints, keep, opened, part, said, settled, wait
from tests.support.explorers import Served, served
from tests.support.paths import ROOT
from treeanon.explore.settings import explored_data

By = pytest.importorskip("selenium.webdriver.common.by", reason="selenium is not installed").By
Keys = pytest.importorskip("selenium.webdriver.common.keys", reason="selenium is not installed").Keys


@pytest.fixture(scope="module")
def explorer() -> Iterator[Served]:
    forest = ta.read(ROOT / "samples/patients.xml", ta.Schema.load(ROOT / "schemas/hospital-xml.toml"))
    with served(explored_data(forest, 300, source="patients.xml", schema="hospital-xml.toml")) as found:
        yield found


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with chromium(1200, 1300) as found:
        yield found


def test_a_slider_moves_and_the_trees_follow(driver: Any, explorer: Served) -> None:
    opened(driver, explorer)
    assert driver.current_url == f"http://{explorer.host}{explorer.access.path}"
    assert driver.execute_script("return document.cookie + document.referrer") == ""
    trees, status, curve = part(driver, "records"), said(driver, "status"), part(driver, "curve")
    assert (
        trees.count("<svg role") == 6 and "Value loss" in status and "at least 5 records" in said(driver, "guarantee")
    )
    slider = driver.find_element(By.ID, "k")
    slider.send_keys(Keys.ARROW_RIGHT * 25)
    wait(driver, lambda d: "at least 30 records" in said(d, "guarantee"))
    assert said(driver, "k-now") == "30" and part(driver, "records") != trees
    settled(driver)
    assert part(driver, "curve") != curve and said(driver, "status") != status
    # What was seen is kept: back at once, and the same.
    slider.send_keys(Keys.ARROW_LEFT * 25)
    wait(driver, lambda d: part(d, "records") == trees)
    assert not complaints(driver)
    keep(driver, "explorer.png")


def test_every_setting_moves_the_result(driver: Any, explorer: Served) -> None:
    opened(driver, explorer)
    for name, key, told in (
        ("m", Keys.ARROW_RIGHT, "up to 3 values"),
        ("n", Keys.ARROW_LEFT, "up to 3 values of a person finds"),
        ("algorithm", "miracle", "multi"),
    ):
        element = driver.find_element(By.ID, name)
        before = part(driver, "guarantee") + part(driver, "records")
        element.send_keys(key)
        wait(driver, lambda d, before=before: part(d, "guarantee") + part(d, "records") != before)
        assert told in said(driver, "guarantee") or name == "algorithm"
    # The baseline takes no weights and no effort: they cannot be moved.
    assert not driver.find_element(By.ID, "effort").is_enabled()
    assert not complaints(driver)


def test_an_error_is_plain_text_and_passes(driver: Any, explorer: Served) -> None:
    opened(driver, explorer)
    driver.execute_script("document.getElementById('k').max = 1000")
    driver.find_element(By.ID, "k").send_keys(Keys.END)
    problem = wait(driver, lambda d: d.find_elements(By.CLASS_NAME, "problem"))
    assert "300" in problem[0].text and part(driver, "records") == ""
    driver.find_element(By.ID, "k").send_keys(Keys.HOME)
    wait(driver, lambda d: "at least 2 records" in said(d, "guarantee"))
    settled(driver)


def test_by_keyboard_alone(driver: Any, explorer: Served) -> None:
    opened(driver, explorer)
    seen: list[str] = []
    for _ in range(60):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        now = driver.switch_to.active_element
        name = now.get_attribute("id") or now.get_attribute("class") or now.tag_name
        seen.append(name)
        outline = driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", name
        if now.tag_name == "summary" and "weights" in now.text:
            now.send_keys(Keys.ENTER)
        if name == "write":
            break
    wanted = ["skip", "k", "m", "n", "attacker", "algorithm", "max_suppressed", "effort", "weight-0", "show", "write"]
    assert [name for name in seen if name in wanted] == wanted
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    line = wait(driver, lambda d: d.find_element(By.ID, "command").get_attribute("value"))
    assert line.startswith("treeanon anonymize patients.xml -s hospital-xml.toml -k 5 -m 2 -n 1 -a maximal -o ")
    # It follows the settings from now on.
    weight = driver.find_element(By.ID, "weight-0")
    weight.send_keys(Keys.ARROW_RIGHT)
    wait(driver, lambda d: "--weight age=1.5" in d.find_element(By.ID, "command").get_attribute("value"))
    settled(driver)
    assert not complaints(driver)


def test_nothing_is_loaded_from_elsewhere(driver: Any, explorer: Served) -> None:
    opened(driver, explorer)
    loaded = driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert loaded and all(name.startswith(f"http://{explorer.host}{explorer.access.path}") for name in loaded)
