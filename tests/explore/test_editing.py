"""Schema and hierarchies edited in a real browser, by mouse and by keyboard; results pinned and compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.support.chromium import chromium
from tests.support.explorer_pages import complaints, keep, opened, settled, wait
from tests.support.explorers import Served, editor_of, hospital, served
from treeanon.explore.editor import Editor

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
By, Keys = webdriver.common.by.By, webdriver.common.keys.Keys


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with chromium(1280, 1300) as found:
        yield found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return hospital(tmp_path / "place", 60)


def shown(driver: Any, explorer: Served) -> None:
    opened(driver, explorer)
    panel = driver.find_element(By.ID, "edit-panel")
    if panel.get_attribute("open") is None:
        panel.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    wait(driver, lambda d: d.find_elements(By.ID, "edit-class"))


def revision(driver: Any) -> int:
    return int(driver.execute_script("return document.getElementById('edit-state').dataset.revision"))


def done(driver: Any, revisions: int) -> None:
    """Waits until an edit has been made."""
    wait(driver, lambda d: revision(d) == revisions and not busy(d))


def choose(driver: Any, name: str, text: str) -> None:
    """Chooses an option by typing, as the keyboard does."""
    driver.find_element(By.ID, name).send_keys(text)


def rule(driver: Any, text: str, field: str) -> None:
    """Chooses a rule, and waits for a field of it."""
    choose(driver, "edit-rule", text)
    wait(driver, lambda d: d.find_elements(By.ID, f"edit-rule-{field}") and not busy(d))
    assert driver.switch_to.active_element.get_attribute("id") == "edit-rule"


def busy(driver: Any) -> bool:
    return bool(driver.find_element(By.ID, "editor").get_attribute("aria-busy"))


def marked(driver: Any, name: str, words: str) -> None:
    """Waits until a field is said to be wrong, has the focus, and what is wrong stands below it."""
    found = wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, f"#edit-{name}[aria-invalid]"))
    wait(driver, lambda d: words in said(d, f"edit-{name}-wrong") and not busy(d))
    assert driver.switch_to.active_element == found[0]


def typed(driver: Any, name: str, text: str) -> Any:
    element = driver.find_element(By.ID, name)
    element.clear()
    element.send_keys(text)
    return element


def node(driver: Any, text: str) -> Any:
    found = [one for one in driver.find_elements(By.CSS_SELECTOR, "[data-node]") if one.text == text]
    assert len(found) == 1, text
    return found[0]


def selected(driver: Any) -> str:
    return str(driver.execute_script("return document.querySelector('[aria-selected=true]')?.innerText ?? ''"))


def said(driver: Any, name: str) -> str:
    """The text of an element, which may be replaced at any time."""
    return str(driver.execute_script("return document.getElementById(arguments[0])?.innerText ?? ''", name))


def focused(driver: Any) -> str:
    return str(driver.execute_script("return document.activeElement.innerText"))


def tree(editor: Editor, name: str) -> ta.Hierarchy:
    return editor.draft.own[name]


def up(editor: Editor, name: str, text: str) -> str:
    found = tree(editor, name)
    return found.texts[int(found.parent[found.code(text)])]


def test_by_mouse(driver: Any, place: Path) -> None:
    explored, editor = editor_of(place)
    with served(explored, editor=editor) as explorer:
        shown(driver, explorer)
        driver.find_element(By.ID, "pin").click()
        wait(driver, lambda d: "as given" in said(d, "pins"))
        choose(driver, "edit-class", "diagnosis")
        wait(driver, lambda d: "CANARY-D0" in said(d, "edit-tree"))
        # A value is dragged to another group.
        driver.execute_script("place('edit-tree').scrollIntoView({ block: 'center' })")
        drag = webdriver.ActionChains(driver, duration=20)
        drag.click_and_hold(node(driver, "CANARY-D0")).move_to_element(
            node(driver, "CANARY-kind 1")
        ).release().perform()
        done(driver, 1)
        assert up(editor, "diagnosis", "CANARY-D0") == "CANARY-kind 1" and selected(driver) == "CANARY-D0"
        # What is dropped where it cannot be stays where it is.
        drag.click_and_hold(node(driver, "CANARY-D1")).move_to_element(node(driver, "CANARY-D3")).release().perform()
        # Groups are merged.
        node(driver, "CANARY-kind 0").click()
        wait(driver, lambda d: selected(d) == "CANARY-kind 0")
        choose(driver, "edit-merge-to", "CANARY-kind 1")
        driver.find_element(By.ID, "edit-merge").click()
        done(driver, 2)
        assert up(editor, "diagnosis", "CANARY-D1") == "CANARY-kind 1" and tree(editor, "diagnosis").height == 2
        keep(driver, "explorer-editing.png")
        # The page follows once the input was read again by the new schema.
        driver.find_element(By.ID, "edit-apply").click()
        wait(driver, lambda d: explorer.session.explored is not explored)
        wait(
            driver,
            lambda d: d.find_elements(By.ID, "edit-apply") and not d.find_element(By.ID, "edit-apply").is_enabled(),
        )
        settled(driver)
        driver.find_element(By.ID, "pin").click()
        wait(driver, lambda d: "edited (1)" in said(d, "pins") and "…" not in said(d, "pins"))
        assert len(driver.find_elements(By.CSS_SELECTOR, "#pins tbody tr")) == 2
        driver.find_element(By.ID, "write").click()
        wait(
            driver, lambda d: "Save the edited schema first" in d.find_element(By.ID, "command").get_attribute("value")
        )
        driver.find_element(By.ID, "edit-save").click()
        wait(driver, lambda d: "Saved: edited.toml, edited-diagnosis.csv" in said(d, "edit-note"))
        driver.find_element(By.ID, "write").click()
        wait(driver, lambda d: "-s edited.toml" in d.find_element(By.ID, "command").get_attribute("value"))
        driver.find_element(By.CSS_SELECTOR, "[data-unpin='0']").click()
        wait(driver, lambda d: "as given" not in said(d, "pins"))
        assert not [one for one in complaints(driver) if "422" not in one]
    saved = ta.Schema.load(place / "edited.toml")
    assert saved.spec("diagnosis").hierarchy == tree(editor, "diagnosis")
    assert {(place / name).stat().st_mode & 0o777 for name in ("edited.toml", "edited-diagnosis.csv")} == {0o600}
    # The release of what was explored is the release by the saved schema.
    assert ta.read(place / "in.ndjson", saved).classes.hierarchies == explorer.session.explored.data.classes.hierarchies  # type: ignore[union-attr]


def test_by_keyboard(driver: Any, place: Path) -> None:
    with (place / "s.toml").open("a") as schema:
        schema.write(
            '[[class]]\nname = "number"\npath = "ssn"\ntype = "integer"\nrole = "identifier"\n'
            'hierarchy = { intervals = [5] }\n[[class]]\nname = "born"\npath = "born"\nhierarchy = { prefix = [4] }\n'
        )
    explored, editor = editor_of(place)
    with served(explored, editor=editor) as explorer:
        shown(driver, explorer)
        choose(driver, "edit-class", "diagnosis")
        wait(driver, lambda d: "CANARY-D0" in said(d, "edit-tree"))

        def select(text: str) -> None:
            """Goes to a node by arrow keys, and selects it."""
            driver.find_element(By.CSS_SELECTOR, "[data-node]").send_keys(Keys.HOME)
            for _ in range(20):
                now = driver.switch_to.active_element
                if now.text == text:
                    break
                now.send_keys(Keys.ARROW_DOWN)
            outline = driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
            assert driver.switch_to.active_element.text == text and outline != "none"
            driver.switch_to.active_element.send_keys(Keys.ENTER)
            wait(driver, lambda d: selected(d) == text and focused(d) == text)

        def press(name: str, revisions: int) -> None:
            driver.find_element(By.ID, name).send_keys(Keys.ENTER)
            done(driver, revisions)

        select("CANARY-D5")
        # The menu follows in the order of the tab key.
        driver.switch_to.active_element.send_keys(Keys.TAB)
        assert driver.switch_to.active_element.get_attribute("id") == "edit-move-to"
        driver.switch_to.active_element.send_keys("CANARY-kind 0")
        press("edit-move", 1)
        assert up(editor, "diagnosis", "CANARY-D5") == "CANARY-kind 0"
        typed(driver, "edit-name", "rare")
        press("edit-group", 2)
        assert up(editor, "diagnosis", "CANARY-D5") == "rare" and up(editor, "diagnosis", "rare") == "CANARY-kind 0"
        select("rare")
        typed(driver, "edit-name", "<b>rare & new</b>")
        press("edit-rename", 3)
        assert up(editor, "diagnosis", "CANARY-D5") == selected(driver) == "<b>rare & new</b>"
        typed(driver, "edit-name", "CANARY-D0")
        driver.find_element(By.ID, "edit-rename").send_keys(Keys.ENTER)
        marked(driver, "name", "that name is taken")
        press("edit-dissolve", 4)
        assert up(editor, "diagnosis", "CANARY-D5") == "CANARY-kind 0"
        press("edit-undo", 5)
        assert up(editor, "diagnosis", "CANARY-D5") == "<b>rare & new</b>"
        # Roles, and the rules of the hierarchy.
        choose(driver, "edit-class", "number")
        wait(driver, lambda d: d.find_elements(By.ID, "edit-rule-intervals"))
        choose(driver, "edit-role", "quasi")
        done(driver, 6)
        typed(driver, "edit-rule-intervals", "7, 20")
        typed(driver, "edit-rule-max_open", "much").send_keys(Keys.ENTER)
        # What is wrong stands at its field, and what was typed stays.
        marked(driver, "rule-max_open", "must be a number")
        typed(driver, "edit-rule-max_open", "").send_keys(Keys.ENTER)
        marked(driver, "rule-intervals", "multiple")
        assert driver.find_element(By.ID, "edit-rule-intervals").get_attribute("value") == "7, 20"
        typed(driver, "edit-rule-intervals", "100000000, 500000000").send_keys(Keys.ENTER)
        done(driver, 7)
        # Another type has other rules.
        choose(driver, "edit-class", "born")
        wait(driver, lambda d: "born" in d.execute_script("return place('edit-class').selectedOptions[0].text"))
        wait(driver, lambda d: d.find_elements(By.ID, "edit-rule-prefix"))
        driver.find_element(By.CSS_SELECTOR, "#edit-more summary").send_keys(Keys.ENTER)
        choose(driver, "edit-key-type", "date")
        press("edit-keys", 8)
        rule(driver, "ages", "on")
        typed(driver, "edit-rule-ages", "5, 10").send_keys(Keys.ENTER)
        marked(driver, "rule-on", "is missing")
        typed(driver, "edit-rule-on", "2024-01-01")
        choose(driver, "edit-rule-leaves", "are never")
        press("edit-set", 9)
        typed(driver, "edit-file", "s.toml").send_keys(Keys.ENTER)
        marked(driver, "file", "s.toml exists already")
        typed(driver, "edit-file", "mine.toml").send_keys(Keys.ENTER)
        wait(driver, lambda d: "Saved: mine.toml" in said(d, "edit-note"))
        driver.find_element(By.ID, "edit-apply").send_keys(Keys.ENTER)
        wait(driver, lambda d: explorer.session.explored.of_role("quasi")[-1] == "born")
        # The page goes on where it was.
        wait(driver, lambda d: "by the edited schema" in said(d, "edit-note") and not busy(d))
        assert driver.switch_to.active_element.get_attribute("id") == "edit-class"
        assert "born" in driver.execute_script("return place('edit-class').selectedOptions[0].text")
        assert not complaints(driver)
    saved = ta.Schema.load(place / "mine.toml")
    assert saved.spec("number").role == "quasi" and saved.spec("diagnosis").hierarchy == tree(editor, "diagnosis")
    assert saved.spec("number").hierarchy_source == {"intervals": [100000000, 500000000]}
    assert saved.spec("born").hierarchy_source == {"ages": [5, 10], "on": "2024-01-01", "leaves": False}


def test_the_editor_on_a_small_screen(place: Path) -> None:
    explored, editor = editor_of(place)
    with served(explored, editor=editor) as explorer, chromium(360, 740) as driver:
        shown(driver, explorer)
        choose(driver, "edit-class", "hospital")
        wait(driver, lambda d: "CANARY-H0" in said(d, "edit-tree"))
        driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", node(driver, "CANARY-group 0"))
        node(driver, "CANARY-group 0").click()
        wait(driver, lambda d: d.find_elements(By.ID, "edit-move"))
        driver.execute_script("document.getElementById('edit-panel').scrollIntoView()")
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 360
        keep(driver, "explorer-editing-small.png")
