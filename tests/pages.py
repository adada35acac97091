"""The pages that people read: their text, what of it is code, and what it names."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.S | re.M)


@cache
def tracked() -> frozenset[str]:
    """The files of the repository, as paths from its root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return frozenset(name for name in listed.stdout.split("\0") if name and (ROOT / name).exists())


def pages() -> list[str]:
    """Every page of the repository but the documents of the tests."""
    return sorted(name for name in tracked() if name.endswith(".md") and not name.startswith("tests/"))


def text_of(page: str) -> str:
    """A page as it stands."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code in this language, in their order."""
    return [code for found, code in FENCE.findall(text_of(page)) if found == language]


def prose(page: str) -> str:
    """The page without its blocks of code."""
    return FENCE.sub("", text_of(page))
