"""A pool that most tests share, and documents made from bytes."""

import contextlib
import io
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse import Limits, ParserPool, Tesseract, find_tesseract
from pipeline.parse.options import Options


@pytest.fixture(scope="session")
def pool() -> Iterator[ParserPool]:
    with ParserPool(1, Limits(seconds=30, memory_bytes=512 * 2**20, output_characters=2_000_000)) as pool:
        yield pool


def parse_in(pool: ParserPool, data: bytes, name: str) -> Parsed:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return pool.parse(file.fileno(), name)


@pytest.fixture
def parse(pool: ParserPool) -> Callable[..., Parsed]:
    """parse(data, name="document") -> Parsed"""
    return lambda data, name="document": parse_in(pool, data, name)


@pytest.fixture
def fail(pool: ParserPool) -> Callable[..., DocumentError]:
    """fail(data, name="document") -> the DocumentError that parsing it ends with"""

    def fail(data: bytes, name: str = "document") -> DocumentError:
        with pytest.raises(DocumentError) as raised:
            parse_in(pool, data, name)
        return raised.value

    return fail


@pytest.fixture
def parse_members(pool: ParserPool) -> Callable[..., tuple[Parsed, dict[str, bytes | Failure]]]:
    """parse_members(data, name="document", options=Options()) -> Parsed, and the bytes of each document inside it"""

    def parse_members(
        data: bytes, name: str = "document", options: Options | None = None
    ) -> tuple[Parsed, dict[str, bytes | Failure]]:
        with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as out:
            file.write(data)
            file.flush()
            parsed = pool.parse(file.fileno(), name, options or Options(), out.fileno())
            given: dict[str, bytes | Failure] = {}
            for member in parsed.members:
                offset = member.offset or 0
                given[member.name] = member.failure or os.pread(out.fileno(), member.size, offset)
        return parsed, given

    return parse_members


@pytest.fixture(scope="session")
def deu_eng() -> Tesseract:
    found = find_tesseract(("deu", "eng"))
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture
def recognise(pool: ParserPool, deu_eng: Tesseract) -> Callable[..., Parsed]:
    """recognise(data, name="document") -> Parsed, with what Tesseract read on its pictures, as a run reads it"""

    def recognise(data: bytes, name: str = "document") -> Parsed:
        with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as other:
            file.write(data)
            file.flush()
            parsed = pool.parse(file.fileno(), name, Options(images=True), out.fileno())
            if not parsed.images:
                return parsed
            reader = pool.reader(deu_eng)
            texts, unread = reader.read(out.fileno(), parsed.images)
            options = Options(texts=texts, unread=unread)
            return reader.named(pool.parse(file.fileno(), name, options, other.fileno()))

    return recognise


@pytest.fixture
def parse_with() -> Callable[..., Parsed]:
    """parse_with(pool, data, name="document"), for tests with a pool of their own."""
    return lambda pool, data, name="document": parse_in(pool, data, name)


def descendants(pid: int) -> list[int]:
    """All processes below `pid`, from /proc."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


@pytest.fixture
def processes() -> Callable[[int], list[int]]:
    """processes(pid) -> its descendants, the server before its children"""
    return descendants


OPEN_XML = "application/vnd.openxmlformats-officedocument"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
KINDS = {
    "docx": ("word/document.xml", "wordprocessingml.document"),
    "pptx": ("ppt/presentation.xml", "presentationml.presentation"),
    "xlsx": ("xl/workbook.xml", "spreadsheetml.sheet"),
}


def relations(*targets: tuple[str, str]) -> str:
    """A part of relations rId1, rId2... of (type, target)."""
    entries = "".join(
        f'<Relationship Id="rId{place}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for place, (kind, target) in enumerate(targets, start=1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{entries}</Relationships>'


def package(kind: str, parts: dict[str, str | bytes]) -> bytes:
    """An Office package by hand: the parts, and around them what every package has."""
    main, content_type = KINDS[kind]
    types = (
        f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="{OPEN_XML}.{content_type}.main+xml"/>'
        "</Types>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr("_rels/.rels", relations(("officeDocument", main)))
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.fixture
def office() -> Callable[[str, dict[str, str | bytes]], bytes]:
    """office("docx", {part name: XML}) -> the bytes of a package"""
    return package


@pytest.fixture
def rels() -> Callable[..., str]:
    """rels((type, target), ...) -> the XML of a part of relations"""
    return relations
