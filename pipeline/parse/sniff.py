"""Tell what a document is by its bytes. Its name decides only between kinds of text, which look alike.

Archives are those that are unpacked, and those that somebody has to unpack first.
"""

import json
import re
from pathlib import Path, PurePath

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
from pipeline.parse.mail.plain import IN_TEXT, UNREAD
from pipeline.parse.mail.signed import is_cms
from pipeline.parse.office.binary.ole import OLE, CompoundFile
from pipeline.parse.office.flat import is_flat
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
_EXPORT = "export it as PDF from the program that made it"
_TABLES: dict[str, list[list[str]]] = json.loads(Path(__file__).with_name("marks.json").read_text("utf-8"))
_SAID = {name: {key: what.replace("{export}", _EXPORT) for *_, key, what in rows} for name, rows in _TABLES.items()}
"""What documents are, by the end of a name, a stream, a part, or the first bytes (each a character up to U+00FF)."""
_MARKS = {name: {key.encode("latin-1"): what for key, what in said.items()} for name, said in _SAID.items()}
_BRANDS = _MARKS["brands"]  # of ISO base media files (ISO/IEC 14496-12), by the beginnings of their names
_UNREAD = _MARKS["archives_unread"]
_PLACES = {key.encode("latin-1"): int(at) for at, key, _ in _TABLES["no_documents"]}  # where such a mark stands
_ANYMAP = re.compile(rb"P[1-6](?:\s|#[^\n]*\n)+\d{1,6}(?:\s|#[^\n]*\n)+\d{1,6}(?:\s|#[^\n]*\n)")
_HEAD = 1 << 16  # characters of a text that are looked at where the whole is not needed


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
    is_text = looks_like_text(data)
    if what := _no_document(data, text=is_text):
        raise DocumentError(Failure.UNSUPPORTED, f"found {what}")
    if is_ebcdic(data) and not has_lines(data):
        raise DocumentError(
            Failure.UNSUPPORTED, "EBCDIC records of one length, whose fields a description elsewhere divides"
        )
    if not is_text:
        raise _unsupported(data)
    return _text(source)


def _text(source: Source) -> str:
    text = source.decoded.text
    head, suffix = text[:_HEAD].lstrip("\ufeff"), PurePath(source.name).suffix.lower()
    if head.lstrip().startswith("-----BEGIN PGP MESSAGE-----"):
        raise DocumentError(Failure.ENCRYPTED, "an OpenPGP message")
    if head.startswith(IN_TEXT):
        raise DocumentError(Failure.UNSUPPORTED, UNREAD.format("yEnc or BinHex 4.0"))
    if is_mail(head, named=suffix in {".eml", ".p7m"}):
        return "message/rfc822"
    if is_flat(head):
        return Package(source.data).media_type or "an Office package of unknown kind"
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
    if suffix in _SAID["names"]:
        return _SAID["names"][suffix]
    delimiter = delimiter_of(text, strict=True)
    return {None: "text/plain", "\t": "text/tab-separated-values"}.get(delimiter, "text/csv")


def _zip(data: bytes) -> str:
    """The media type of a ZIP file. Its directory is read with bounds before zipfile, which has none, sees it; a
    file that is no document is an archive. DocumentError: UNSUPPORTED, and those of `read_directory`."""
    sizes = {entry.name: entry.size for entry in read_directory(data).entries}
    names = {name.lower() for name in sizes}
    if what := next((what for name, what in _SAID["packages_unread"].items() if name in names), None):
        raise DocumentError(Failure.UNSUPPORTED, f"found {what}; {_EXPORT}")
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
    if kind := next((kind for stream, kind in _SAID["ole"].items() if stream in root.streams), None):
        return kind
    if "pp97_dualstorage" in root.storages:
        return _SAID["ole"]["powerpoint document"]
    for stream, kind in _SAID["ole_older"].items():
        if stream in root.streams:
            raise DocumentError(Failure.UNSUPPORTED, f"found {kind}; save it in a newer format or as PDF")
    others = (what for part, what in _SAID["ole_others"].items() if part in root.streams or part in root.storages)
    raise DocumentError(Failure.UNSUPPORTED, f"found {next(others, 'an OLE compound file of unknown kind')}")


def _picture(data: bytes) -> str | None:
    if kind := next((kind for mark, kind in _MARKS["pictures"].items() if data.startswith(mark)), None):
        return kind
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    if _ANYMAP.match(data):
        return "image/x-portable-anymap"
    if data[4:8] == b"ftyp" and (kind := _brand(data)).startswith("image/"):
        return kind
    if _is_targa(data):
        return "image/x-tga"
    return "image/bmp" if data.startswith(b"BM") and data[2:6] == len(data).to_bytes(4, "little") else None


def _brand(data: bytes) -> str:
    return next(kind for brand, kind in _BRANDS.items() if data.startswith(brand, 8))


def _is_targa(data: bytes) -> bool:
    """Whether a picture has Truevision's mark at its end, or a header whose size fits (Truevision TGA 2.0)."""
    if len(data) < 18 or data[1] > 1 or data[2] not in {1, 2, 3, 9, 10, 11} or data[16] not in {8, 15, 16, 24, 32}:
        return False
    colours = int.from_bytes(data[5:7], "little") * -(-data[7] // 8) if data[1] else 0
    pixels = int.from_bytes(data[12:14], "little") * int.from_bytes(data[14:16], "little")
    size = 18 + data[0] + colours + pixels * -(-data[16] // 8)
    plain = pixels > 0 and data[2] < 9 and size <= len(data) <= size + 8192
    return plain or data.endswith(b"TRUEVISION-XFILE.\0")


def _no_document(data: bytes, *, text: bool) -> str | None:
    """What is no document at all, or none that is read, in words; None for all else. A `text` may begin with the
    letters of a mark, but for that of PostScript."""
    if data[4:8] == b"ftyp" and not text:
        return _brand(data)
    marks = (one for one in _MARKS["no_documents"].items() if data.startswith(one[0], _PLACES[one[0]]))
    return next((what for mark, what in marks if not text or mark == b"%!PS"), None)


def _unsupported(data: bytes) -> DocumentError:
    if _PGP.match(data):
        return DocumentError(Failure.ENCRYPTED, "an OpenPGP message")
    if archive := unread_archive(data):
        return DocumentError(Failure.UNSUPPORTED, archive)
    if has_holes(data):
        return DocumentError(Failure.CORRUPT, "holes of zero bytes, as a copy that broke off leaves them")
    try:
        kind, name = puremagic.from_string(data, mime=True), puremagic.magic_string(data)[0].name
    except (puremagic.PureError, ValueError, IndexError):
        return DocumentError(Failure.UNSUPPORTED, "binary data of unknown kind")
    what = f"by its first bytes {name or kind} ({kind})" if kind else f"by its first bytes {name}"
    if kind.startswith("image/"):
        what += "; export it as PNG, JPEG or PDF"
    return DocumentError(Failure.UNSUPPORTED, what)


_PROGRAMS = (b"MZ", b"\x7fELF", b"PK00")  # that ZIP archives which unpack themselves begin with
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
