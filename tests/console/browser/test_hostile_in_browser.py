"""Documents that try to act in a browser: none of their scripts runs, nothing leaves the console's origin,
no dialog and no window opens, and none of their names is too long for a page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.console.rights import Role
from tests.conftest import made_once
from tests.console.browser.served import NARROW, Served, serve
from tests.console.browser.workspaces import LONG, make_hostile
from tests.thorough import ALL

_COUNT = 200 if ALL else 36
_LOOKED_AT = 1
"""Documents of each job, state and format whose pages are looked at."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path, browser: Any) -> Iterator[Served]:
    made = made_once(tmp_path_factory, "hostile", lambda folder: make_hostile(folder / "ws", tiny_model, _COUNT))
    root = made / "ws"
    with serve(root, browser) as served:
        yield served


def test_hostile_documents_do_nothing(served: Served) -> None:
    name = "<img src=x onerror=x-evil()>"
    with served.somebody(name, *Role) as watch:
        watch.go("/queue?sort=path")
        chosen, pages = dict[tuple[str, ...], list[str]](), 1
        while True:
            watch.fits()
            for path, job, state, address in watch.page.evaluate(_ROWS):
                form = "" if state == "failed" else path.rpartition(".")[2][:5]
                kind = (job, state, form, str("W" * 40 in path))
                chosen.setdefault(kind, []).append(address)
            if not watch.page.locator("a[rel=next]").count():
                break
            with watch.page.expect_navigation():
                watch.page.keyboard.press("n")
            pages += 1
        seen = sum(map(len, chosen.values()))
        assert pages > _COUNT // 50
        assert seen > _COUNT
        assert any(kind[3] == "True" for kind in chosen)
        addresses = [address for found in chosen.values() for address in found[:_LOOKED_AT]]
        for number, address in enumerate(addresses):
            if number == len(addresses) // 2:
                watch.page.set_viewport_size(NARROW)
            watch.go(address)
            watch.fits()
            watch.page.mouse.move(300, 300)
            if watch.page.get_by_role("navigation", name="View").count():
                watch.link("Text").click()
                watch.fits()
        for path in ("/", "/jobs/sort", "/jobs/digest", "/runs", "/log", "/log/entries?first=0", "/queue?state=failed"):
            watch.go(path)
            watch.fits()
            watch.accessible()


# (path, job, state, address) of each row of the queue, and a mouse that goes over all of it.
_ROWS = """() => [...document.querySelectorAll("table.queue tbody tr")].map((row) => {
  for (const each of row.querySelectorAll("*")) each.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  const link = row.querySelector("td.name a");
  const job = row.querySelector("td.name div").innerText.split(" ")[0];
  return [link.innerText, job, row.querySelector(".state").innerText, link.getAttribute("href")];
})"""


def test_what_people_say_is_shown_as_they_said_it(served: Served) -> None:
    """A name, a reason, a summary and a filter that are markup."""
    name, said = "<img src=x onerror=x-evil()>", "</textarea><script>x-evil()</script>\"' javascript:x-evil()"
    with served.somebody(name, *Role, refusals=True) as watch:
        watch.go("/queue?job=digest&state=done&sort=path")
        watch.page.locator("td.name a").first.click()
        watch.label("Summary").fill(said)
        watch.label("Why it is corrected").fill(said)
        watch.button("Save the correction").click()
        watch.page.get_by_role("status").get_by_role("link").first.click()
        assert f"Corrected by {name}" in watch.main()
        assert watch.label("Summary").input_value() == said
        watch.label("Why it is rejected").fill("x" * 5 + said)
        watch.button("Reject").click()
        watch.page.get_by_role("status").first.wait_for()
        watch.go("/queue")
        for field in ("Words", "Folder"):
            watch.label(field).fill(said)
            watch.label(field).press("Enter")
            assert "No document is so." in watch.main()
            assert watch.label(field).input_value() == said
        for path in (f"/jobs/{said.replace('/', '')}", f"/runs/{said.replace('/', '')}", f"/queue?sort={said}"):
            assert watch.go(path).status == 404
            watch.fits()
        assert watch.go("/sign-in?next=javascript:x-evil()").status == 200
        assert watch.page.locator("input[name=next]").input_value() == "/"


def test_the_longest_names_are_whole_on_their_pages(served: Served) -> None:
    with served.somebody("Reviewer", Role.REVIEWER) as watch:
        watch.go("/queue?job=sort&text=" + LONG[0][0][:40])
        watch.page.locator("td.name a").first.click()
        assert LONG[0][0] in watch.page.locator("main").inner_text()
        watch.page.set_viewport_size(NARROW)
        watch.fits()
