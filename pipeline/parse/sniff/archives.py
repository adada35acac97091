"""Archives by their first bytes: those that are unpacked, and those that somebody has to unpack first."""

from pipeline.errors import DocumentError, Failure
from pipeline.parse.mail.signed import is_cms
from pipeline.parse.unpack.directory import read_directory
from pipeline.parse.unpack.tape import is_tape

_BZIP2 = (b"1AY&SY", b"\x17rE8P\x90")  # a block, or the end, after "BZh" and a digit
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
    if data.startswith(b"BZh") and data[4:10] in _BZIP2:
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
