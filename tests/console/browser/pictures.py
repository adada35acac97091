"""Two small pictures for README.md, of a document in the console and of a night's report, made from the demo:

python -m tests.console.browser.pictures demo tests/console/screenshots
"""

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from jobs.console.rights import Role
from tests.console.browser.served import serve

SIZE: Final = (1280, 800)
MOST_BYTES: Final = 60_000
_JOB: Final = "invoice-fields"
_DOCUMENT: Final = "en/INV-20931 Calder & Finch.pdf"


def main(demo: Path, folder: Path) -> None:
    """Make both pictures from a copy of the demo's workspace, whose log stays as it is."""
    folder.mkdir(exist_ok=True)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as driver:
        root = shutil.copytree(demo, Path(temporary) / "demo")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        for name, taken in (("document", take_document), ("report", take_report)):
            file = folder / f"{name}.png"
            file.write_bytes(small(taken(browser, root)))
            print(f"{file}: {file.stat().st_size:,} bytes")
        browser.close()


def take_document(browser: Browser, root: Path) -> bytes:
    """An invoice beside the fields that were found in it, as somebody sees it who reviews."""
    with serve(root, browser) as served, served.somebody("Ann", Role.REVIEWER) as watch:
        watch.go(f"/queue?job={_JOB}&sort=path")
        watch.link(_DOCUMENT).click()
        return taken(watch.page)


def take_report(browser: Browser, root: Path) -> bytes:
    """The report of the last night of the job."""
    report = max((root / "outbox" / _JOB / "_reports").glob("report-*.html"))
    page = browser.new_page()
    page.goto(report.as_uri())
    return taken(page)


def taken(page: Page) -> bytes:
    """What somebody sees first of a page."""
    page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
    page.emulate_media(color_scheme="light")
    page.wait_for_load_state("networkidle")
    return page.screenshot()


def small(png: bytes) -> bytes:
    """The picture with as many colours as it may have to be small."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    return next(data for colours in (64, 32, 16, 8) if len(data := _packed(picture, colours)) <= MOST_BYTES)


def _packed(picture: Image.Image, colours: int) -> bytes:
    out = io.BytesIO()
    picture.quantize(colours, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
