"""Documents embedded in PowerPoint 97-2003 ([MS-PPT] 2.10): each a compound file of its own, mostly compressed."""

import zlib

from pipeline.errors import DocumentError, Failure
from pipeline.parse.limits import UNSUSPICIOUS
from pipeline.parse.members import Members
from pipeline.parse.office.binary.objects import file_of
from pipeline.parse.office.binary.ole import CompoundFile
from pipeline.parse.office.binary.records import Record
from pipeline.parse.office.binary.slides import STRING, Presentation, string_of

_LIST, _EMBEDDED, _ATOM, _STORAGE = 0x0409, 0x0FCC, 0x0FC3, 0x1011
_PROGRAM, _COMPRESSED = 2, 1  # instances: of the string with the program's name; of a storage
_DOCUMENTS = ("word.", "excel.sheet", "powerpoint.", "package", "acroexch.")  # no charts, no formulas


def add_objects_of(members: Members, presentation: Presentation) -> list[str]:
    """Give the documents; the notes say how many objects are none. Raises DocumentError(BOMB)."""
    unread = 0
    objects = presentation.document.first(_LIST)
    for one in objects.children() if objects else ():
        if one.kind == _EMBEDDED:
            unread += not _add(members, presentation, one)
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
