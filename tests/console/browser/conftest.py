"""A headless browser, and consoles of workspaces that are made once, for whichever process of the tests comes first."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import made_once
from tests.console.browser.served import Served, serve
from tests.console.browser.workspaces import make_morning

CHROMIUM = shutil.which("chromium")
# No name is looked up: what a page would ask of another machine fails here, too.
ARGUMENTS = ("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--disable-dev-shm-usage")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window. It ends with the module: while it is there, no event loop can be run."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium: Debian has it in a package of this name")
    arguments = [*ARGUMENTS, *(("--no-sandbox",) if os.geteuid() == 0 else ())]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def morning(real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which jobs of the demo have run, for the tests of one file to do with as they like."""
    made = made_once(tmp_path_factory, "morning", lambda folder: make_morning(folder / "ws", real_model))
    return shutil.copytree(made / "ws", tmp_path_factory.mktemp("console") / "ws")


@pytest.fixture(scope="module", params=[True, False], ids=["scripts", "plain"])
def served(
    morning: Path, browser: Any, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Served]:
    """The console of that workspace, at a browser that runs scripts, and at one that does not."""
    root = shutil.copytree(morning, tmp_path_factory.mktemp("actions") / "ws")
    with serve(root, browser, scripts=request.param) as served:
        yield served
