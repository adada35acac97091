"""Tape archives: each file in them becomes a document of its own, in their order."""

from collections import Counter
from collections.abc import Iterable

from pipeline.document import Parsed
from pipeline.errors import Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.unpack.names import left_behind, left_out, printable
from pipeline.parse.unpack.streams import PIECE, DamagedError
from pipeline.parse.unpack.tape import Entry, Tape

PARSER = "tar/2"
_SILENT = frozenset("5DVN")  # folders, lists of folders, labels of volumes, names for programs long gone
_LINKS = frozenset("12346")


def parse(source: Source, media_type: str) -> Parsed:
    """The files in it; raises DocumentError(CORRUPT) where it is cut or damaged anywhere."""
    view = memoryview(source.data)
    chunks = (bytes(view[at : at + PIECE]) for at in range(0, len(view), PIECE))
    notes = unpack_tape(source, chunks)
    return finish(source, source.writer(), media_type, PARSER, notes=notes)


def unpack_tape(source: Source, chunks: Iterable[bytes]) -> list[str]:
    """The files of an archive whose bytes come as `chunks`, and notes; raises DocumentError."""
    tape, counts = Tape(chunks), Counter[str]()
    try:
        for entry in tape.entries():
            if (left := _left(entry)) is None:
                name = printable(entry.name)
                if entry.sparse:
                    source.members.refuse(
                        name, entry.size, Failure.UNSUPPORTED, "a file with holes (sparse); unpack the archive"
                    )
                elif entry.kind == "M":
                    reason = "it continues from another volume of the archive"
                    source.members.refuse(name, entry.size, Failure.UNSUPPORTED, reason)
                else:
                    source.members.add(name, tape.pieces())
            else:
                counts[left] += left != ""
    except DamagedError as error:
        raise error.of("a tape archive (tar)") from error
    notes = left_out(counts)
    if not tape.ended:
        notes.append("it has no mark of its end, so files that came after it may be missing")
    if tape.left:
        notes.append(f"bytes after its end that are no archive, not read: {tape.left:,}")
    return notes


def _left(entry: Entry) -> str | None:
    """The reason why a member is no document, for a note; "" where nobody misses it."""
    if entry.kind in _SILENT or (entry.name.endswith("/") and entry.kind in "\00"):
        return ""
    if entry.kind in _LINKS:
        return "links and devices in it, not followed"
    return left_behind(entry.name)
