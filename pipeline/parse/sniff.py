"""Tell what a document is by its bytes. Its name decides only between kinds of text, which look alike.

Archives are those that are unpacked, and those that somebody has to unpack first.
"""

import re
from pathlib import PurePath

import puremagic

from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source
from pipeline.parse.encoding.decode import has_holes, looks_like_text
from pipeline.parse.encoding.ebcdic import has_lines, is_ebcdic
from pipeline.parse.formats import marked_as
from pipeline.parse.formats.csv import delimiter_of
from pipeline.parse.formats.json import is_json, is_json_lines
from pipeline.parse.formats.mbox import is_mailbox
from pipeline.parse.formats.xml import is_xml
from pipeline.parse.mail.header import is_mail
from pipeline.parse.mail.signed import is_cms
from pipeline.parse.office.binary.ole import OLE, CompoundFile
from pipeline.parse.office.package import CONTENT_TYPES, Archive, Package
from pipeline.parse.unpack.directory import read_directory
from pipeline.parse.unpack.tape import is_tape

_PACKAGES = ("application/vnd.oasis.opendocument.", "application/vnd.sun.xml.", "application/epub+zip")
_IWORK = re.compile(r"^(Index/.*\.iwa|Index\.zip|index\.apxl(\.gz)?|buildVersionHistory\.plist)$", re.MULTILINE)
_HTML = re.compile(
    r"(?>(?:<\?xml[^>]*>|<!--.*?-->|\s+)*)<(!doctype\s+html|html|head|title|body|div|table|p|h[1-6]|ol|ul|dl|span|center|form|font|meta|script)(?![\w:.-])",
    re.IGNORECASE | re.DOTALL,
)
_FLAT = re.compile(r'<office:document\s[^>]*?\boffice:mimetype="(application/vnd\.oasis\.opendocument\.[a-z-]+)"')
_PGP = re.compile(rb"\x85..\x03|\x84.\x03|\xc1..?\x03|\x8c.\x04|\xc3.\x04", re.DOTALL)  # RFC 4880, 5.1 and 5.3
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BY_NAME = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".tab": "text/tab-separated-values",
}
_OLE_KINDS = {  # by a stream that it has
    "worddocument": "application/msword",
    "workbook": "application/vnd.ms-excel",
    "powerpoint document": "application/vnd.ms-powerpoint",
    "__properties_version1.0": "application/vnd.ms-outlook",
}
_OLE_OLDER = {"book": "an Excel 5.0 or 95 workbook (.xls)", "pp40": "a PowerPoint 4.0 or 95 presentation (.ppt)"}
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_HEAD = 1 << 16  # characters of a text that are looked at where the whole is not needed
_NO_DOCUMENTS = (  # of which the table of first bytes says what is not so
    (b"MZ", "found a program for Windows"),
    (b"\x7fELF", "found a program for Linux"),
)


def media_type_of(source: Source) -> str:
    """A media type, which may have no parser; raises DocumentError for what has none for sure."""
    data = source.data
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zip(data)
    if data.startswith(OLE):
        return _ole(data)
    if archive := archive_type(data):
        return archive
    if is_mailbox(data):
        return "application/mbox"
    if is_mail(data[:_HEAD].decode("latin-1").lstrip("\r\n")):  # attached may be anything, a PDF, too
        return "message/rfc822"
    if kind := _picture(data):
        return kind
    if kind := marked_as(source):
        return kind
    if is_ebcdic(data) and not has_lines(data):
        raise DocumentError(
            Failure.UNSUPPORTED, "EBCDIC records of one length, whose fields a description elsewhere divides"
        )
    if not looks_like_text(data):
        raise _unsupported(data)
    return _text(source)


def _text(source: Source) -> str:
    text = source.decoded.text
    head, suffix = text[:_HEAD].lstrip("\ufeff"), PurePath(source.name).suffix.lower()
    if head.lstrip().startswith("-----BEGIN PGP MESSAGE-----"):
        raise DocumentError(Failure.ENCRYPTED, "an OpenPGP message")
    if is_mail(head, named=suffix in {".eml", ".p7m"}):
        return "message/rfc822"
    if is_json(text):
        return "application/json"
    if is_json_lines(text):
        return "application/x-ndjson"
    if _HTML.match(head) or (suffix in {".html", ".htm", ".xhtml"} and _TAG.search(head)):
        return "text/html"
    if head.startswith("<") and (flat := _FLAT.match(head, max(0, head.find("<office:document ")))):
        return flat[1]
    if is_xml(text, named_so=suffix == ".xml"):
        return "application/xml"
    if suffix in _BY_NAME:
        return _BY_NAME[suffix]
    delimiter = delimiter_of(text, strict=True)
    return {None: "text/plain", "\t": "text/tab-separated-values"}.get(delimiter, "text/csv")


def _zip(data: bytes) -> str:
    """The media type of a ZIP file. Its directory is read with bounds before zipfile, which has none, sees it; a
    file that is no document is an archive. DocumentError: UNSUPPORTED, and those of `read_directory`."""
    sizes = {entry.name: entry.size for entry in read_directory(data).entries}
    if CONTENT_TYPES in sizes:
        return Package(data).media_type or "an Office package of unknown kind"
    if sizes.get("mimetype", _HEAD) < 200 and (kind := _said(Archive(data, "a document"))).startswith(_PACKAGES):
        return kind
    if _IWORK.search("\n".join(sizes)):
        raise DocumentError(Failure.UNSUPPORTED, "found an Apple iWork document (.pages, .numbers, .key)")
    return "application/zip"


