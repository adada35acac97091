"""What a document is, whatever it is called."""

import io
import zipfile

import pytest
from PIL import Image

from pipeline.errors import Failure
from pipeline.parse.options import Options
from tests.pipeline.parse.compound import compound


def archive(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name, data in files.items():
            made.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("stream", "failure", "words"),
    [
        ("EncryptedPackage", Failure.ENCRYPTED, "password"),
        ("WordDocument", Failure.CORRUPT, "Word document"),
        ("PowerPoint Document", Failure.CORRUPT, "'Current User'"),
        ("__properties_version1.0", Failure.EMPTY, "no text"),
        ("Book", Failure.UNSUPPORTED, "Excel 5.0"),
        ("PP40", Failure.UNSUPPORTED, "PowerPoint 4.0"),
        ("Something", Failure.UNSUPPORTED, "unknown"),
        ("VisioDocument", Failure.UNSUPPORTED, "Visio"),
        ("Catalog", Failure.UNSUPPORTED, "Thumbs.db"),
        ("Workbook", Failure.EMPTY, "no text"),
    ],
)
def test_compound_files_are_told_apart(fail, stream: str, failure: Failure, words: str) -> None:
    error = fail(compound({"Other": b"", stream: b""}), "report.docx")
    assert error.failure is failure
    assert words in error.reason


def test_a_damaged_compound_file_is_corrupt(fail) -> None:
    assert fail(compound({"WordDocument": b""})[:70], "x.doc").failure is Failure.CORRUPT


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
        (b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0" + bytes(range(256)), Failure.UNSUPPORTED, "program for Windows"),
        (b"\x7fELF\x02\x01\x01" + bytes(range(256)), Failure.UNSUPPORTED, "program for Linux"),
        (bytes(128) + b"DICM" + bytes(range(90)), Failure.UNSUPPORTED, "DICOM"),
        (b"AC1032" + bytes(range(90)), Failure.UNSUPPORTED, "AutoCAD"),
        (b"%!PS-Adobe-3.0\n(Total) show\n", Failure.UNSUPPORTED, "PostScript"),
        (b"\0\0\0\x18ftypheic" + bytes(range(90)), Failure.UNSUPPORTED, "HEIC"),
        (b"\0\0\0\x18ftypisom" + bytes(range(90)), Failure.UNSUPPORTED, "video"),
        (b"\0\0\0\x18ftypavif" + bytes(range(90)), Failure.NEEDS_OCR, "image/avif"),
        (b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(range(90)), Failure.NEEDS_OCR, "image/jp2"),
        (b"\xff\x0a" + bytes(range(256)), Failure.UNSUPPORTED, "JPEG XL"),
        (b"\0\1\0\0Standard Jet DB\0" + bytes(range(90)), Failure.UNSUPPORTED, "Access"),
        (b"\xff" * 900 + b"\x80\x81 " * 300, Failure.UNSUPPORTED, ""),
        (bytes(4096), Failure.CORRUPT, "zero bytes, as a copy that broke off"),
        (bytes(64) + b"a" + bytes(900) + b"<title>Letter</title>", Failure.CORRUPT, "zero bytes, as a copy"),
        (bytes(64) + b"CD001\x01" + bytes(900), Failure.UNSUPPORTED, ""),
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


@pytest.mark.parametrize(
    "text",
    [
        "070701 is a number",
        "!<arch>\nof text",
        "LZIP is a program",
        "BZhang wrote this",
        "MZ 4711 is a number",
        "PAR1: a remark",
        "P3 is the plan for 2026",
        "ID3 of 4",
    ],
)
def test_words_that_archives_begin_with_are_words(parse, text: str) -> None:
    assert parse(text.encode()).text == text


def test_an_office_package_without_a_main_part_is_corrupt(fail) -> None:
    assert fail(archive(**{"[Content_Types].xml": b"<Types/>"}), "x.docx").failure is Failure.CORRUPT


@pytest.mark.parametrize(("part", "words"), [("visio/document.xml", "Visio"), ("FixedDocSeq.fdseq", "XPS")])
def test_packages_that_are_not_read_are_named(fail, part: str, words: str) -> None:
    error = fail(archive(**{"[Content_Types].xml": b"<Types/>", part: b"<x/>"}), "x.zip")
    assert error.failure is Failure.UNSUPPORTED
    assert words in error.reason


@pytest.mark.parametrize(
    ("kind", "options"),
    [("TIFF", {"big_tiff": True}), ("PPM", {}), ("TGA", {}), ("JPEG2000", {}), ("AVIF", {}), ("WEBP", {}), ("BMP", {})],
)
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_pictures_are_pictures_whatever_their_format(parse_members, kind: str, options: dict, mode: str) -> None:
    buffer = io.BytesIO()
    Image.new(mode, (400, 60), "white").save(buffer, kind, **options)
    parsed, _ = parse_members(buffer.getvalue(), "scan.txt", Options(images=True))
    assert parsed.media_type.startswith("image/")
    assert len(parsed.images) == 1
