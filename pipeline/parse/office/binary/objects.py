"""Files that Office embeds in its older documents: an OLE storage each, which is the file or has it in a stream."""

import struct
from collections.abc import Iterable

from pipeline.parse.members import Members
from pipeline.parse.office.binary.compound import Tree, format_compound
from pipeline.parse.office.binary.ole import CompoundFile, Storage

_NATIVE = "\x01ole10native"
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
    if native := file.read(storage, _NATIVE):
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
