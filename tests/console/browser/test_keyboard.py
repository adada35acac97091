"""The console by the keyboard alone: every stop is seen, and keys do nothing while somebody types."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.console.rights import Role
from tests.console.browser.served import PASSPHRASE, Served, serve
from tests.console.browser.watch import Watch
from tests.console.browser.workspaces import TRIAGE

# What Tab stops at: of the radio buttons of one question only one.
_STOPS = """() => {
  const seen = (each) => each.checkVisibility({ checkVisibilityCSS: true }) && !each.disabled;
  const every = [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")].filter(seen);
  const questions = new Set(every.filter((each) => each.type === "radio").map((each) => each.name));
  return every.filter((each) => each.type !== "radio").length + questions.size;
}"""
_AT = "(() => { window.stops ??= new Set(); window.stops.add(document.activeElement); return stops.size; })()"

_MOST_IN_A_DATE = 4
"""Further stops within a date: its parts, and its calendar."""


@pytest.fixture(scope="module")
def served(morning: Path, browser: Any) -> Iterator[Served]:
    with serve(morning, browser) as served:
        yield served


def drawn(watch: Watch) -> None:
    """Wait until the page is drawn: a field that takes the focus by itself has it from then on."""
    watch.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def go(watch: Watch, path: str) -> None:
    """Open a page of the console, and wait until keys reach what they should."""
    watch.go(path)
    drawn(watch)


def tab_to(watch: Watch, text: str) -> None:
    """Press Tab until what is called so has the focus; each stop on the way is seen."""
    for _ in range(120):
        watch.page.keyboard.press("Tab")
        if watch.focus() == text:
            return
    raise AssertionError(f"Tab does not lead to {text!r} on {watch.page.url}")


def enter(watch: Watch) -> None:
    """Press Enter, which leads to another page."""
    with watch.page.expect_navigation():
        watch.page.keyboard.press("Enter")
    drawn(watch)


def test_from_signing_in_to_a_correction(served: Served) -> None:
    token = served.invite("Kay", (Role.REVIEWER,))
    with served.somebody(refusals=True) as watch:
        keys = watch.page.keyboard
        go(watch, token)
        keys.type(PASSPHRASE)  # the first field has the focus already
        keys.press("Tab")
        keys.type(PASSPHRASE)
        enter(watch)
        tab_to(watch, "Sign out")
        enter(watch)
        go(watch, "/")
        keys.type("Kay")
        keys.press("Tab")
        keys.type(PASSPHRASE)
        enter(watch)
        tab_to(watch, "Queue")
        enter(watch)
        keys.press("/")
        keys.type("heating")  # n would be the next page
        keys.press("Backspace")
        for _ in "heatin":
            keys.press("Backspace")
        keys.type("kitchen worktop")
        enter(watch)
        tab_to(watch, "post/Complaint - kitchen worktop.txt")
        enter(watch)
        before = watch.page.url
        keys.press("c")
        chosen = watch.page.locator("input[type=radio]:checked").input_value()
        keys.press("ArrowDown")
        assert (label := watch.page.locator("input[type=radio]:checked").input_value()) != chosen
        tab_to(watch, "reason")
        reason = "a jackal ate it, r c e k /?"
        keys.type(reason)
        assert watch.page.url == before
        assert watch.label("Why it is corrected").input_value() == reason
        tab_to(watch, "Save the correction")
        enter(watch)
        number = watch.page.get_by_role("status").get_by_role("link").first.inner_text().removeprefix("entry ")
    row = pipeline.review.row_of(make_site(open_workspace(served.root)), int(number))
    assert (row["label"], row["review"]["by"], row["review"]["reason"]) == (label, "Kay", reason)


@pytest.mark.parametrize("path", ["/", "/queue", f"/jobs/{TRIAGE}", "/runs", "/models", "/log", "/documents"])
def test_every_stop_of_tab_is_seen(served: Served, path: str) -> None:
    with served.somebody("Everybody", *Role) as watch:
        if path == "/documents":
            watch.go(f"/queue?job={TRIAGE}&sort=path")
            with watch.page.expect_navigation():
                watch.page.locator("td.name a").first.click()
        else:
            watch.go(path)
        drawn(watch)
        stops = watch.page.evaluate(_STOPS)
        reached = 0
        for _ in range(stops + _MOST_IN_A_DATE * watch.page.locator("input[type=date]").count()):
            watch.page.keyboard.press("Tab")
            reached = watch.at_focus(_AT)
            if reached == stops:
                break
        assert reached == stops


def test_keys_do_nothing_with_a_modifier_or_in_a_field(served: Served) -> None:
    with served.somebody("Everybody", *Role) as watch:
        watch.go(f"/queue?job={TRIAGE}&sort=path")
        watch.page.locator("td.name a").nth(1).click()
        before = watch.page.url
        for field in ("Why it is corrected", "Why it is rejected"):
            watch.label(field).click()
            watch.page.keyboard.type("ajkrce?")
            assert watch.label(field).input_value() == "ajkrce?"
        watch.page.locator("h1").click()
        for key in ("Control+j", "Alt+j", "Control+a", "Alt+k"):
            watch.page.keyboard.press(key)
        time.sleep(0.3)
        assert watch.page.url == before
        watch.page.keyboard.press("j")
        watch.page.wait_for_url(lambda url: url != before)
