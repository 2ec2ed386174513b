"""The explorer's page in a browser, for tests: opening it, waiting for it, reading it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.explorers import Served
from tests.support.waiting import WAIT

ui = pytest.importorskip("selenium.webdriver.support.ui", reason="selenium is not installed")


def wait(driver: Any, what: Callable[[Any], Any]) -> Any:
    """What comes out when it is true."""
    return ui.WebDriverWait(driver, WAIT, poll_frequency=0.02).until(what)


def opened(driver: Any, explorer: Served) -> Any:
    """The page, when the first look is complete."""
    driver.get(explorer.access.address(explorer.access.token))
    settled(driver)
    return driver


def settled(driver: Any) -> None:
    wait(driver, lambda d: d.execute_script("return !document.getElementById('results').hasAttribute('aria-busy')"))
    assert driver.execute_script("return document.getElementById('guarantee').children.length")


def part(driver: Any, name: str) -> str:
    return str(driver.execute_script("return document.getElementById(arguments[0]).innerHTML", name))


def said(driver: Any, name: str) -> str:
    return str(driver.find_element("id", name).text)


def complaints(driver: Any) -> list[str]:
    return [entry["message"] for entry in driver.get_log("browser")]


def keep(driver: Any, name: str) -> None:
    """Keeps a picture beside the tests, if asked for."""
    picture = driver.get_screenshot_as_png()
    assert len(picture) > 10_000
    if folder := os.environ.get("TREEANON_SCREENSHOTS"):
        (Path(folder) / name).write_bytes(picture)
