"""Files embedded in Office documents: each that a reader can open is a document of its own."""

import posixpath

from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source
from pipeline.parse.members import Members
from pipeline.parse.office.binary.objects import file_of
from pipeline.parse.office.binary.ole import CompoundFile
from pipeline.parse.office.package import Package
from pipeline.parse.writer import TextWriter

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WHOLE = {"worddocument": ".doc", "workbook": ".xls", "powerpoint document": ".ppt",
          "__properties_version1.0": ".msg", "encryptedpackage": ".bin"}  # fmt: skip


def add_embedded(members: Members, package: Package) -> list[str]:
    """Unpack what is embedded; notes of what is not read. Raises DocumentError(BOMB).

    The workbook behind a chart is none: what it shows, the chart itself holds.
    """
    behind, objects = _behind_charts(package), 0
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
        if data.startswith(_OLE):
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


def _behind_charts(package: Package) -> set[str]:
    charts = [part for part in package.names if "/charts/" in part.lower() and part.lower().endswith(".xml")]
    return {target.lower() for chart in charts for target in package.related(chart, "package")}