def _said(archive: Archive) -> str:
    """The media type that an OpenDocument file or a book names for itself. DocumentError: ENCRYPTED."""
    kind = archive.bytes("mimetype").decode("ascii", "replace").strip()
    if archive.has("META-INF/manifest.xml") and b"encryption-data" in archive.bytes("META-INF/manifest.xml"):
        raise DocumentError(Failure.ENCRYPTED, f"{kind} with a password")
    return kind


def _ole(data: bytes) -> str:
    root = CompoundFile(data).root
    if "encryptedpackage" in root.streams:
        raise DocumentError(Failure.ENCRYPTED, "an Office document with a password")
    for stream, kind in _OLE_KINDS.items():
        if stream in root.streams:
            return kind
    if "pp97_dualstorage" in root.storages:
        return _OLE_KINDS["powerpoint document"]
    for stream, kind in _OLE_OLDER.items():
        if stream in root.streams:
            raise DocumentError(Failure.UNSUPPORTED, f"found {kind}; save it in a newer format or as PDF")
    raise DocumentError(Failure.UNSUPPORTED, "found an OLE compound file of unknown kind")


def _picture(data: bytes) -> str | None:
    for mark, kind in _PICTURES:
        if data.startswith(mark):
            return kind
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/bmp" if data.startswith(b"BM") and data[2:6] == len(data).to_bytes(4, "little") else None


def _unsupported(data: bytes) -> DocumentError:
    if _PGP.match(data):
        return DocumentError(Failure.ENCRYPTED, "an OpenPGP message")
    if archive := unread_archive(data):
        return DocumentError(Failure.UNSUPPORTED, archive)
    for mark, what in _NO_DOCUMENTS:
        if data.startswith(mark):
            return DocumentError(Failure.UNSUPPORTED, what)
    if has_holes(data):
        return DocumentError(Failure.CORRUPT, "holes of zero bytes, as a copy that broke off leaves them")
    try:
        kind, name = puremagic.from_string(data, mime=True), puremagic.magic_string(data)[0].name
    except (puremagic.PureError, ValueError, IndexError):
        return DocumentError(Failure.UNSUPPORTED, "binary data of unknown kind")
    what = f"by its first bytes {name or kind} ({kind})" if kind else f"by its first bytes {name}"
    if kind.startswith("image/"):
        return DocumentError(Failure.NEEDS_OCR, what)
    return DocumentError(Failure.UNSUPPORTED, what)


_PROGRAMS = (b"MZ", b"\x7fELF", b"PK00")  # that ZIP archives which unpack themselves begin with
_UNREAD = {
    b"7z\xbc\xaf\x27\x1c": "7-Zip (.7z)",
    b"Rar!\x1a\x07": "RAR",
    b"\x1f\x9d": "compress (.Z)",
    b"\x1f\xa0": "compress (.Z)",
    b"\x28\xb5\x2f\xfd": "Zstandard (.zst)",
    b"\x04\x22\x4d\x18": "LZ4",
    b"LZIP": "lzip",
    b"MSCF\0\0\0\0": "Cabinet (.cab)",
    b"\x60\xea": "ARJ",
    b"!<arch>\n": "ar (.ar, .deb)",
    b"070701": "cpio",
    b"070702": "cpio",
    b"070707": "cpio",
    b"\x5d\0\0": "LZMA",
}
_NO_TEXT = tuple(magic for magic in _UNREAD if any(byte < 9 or 13 < byte < 32 for byte in magic))


def archive_type(data: bytes) -> str | None:
    """The media type of an archive or envelope; raises DocumentError(UNSUPPORTED) for one that is not unpacked."""
    if data.startswith(b"\x1f\x8b\x08"):
        return "application/gzip"
    if data.startswith(b"BZh") and data[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "application/x-bzip2"
    if data.startswith(b"\xfd7zXZ\0"):
        return "application/x-xz"
    if is_tape(data):
        return "application/x-tar"
    if is_cms(data):
        return "application/pkcs7-mime"
    if data.startswith(_NO_TEXT) and (reason := unread_archive(data)):
        raise DocumentError(Failure.UNSUPPORTED, reason)
    return "application/zip" if data.startswith(_PROGRAMS) and _holds_zip(data) else None


def unread_archive(data: bytes) -> str | None:
    """The reason for the failure of bytes that are an archive that is not unpacked; None for other bytes."""
    for magic, name in _UNREAD.items():
        if data.startswith(magic):
            return f"found an archive ({name}); unpack it and drop what is inside"
    try:
        read_directory(data)
    except DocumentError as error:
        return error.reason if error.failure is Failure.UNSUPPORTED else None  # the last of several volumes
    return None


def _holds_zip(data: bytes) -> bool:
    try:
        return bool(read_directory(data).entries)
    except DocumentError as error:
        return error.failure is not Failure.CORRUPT
