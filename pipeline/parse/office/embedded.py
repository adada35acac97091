"""Files embedded in Office documents: each that a reader can open is a document of its own.

In the older documents each lies in an OLE storage, which is the file or has it in a stream; in PowerPoint 97-2003
([MS-PPT] 2.10) it is a compound file of its own, mostly compressed.
"""

import posixpath
import struct
import zlib
from collections.abc import Iterable

from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source
from pipeline.parse.limits import UNSUSPICIOUS
from pipeline.parse.members import Members
from pipeline.parse.office.binary.ole import OLE, CompoundFile, Storage, Tree, format_compound
from pipeline.parse.office.binary.slides import STRING, Presentation, Record, string_of
from pipeline.parse.office.package import Package
from pipeline.parse.writer import TextWriter

_PLAIN = {"package": "embedded document", "contents": "embedded file"}
_OFFICE = {"worddocument": "doc", "workbook": "xls", "powerpoint document": "ppt"}  # by a stream that it has


def add_objects(members: Members, file: CompoundFile, storages: Iterable[Storage]) -> list[str]:
    """Give the files in these storages; the notes say how many objects hold none. Raises DocumentError."""
    unread = 0
    for storage in storages:
        found = file_of(file, storage)
        if found is None:
            unread += 1
        else:
            members.add(found[0], [found[1]])
    return [f"embedded objects not read: {unread}"] if unread else []


def native_file(data: bytes) -> tuple[str, bytes] | None:
    """Name and bytes of the file in a stream Ole10Native ([MS-OLEDS] 2.3.6, as the Object Packager fills it)."""
    try:
        at = 6
        label, at = _text(data, at)
        _, at = _text(data, at)
        at += 8 + struct.unpack_from("<I", data, at + 4)[0]
        size = struct.unpack_from("<I", data, at)[0]
    except (struct.error, ValueError):
        return None
    content = data[at + 4 : at + 4 + size]
    return (label.replace("\\", "/").rpartition("/")[2] or "embedded file", content) if len(content) == size else None


def file_of(file: CompoundFile, storage: Storage) -> tuple[str, bytes] | None:
    """Name and bytes of the file in a storage; None where there is none that could be read by itself."""
    if native := file.read(storage, "\x01ole10native"):
        return native_file(native)
    for stream, name in _PLAIN.items():
        data = file.read(storage, stream)
        if data and (stream == "package" or data.startswith(b"%PDF-")):
            return name, data
    for stream, suffix in _OFFICE.items():
        if stream in storage.streams:
            return f"embedded document.{suffix}", format_compound(_tree(file, storage))
    return None


def _tree(file: CompoundFile, storage: Storage) -> Tree:
    streams: Tree = {stream.name: file.need(storage, name) for name, stream in storage.streams.items()}
    return streams | {inner.name: _tree(file, inner) for inner in storage.storages.values()}


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode("cp1252", "replace"), end + 1


_LIST, _EMBEDDED, _ATOM, _STORAGE = 0x0409, 0x0FCC, 0x0FC3, 0x1011
_PROGRAM, _COMPRESSED = 2, 1  # instances: of the string with the program's name; of a storage
_DOCUMENTS = ("word.", "excel.sheet", "powerpoint.", "package", "acroexch.")  # no charts, no formulas


def add_objects_of(members: Members, presentation: Presentation) -> list[str]:
    """Give the documents; the notes say how many objects are none. Raises DocumentError(BOMB)."""
    objects = presentation.document.first(_LIST)
    embedded = [one for one in objects.children() if one.kind == _EMBEDDED] if objects else []
    unread = sum(not _add(members, presentation, one) for one in embedded)
    return [f"embedded objects not read: {unread}"] if unread else []


def _add(members: Members, presentation: Presentation, embedded: Record) -> bool:
    names = {one.instance: string_of(one) for one in embedded.children() if one.kind == STRING}
    atom = embedded.first(_ATOM)
    if atom is None or not names.get(_PROGRAM, "").lower().startswith(_DOCUMENTS):
        return False
    try:
        file = CompoundFile(_unpacked(presentation.stored(atom.number(16), _STORAGE)))
        found = file_of(file, file.root)
    except DocumentError as error:
        members.refuse("embedded document", len(embedded.data), error.failure, error.reason)
        return True
    if found:
        members.add(found[0], [found[1]])
    return found is not None


def _unpacked(storage: Record) -> bytes:
    if storage.instance != _COMPRESSED:
        return bytes(storage.data)
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(storage.data[4:], UNSUSPICIOUS)
    except zlib.error as error:
        raise DocumentError(Failure.CORRUPT, f"its compressed bytes are damaged: {error}") from error
    if not unpacker.eof:
        large = len(data) == UNSUSPICIOUS
        raise DocumentError(*((Failure.TOO_LARGE, "it is too large") if large else (Failure.CORRUPT, "it is cut off")))
    return data


_WHOLE = {"worddocument": ".doc", "workbook": ".xls", "powerpoint document": ".ppt",
          "__properties_version1.0": ".msg", "encryptedpackage": ".bin"}  # fmt: skip


def add_embedded(members: Members, package: Package) -> list[str]:
    """Unpack what is embedded; notes of what is not read. Raises DocumentError(BOMB).

    The workbook behind a chart is none: what it shows, the chart itself holds.
    """
    charts = [part for part in package.names if "/charts/" in part.lower() and part.lower().endswith(".xml")]
    behind, objects = {target.lower() for one in charts for target in package.related(one, "package")}, 0
    for part in package.names:
        if "/embeddings/" in part.lower() and not part.endswith("/") and part.lower() not in behind:
            objects += not add_part(members, package, part)
    media = package.count("media")
    notes = (
        package.shown.notes(media) if package.shown else [f"pictures and other media not read: {media}"] * bool(media)
    )
    counts = {"workbooks behind charts": len(behind), "embedded objects": objects}
    return notes + [f"{what} not read: {count}" for what, count in counts.items() if count]


def add_part(members: Members, package: Package, part: str) -> bool:
    """Unpack one part by the name of its file; where it is damaged or too large, that is its own failure.

    False for an object of OLE that holds no file, such as a formula.
    """
    name = posixpath.basename(part)
    try:
        data = package.bytes(part) if part.lower().endswith(".bin") else b""
        if data.startswith(OLE):
            return _add_object(members, name, data)
        members.add(name, [data] if data else package.chunks(part))
    except DocumentError as error:
        if error.failure is Failure.BOMB:
            raise
        members.refuse(name, 0, error.failure, error.reason)
    return True


def _add_object(members: Members, name: str, data: bytes) -> bool:
    """The file in an OLE object, which may be the whole."""
    file = CompoundFile(data)
    if suffix := next((suffix for stream, suffix in _WHOLE.items() if stream in file.root.streams), None):
        members.add(name.rpartition(".")[0] + suffix, [data])
        return True
    found = file_of(file, file.root)
    if found is not None:
        members.add(found[0], [found[1]])
    return found is not None


def refuse_pictures_alone(source: Source, writer: TextWriter, package: Package, what: str) -> None:
    """Raise DocumentError(NEEDS_OCR) for a document of nothing but pictures, unless all of them were looked at."""
    looked_at = package.shown.read if package.shown else 0
    if writer.length or source.pictures.pending or source.members.finish()[0]:
        return
    if package.count("media") > looked_at:
        raise DocumentError(Failure.NEEDS_OCR, "; ".join([f"{what} pictures and no text", *source.pictures.reasons()]))
