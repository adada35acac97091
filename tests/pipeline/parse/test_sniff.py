"""What a document is, whatever it is called."""

import io
import struct
import zipfile

import pytest

from pipeline.errors import Failure
from pipeline.parse.office.ole import stream_names

SECTOR = 512


def ole(*names: str) -> bytes:
    """An OLE compound file with streams of these names and nothing in them: header, table of sectors, directory."""
    header = bytearray(SECTOR)
    header[:8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    struct.pack_into("<HHH", header, 24, 0x3E, 3, 0xFFFE)
    struct.pack_into("<HH", header, 30, 9, 6)
    struct.pack_into("<II", header, 44, 1, 1)
    struct.pack_into("<109I", header, 76, 0, *[0xFFFFFFFF] * 108)
    sectors = -(-(len(names) + 1) // 4)
    chain = [0xFFFFFFFD, *range(2, sectors + 1), 0xFFFFFFFE]
    table = struct.pack("<128I", *chain, *[0xFFFFFFFF] * (128 - len(chain)))
    entries = b""
    for name in ("Root Entry", *names):
        encoded = name.encode("utf-16-le") + b"\0\0"
        entries += encoded.ljust(64, b"\0") + struct.pack("<H", len(encoded)) + bytes(62)
    return bytes(header) + table + entries.ljust(sectors * SECTOR, b"\0")


def archive(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name, data in files.items():
            made.writestr(name, data)
    return buffer.getvalue()


def test_the_directory_of_a_compound_file_is_read() -> None:
    names = [f"stream {number}" for number in range(11)]
    assert stream_names(ole(*names)) == {"Root Entry", *names}


@pytest.mark.parametrize(
    ("stream", "failure", "words"),
    [
        ("EncryptedPackage", Failure.ENCRYPTED, "password"),
        ("WordDocument", Failure.UNSUPPORTED, "Word 97"),
        ("PowerPoint Document", Failure.UNSUPPORTED, "PowerPoint 97"),
        ("__properties_version1.0", Failure.UNSUPPORTED, "Outlook"),
        ("Book", Failure.UNSUPPORTED, "Excel 5.0"),
        ("Something", Failure.UNSUPPORTED, "unknown"),
        ("Workbook", Failure.EMPTY, "no text"),
    ],
)
def test_compound_files_are_told_apart(fail, stream: str, failure: Failure, words: str) -> None:
    error = fail(ole("Other", stream), "report.docx")
    assert error.failure is failure
    assert words in error.reason


def test_a_damaged_compound_file_is_corrupt(fail) -> None:
    assert fail(ole("WordDocument")[:100], "x.doc").failure is Failure.CORRUPT


@pytest.mark.parametrize(
    ("data", "failure", "words"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(60), Failure.NEEDS_OCR, "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01" + bytes(60), Failure.NEEDS_OCR, "image/jpeg"),
        (b"GIF89a" + bytes(60), Failure.NEEDS_OCR, "image/gif"),
        (b"\x1f\x8b\x08\x00" + bytes(60), Failure.CORRUPT, "compressed"),
        (b"Rar!\x1a\x07\x01\0" + bytes(60), Failure.UNSUPPORTED, "RAR"),
        (b"\x1f\x9d\x90a", Failure.UNSUPPORTED, "compress"),
        (b"\x5d\0\0\x80\0" + bytes(60), Failure.UNSUPPORTED, "LZMA"),
        (b"\x28\xb5\x2f\xfd" + bytes(60), Failure.UNSUPPORTED, "Zstandard"),
        (b"MSCF\0\0\0\0" + bytes(60), Failure.UNSUPPORTED, "Cabinet"),
        (b"\x85\x02\x0c\x03" + bytes(range(200)), Failure.ENCRYPTED, "OpenPGP"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(60), Failure.UNSUPPORTED, "7-Zip"),
        (b"\x7fELF" + bytes(60), Failure.UNSUPPORTED, ""),
        (bytes(range(256)) * 4, Failure.UNSUPPORTED, "unknown kind"),
        (b"-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n", Failure.ENCRYPTED, "OpenPGP"),
    ],
)
def test_what_is_not_read_is_named(fail, data: bytes, failure: Failure, words: str) -> None:
    error = fail(data, "letter.txt")
    assert error.failure is failure
    assert words.lower() in error.reason.lower()


def test_archives_and_other_containers(fail) -> None:
    base = fail(archive(mimetype=b"application/vnd.oasis.opendocument.base"), "x.odb")
    assert (base.failure, "opendocument.base" in base.reason) == (Failure.UNSUPPORTED, True)
    pages = fail(archive(**{"Index/Document.iwa": b"1", "Metadata/x.plist": b"2"}), "x.pages")
    assert (pages.failure, "iWork" in pages.reason) == (Failure.UNSUPPORTED, True)
    locked = {"mimetype": b"application/vnd.oasis.opendocument.text", "META-INF/manifest.xml": b"<encryption-data/>"}
    assert fail(archive(**locked)).failure is Failure.ENCRYPTED
    assert fail(archive(a=b"1")[:40], "x.docx").failure is Failure.CORRUPT
    assert fail(b"PK\x03\x04" + bytes(200), "x.docx").failure is Failure.CORRUPT


@pytest.mark.parametrize("text", ["070701 is a number", "!<arch>\nof text", "LZIP is a program", "BZhang wrote this"])
def test_words_that_archives_begin_with_are_words(parse, text: str) -> None:
    assert parse(text.encode()).text == text


def test_an_office_package_without_a_main_part_is_corrupt(fail) -> None:
    assert fail(archive(**{"[Content_Types].xml": b"<Types/>"}), "x.docx").failure is Failure.CORRUPT
