"""What pages name is there, and their lines are no longer than those of the code."""

import re
from pathlib import PurePosixPath

import pytest

from tests.pages import ROOT, pages, prose, text_of, tracked
from tests.test_architecture import ROOMS

WIDTH = 120
# one line for each change
ONE_LINE_EACH = {"CHANGELOG.md"}
# decisions name what was there at the time
PAST = {"CHANGELOG.md"}
# what commands make, and what the worked examples add
MADE = {
    "bench.md",
    "pipeline/tasks/count.py",
    "formats/ini.py",
    "tests/pipeline/parse/formats/test_ini.py",
    "quant/tq2_0.py",
}
every_page = pytest.mark.parametrize("page", pages())


def named(page: str) -> set[str]:
    """Names of source files and pages in the text."""
    return set(re.findall(r"(?<![\w.*/<-])[\w./-]*\w\.(?:py|md)(?!\w)", prose(page)))


def folders_named(page: str) -> set[str]:
    """Folders of the repository in code spans, such as `engine/quant/`."""
    return set(re.findall(r"`((?:audit|configs|engine|jobs|pipeline|tests)/[\w./-]*/)`", prose(page)))


def is_there(name: str, page: str) -> bool:
    """Beside the page, from the root, or below some folder."""
    beside = (ROOT / page).parent / name
    return beside.exists() or (ROOT / name).exists() or any(file.endswith(f"/{name}") for file in tracked())


@every_page
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)\s]*\)", prose(page))
    broken = [link for link in links if "://" not in link and not ((ROOT / page).parent / link).exists()]
    assert broken == []


@pytest.mark.parametrize("page", [page for page in pages() if page not in PAST])
def test_files_that_are_named_exist(page: str) -> None:
    assert sorted(name for name in named(page) - MADE if not is_there(name, page)) == []
    assert sorted(name for name in folders_named(page) if not (ROOT / name).is_dir()) == []


def test_pages_that_the_code_names_exist() -> None:
    """From the root, beside the file, or in a folder above it."""
    for name in sorted(tracked()):
        if not name.endswith(".py") or name.startswith("tests/"):
            continue
        path = ROOT / name
        for page in set(re.findall(r"(?<![\w<*/.])(?:[\w-]+/)*[A-Z]{4,}\.md\b", path.read_text(encoding="utf-8"))):
            above = [folder / page for folder in path.parents if folder.is_relative_to(ROOT)]
            assert any(each.exists() for each in above), f"{name}: {page}"


def test_a_name_without_a_file_would_be_found() -> None:
    assert not is_there("nowhere.py", "README.md")
    assert is_there("durable.py", "README.md")
    assert {"pipeline/run.py", "run.py"} & named("pipeline/README.md")


@pytest.mark.parametrize("page", [page for page in pages() if page not in ONE_LINE_EACH])
def test_lines_of_prose_are_short(page: str) -> None:
    lines = prose(page).splitlines()
    long = [
        line
        for line in lines
        if len(line) > WIDTH and not line.lstrip().startswith("|") and not line.startswith("    ")
    ]
    assert long == []


def test_rooms_stand_on_their_page_in_their_order() -> None:
    told = re.findall(r"^\| \[?`(\w+)/`", text_of("pipeline/README.md"), re.M)
    assert told == [room for room in ROOMS if (ROOT / "pipeline" / room).is_dir()]


def test_a_package_has_its_pages() -> None:
    there = {PurePosixPath(page) for page in pages()}
    for package in ("audit", "engine", "jobs", "pipeline"):
        assert {PurePosixPath(package) / name for name in ("README.md", "DECISIONS.md")} <= there
