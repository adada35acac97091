"""Pages in a browser: readable by everybody, within the width of the screen, and on paper with the number of each
page."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from pipeline.reports.page import page
from tests.pipeline.reports.test_page import full

BROWSER = Path(os.environ.get("CLOISTER_BROWSER", "/usr/bin/chromium"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not BROWSER.exists():
        pytest.skip(f"there is no browser {BROWSER}; CLOISTER_BROWSER names another Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(BROWSER), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    file = tmp_path / "report.html"
    file.write_text(page(full(waiting=3, stopped=True), tmp_path), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(browser: Any, url: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    opened = browser.new_context(color_scheme=scheme, bypass_csp=True).new_page()
    opened.goto(url)
    found = Axe().run(opened).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.parametrize("width", [1280, 800])
def test_it_fits_the_screen_and_runs_nothing(browser: Any, url: str, width: int) -> None:
    opened, told, asked = browser.new_page(viewport={"width": width, "height": 860}), [], []
    opened.on("console", lambda message: told.append(message.text))
    opened.on("dialog", lambda dialog: told.append(dialog.message))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(url)
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert (told, asked) == ([], [url])


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_each_printed_page_has_its_number(browser: Any, url: str, tmp_path: Path, paper: str) -> None:
    opened = browser.new_page()
    opened.goto(url)
    opened.pdf(path=tmp_path / "page.pdf", format=paper)
    pdf = pypdfium2.PdfDocument(tmp_path / "page.pdf")
    texts = [pdf[at].get_textpage().get_text_bounded() for at in range(len(pdf))]
    for number, text in enumerate(texts, 1):
        assert f"Page {number} of {len(texts)}" in text
        assert "Cloister · sort · night of 2026-11-24" in text
