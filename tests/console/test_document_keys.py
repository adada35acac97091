"""The page of a document in a real browser: by keyboard alone, with text selected, without scripts, and accessible."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pipeline
from jobs.console.rights import Role
from tests.console.conftest import PASSPHRASE, Served, serving
from tests.console.test_document import filled, find
from tests.thorough import part

__all__ = ["filled"]
CHROMIUM = Path("/usr/bin/chromium")
sync = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="checks of accessibility need axe")
if not CHROMIUM.exists():
    pytest.skip(f"browser tests need {CHROMIUM}", allow_module_level=True)

Page = Any


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def served(filled: Path, tmp_path: Path) -> Iterator[Served]:
    shutil.copytree(filled, tmp_path / "ws")
    with serving(tmp_path / "ws") as served:
        yield served


@pytest.fixture
def sign_in(served: Served, chromium: Any) -> Callable[..., Page]:
    """sign_in(java_script_enabled=True, viewport=…) -> a page of Anna, who reviews"""

    def sign_in(**options: Any) -> Page:
        token = served.house.people.invite(f"Anna {len(served.house.people.all())}", (Role.REVIEWER,))
        page = chromium.new_context(base_url=f"http://127.0.0.1:{served.port}", **options).new_page()
        page.goto(f"/join/{token}")
        page.fill("[name=passphrase]", PASSPHRASE)
        page.fill("[name=again]", PASSPHRASE)
        page.press("[name=again]", "Enter")
        page.wait_for_url("**/")
        return page

    return sign_in


def test_by_keyboard_alone(served: Served, sign_in: Callable[..., Page]) -> None:
    page = sign_in()
    with pipeline.index.open_index(served.house.site) as queue:
        queue.refresh()
        order = [one.entry for one in queue.page(pipeline.index.Filter(jobs=("sort",)), "path", None, 9).items]
    page.goto(f"/documents/{order[0]}?job=sort&sort=path")
    page.keyboard.press("j")
    page.wait_for_url(f"**/documents/{order[1]}?*")
    page.keyboard.press("k")
    page.wait_for_url(f"**/documents/{order[0]}?*")
    page.keyboard.press("e")
    assert page.url.endswith("#evidence-1")
    page.keyboard.press("?")
    assert page.locator("details.keys[open]").count() == 1
    page.keyboard.press("r")
    page.keyboard.type("jack asked, a reason")  # keys do nothing while a field is typed in
    assert page.input_value("form.reject [name=reason]") == "jack asked, a reason"
    assert find(served.house, "sort", "a.txt") == order[0]
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.wait_for_url(f"**/documents/{order[1]}?*did=accepted*")
    page.keyboard.press("r")
    page.keyboard.type("not ours")
    page.keyboard.press("Enter")
    page.wait_for_url("**did=rejected*")
    mine = find(served.house, "sort", "b.txt")
    assert pipeline.review.row_of(served.house.site, mine)["review"]["reason"] == "not ours"


def test_another_label_by_keyboard(served: Served, sign_in: Callable[..., Page]) -> None:
    page, entry = sign_in(), find(served.house, "sort", "a.txt")
    before = pipeline.review.row_of(served.house.site, entry)["label"]
    page.goto(f"/documents/{entry}")
    page.keyboard.press("c")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**did=corrected*")
    assert pipeline.review.row_of(served.house.site, find(served.house, "sort", "a.txt"))["label"] != before


_SELECT = """(wanted) => {
    for (const holder of document.querySelectorAll("[data-text] [data-start]")) {
        const node = [...holder.childNodes].find((each) => each.data && each.data.includes(wanted));
        if (!node) continue;
        const range = document.createRange();
        range.setStart(node, node.data.indexOf(wanted));
        range.setEnd(node, node.data.indexOf(wanted) + wanted.length);
        document.getSelection().removeAllRanges();
        document.getSelection().addRange(range);
        return true;
    }
    return false;
}"""


def test_selected_text_becomes_the_value_of_a_field(served: Served, sign_in: Callable[..., Page]) -> None:
    page, entry = sign_in(), find(served.house, "fields", "b.txt")
    page.goto(f"/documents/{entry}")
    row = pipeline.review.row_of(served.house.site, entry)
    names = [each["name"] for each in row["fields"]]
    assert page.evaluate(_SELECT, "landlord")
    assert page.locator("[data-take]").count() == len(names)
    page.click(f"[data-take=f{1 + names.index('number')}]")
    where = pipeline.view.open_document(served.house.site, entry, served.house.drawer).text.index("landlord")
    told = [page.input_value(f"[name='field.number{end}']") for end in ("", ".start", ".end")]
    assert told == ["landlord", str(where), str(where + 8)]
    page.keyboard.type("x")
    assert page.input_value("[name='field.number.start']") == ""  # what is typed stands nowhere


def test_without_scripts(served: Served, sign_in: Callable[..., Page]) -> None:
    page, entry = sign_in(java_script_enabled=False), find(served.house, "sort", "c.pdf")
    page.goto(f"/documents/{entry}")
    page.click(".places [data-evidence='1']")
    assert page.url.endswith("#evidence-1")
    assert page.locator("button:visible", has_text="take selection").count() == 0
    page.click("button[value=accepted]")
    page.wait_for_url("**did=accepted*")
    assert find(served.house, "sort", "c.pdf") > entry


@pytest.mark.parametrize("width", part([1280, 800], 2, 1))
def test_no_rule_of_accessibility_is_broken(served: Served, sign_in: Callable[..., Page], width: int) -> None:
    page = sign_in(viewport={"width": width, "height": 900}, bypass_csp=True)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    for job, path in (("sort", "c.pdf"), ("fields", "a.txt"), ("digest", "a.txt"), ("sort", "empty.txt")):
        entry = find(served.house, job, path)
        for view in ("", "?view=text", "/story"):
            page.goto(f"/documents/{entry}{view}")
            found = axe.Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, view)
    assert said == []
