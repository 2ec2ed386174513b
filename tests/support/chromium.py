"""Debian's Chromium, driven by selenium, for tests of pages; tests are skipped where one of both is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def chromium(width: int = 1280, height: int = 900, *, dark: bool = False) -> Iterator[Any]:
    """A browser of its own, without a window; it keeps a log of its network requests."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("Chromium and its driver are not installed (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    # As root, as in containers, Chromium does not start in its sandbox.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={width},{height}")
    if dark:
        options.add_argument("--force-dark-mode")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    try:
        # A window cannot be made narrower than some 500 pixels: what is shown can.
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        started.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        yield started
    finally:
        started.quit()
