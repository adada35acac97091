"""A locked child reads what the same parser reads that nothing holds: the filter takes no call from it that it needs.

The formats of which the demonstration has no document are read by locked children in their own tests, to the letter.
"""

from pathlib import Path

import pytest

from pipeline.document import Parsed
from pipeline.errors import DocumentError
from pipeline.parse import Limits, ParserPool
from pipeline.parse.formats import PARSERS, Source
from pipeline.parse.sniff import media_type_of

FOLDER = Path(__file__).parents[3] / "corpus" / "demo"
DOCUMENTS = sorted(path for path in FOLDER.rglob("*") if path.is_file() and path.stat().st_size)
Told = tuple[str, str, str] | str


def told(parsed: Parsed) -> Told:
    return parsed.media_type, parsed.parser, parsed.text


def unlocked(path: Path) -> Told:
    source = Source(path.read_bytes(), path.name, Limits())
    try:
        media_type = media_type_of(source)
        return told(PARSERS[media_type].parse(source, media_type))
    except DocumentError as error:
        return f"{error.failure}: {error.reason}"


def locked(pool: ParserPool, path: Path) -> Told:
    try:
        with path.open("rb") as file:
            return told(pool.parse(file.fileno(), path.name))
    except DocumentError as error:
        return f"{error.failure}: {error.reason}"


@pytest.mark.parametrize("suffix", sorted({path.suffix for path in DOCUMENTS}))
def test_the_filter_changes_no_text(pool: ParserPool, suffix: str) -> None:
    assert pool.isolation["system_call_filter"]
    documents = [path for path in DOCUMENTS if path.suffix == suffix]
    assert [locked(pool, path) for path in documents] == [unlocked(path) for path in documents]
