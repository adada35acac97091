"""What people do on the console's pages, step by step."""

import re
import time
from typing import Any, Final

import pytest

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from tests.console.browser.served import Served
from tests.console.browser.watch import Watch
from tests.thorough import ALL

IN_SIGHT: Final = "each => { const at = each.getBoundingClientRect(); return at.bottom > 0 && at.top < innerHeight; }"
# Select a piece of the document's text, as a mouse does.
SELECT: Final = """(text) => {
  const walker = document.createTreeWalker(document.querySelector("[data-text]"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.textContent.indexOf(text);
    if (at >= 0) return document.getSelection().setBaseAndExtent(node, at, node, at + text.length);
  }
  throw new Error(`no text says ${text}`);
}"""


def with_scripts(served: Served) -> None:
    """Skip the rest of a test without scripts, where others do alike without them; `make torture` tries it."""
    if not (served.scripts or ALL):
        pytest.skip("done without scripts by `make torture`; others show here what is alike")


def find(watch: Watch, job: str, path: str) -> None:
    """Open a document by the queue, in the order of paths."""
    watch.go(f"/queue?job={job}&sort=path")
    watch.link(path).click()
    assert watch.page.locator("h1").inner_text() == path.split("/")[-1]
    watch.page.wait_for_load_state()


def decided(served: Served, watch: Watch, action: str) -> dict[str, Any]:
    """The row that the page says to have been decided on so."""
    said = watch.page.get_by_role("status").first.inner_text()
    document = "(?:This document|The document before this one)"
    found = re.fullmatch(rf"{document} was {action}: entry (\d+)\.(?: It was the last one.*)?", said)
    assert found, (said, watch.main())
    return pipeline.review.row_of(make_site(open_workspace(served.root)), int(found[1]))


def ended(watch: Watch) -> str:
    """Wait on the page of a command until it has ended; pages without scripts are looked at again by a link."""
    until = time.monotonic() + 600
    state = watch.page.locator("h1 + .state")
    while (said := state.inner_text()) == "running":
        assert time.monotonic() < until, watch.main()
        if watch.plain:
            watch.link("Look again").click()
        time.sleep(0.3)
    watch.fits()
    return said


def listed(watch: Watch) -> list[str]:
    """The documents that the queue shows, in its order, once the page is whole."""
    watch.page.wait_for_load_state()
    return watch.page.locator("table.queue td.name a").all_inner_texts()


def choose(watch: Watch, label: str, value: str) -> None:
    """Set a filter of the queue; with scripts it applies at once."""
    if watch.plain:
        watch.label(label).select_option(value)
        watch.button("Show").click()
    else:
        with watch.page.expect_navigation():
            watch.label(label).select_option(value)
