"""Every page of the console in a browser: wide and narrow, light and dark, for each role, with scripts and without."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from jobs.console.pages import PAGES
from jobs.console.rights import RIGHTS, Role
from tests.console.browser.served import NARROW, PHONE, Served, serve
from tests.console.browser.watch import Watch
from tests.console.browser.workspaces import FIELDS, TRIAGE
from tests.thorough import ALL

EVERYTHING = tuple(Role)
NO_PAGE = {"/live.json", "/documents/{entry:int}/pages/{number:int}.png"}
STORY = "/documents/{entry:int}/story"
"""Stands on the page of the document itself as long as the log is short."""


@pytest.fixture(scope="module")
def served(morning: Path, browser: object) -> Iterator[Served]:
    with serve(morning, browser) as served:
        yield served


def pattern_of(path: str, method: str = "GET") -> str:
    """The path of the table of pages that an address belongs to."""
    parts = {"int": r"\d+", "str": "[^/]+"}
    for page in PAGES:
        shape = re.sub(r"\\\{\w+:(\w+)\\\}", lambda found: parts[found[1]], re.escape(page.path))
        if page.method == method and re.fullmatch(shape.replace("\\\\", "\\"), urlsplit(path).path):
            return page.path
    raise AssertionError(f"a link leads to {path}, where no page is")


def links(watch: Watch) -> list[str]:
    """Where the links of a page lead to, without the places within a page."""
    every = "each => each.map((one) => one.getAttribute('href'))"
    found = [href.partition("#")[0] for href in watch.page.eval_on_selector_all("a[href]", every)]
    assert all(not urlsplit(href).netloc and not urlsplit(href).scheme for href in found), found
    return [href for href in found if href.startswith("/")]


def walk(watch: Watch, most: int) -> Iterator[str]:
    """Open the first page, and from each page so many of each kind as it leads to that are not open yet."""
    waiting, seen, count = ["/"], set[str](), dict[str, int]()
    while waiting:
        path = waiting.pop(0)
        kind = pattern_of(path)
        if path in seen or count.get(kind, 0) >= most or kind in NO_PAGE:
            continue
        seen.add(path)
        count[kind] = count.get(kind, 0) + 1
        assert watch.go(path).status == 200, path
        yield kind
        waiting += links(watch)


def check(watch: Watch) -> None:
    """A page that is open: wide and light, then narrow and dark."""
    check_light(watch)
    check_dark(watch)


def check_light(watch: Watch) -> None:
    """A page that is open, wide and light."""
    watch.fits()
    watch.accessible()


def check_dark(watch: Watch) -> None:
    """A page that is open, narrow and dark; it is wide and light again afterwards."""
    watch.page.emulate_media(color_scheme="dark")
    watch.page.set_viewport_size(NARROW)
    watch.fits()
    watch.accessible()
    watch.page.set_viewport_size(PHONE)
    watch.fits()
    watch.accessible()
    watch.reads()
    watch.page.emulate_media(color_scheme="light")
    watch.page.set_viewport_size({"width": 1280, "height": 800})


def pages_of(roles: Iterable[Role]) -> set[str]:
    """The pages that people of these roles get to by links."""
    rights = {right for role in roles for right in RIGHTS[role]}
    return {page.path for page in PAGES if page.method == "GET" and page.right in rights} - NO_PAGE - {STORY}


def test_every_page(served: Served) -> None:
    with served.somebody("Everybody", *EVERYTHING) as watch:
        watch.go("/log")
        watch.button("Verify now").click()
        watch.page.locator("h1 + .state", has_text="done").wait_for(timeout=600_000)
        kinds = set[str]()
        for kind in walk(watch, 1):
            kinds.add(kind)
            check(watch)
    assert kinds == pages_of(EVERYTHING)


def test_a_document_of_every_kind(served: Served) -> None:
    """Labels, fields and summaries; pages and text; attachments, copies, and what could not be read. Here every other
    one in the dark, and by `make torture` each in both lights."""
    with served.somebody("Everybody", *EVERYTHING) as watch:
        watch.go("/queue?sort=path")
        rows = watch.page.locator("table.queue tbody tr")
        paths = dict[tuple[str, ...], str]()
        for row in rows.all():
            link, job = row.locator("td.name a"), row.locator("td.name div").inner_text().split()[0]
            name, state = link.inner_text(), row.locator(".state").inner_text()
            drawn = "drawn" if name.endswith(".pdf") and state != "failed" else "text"
            paths.setdefault((job, state, drawn, str("!/" in name)), link.get_attribute("href") or "")
        assert {state for _, state, *_ in paths} == {"done", "abstained", "failed", "duplicate"}
        assert len(paths) >= 9
        for number, path in enumerate(paths.values()):
            watch.go(path)
            if ALL:
                check(watch)
            else:
                (check_dark if number % 2 else check_light)(watch)
        for kind in ((TRIAGE, "done", "drawn", "True"), (FIELDS, "done", "drawn", "False")):
            watch.go(paths[kind])
            watch.link("Text").click()
            check(watch)
            assert watch.go(paths[kind].partition("?")[0] + "/story").status == 200
            check(watch)


@pytest.mark.parametrize("role", list(Role))
def test_no_link_leads_people_to_what_is_not_theirs(served: Served, role: Role) -> None:
    with served.somebody(f"One {role}", role, plain=True) as watch:
        kinds = set[str]()
        for kind in walk(watch, 1):
            kinds.add(kind)
            watch.fits()
            forms = watch.page.locator("form[method=post]").all()
            actions = [pattern_of(form.get_attribute("action") or "", "POST") for form in forms]
            rights = {page.right for page in PAGES if page.method == "POST" and page.path in actions}
            assert rights <= RIGHTS[role] | {None}, (watch.page.url, actions)
    assert kinds >= pages_of([role]) - {"/works/{number:int}"}


def test_pages_of_those_who_are_not_in_yet_or_may_not(served: Served) -> None:
    with served.somebody(refusals=True) as watch:
        assert watch.go("/").status == 401
        check(watch)
        watch.go(served.invite("Later", (Role.READER, Role.AUDITOR)))
        check(watch)
        assert watch.go("/join/" + "0" * 43).status == 404
        check(watch)
    with served.somebody("One reader", Role.READER, refusals=True) as watch:
        for path, status in (("/documents/9", 403), ("/log", 403), ("/nowhere", 404), ("/queue?sort=luck", 404)):
            assert watch.go(path).status == status
            assert watch.page.get_by_role("alert").inner_text()
            check(watch)
