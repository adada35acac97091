"""Files embedded in Office documents: each that a reader can open is a document of its own."""

import posixpath

from pipeline.errors import DocumentError, Failure
from pipeline.parse.formats.base import Source
from pipeline.parse.members import Members
from pipeline.parse.office.package import Package
from pipeline.parse.writer import TextWriter


def add_embedded(members: Members, package: Package) -> list[str]:
    """Unpack what is embedded; notes of what is not read. Raises DocumentError(BOMB).

    The workbook behind a chart is none: what it shows, the chart itself holds.
    """
    behind = _behind_charts(package)
    for part in package.names:
        if "/embeddings/" in part.lower() and not part.endswith("/") and part.lower() not in behind:
            add_part(members, package, part)
    pictures = package.count("media")
    notes = [f"pictures and other media not read: {pictures}"] if pictures else []
    return notes + ([f"workbooks behind charts not read: {len(behind)}"] if behind else [])


def add_part(members: Members, package: Package, part: str) -> None:
    """Unpack one part by the name of its file; where it is damaged or too large, that is its own failure."""
    name = posixpath.basename(part)
    try:
        members.add(name, package.chunks(part))
    except DocumentError as error:
        if error.failure is Failure.BOMB:
            raise
        members.refuse(name, 0, error.failure, error.reason)


def refuse_pictures_alone(source: Source, writer: TextWriter, package: Package, what: str) -> None:
    """Raises DocumentError(NEEDS_OCR) where there is nothing but pictures."""
    if not writer.length and package.count("media") and not source.members.finish()[0]:
        raise DocumentError(Failure.NEEDS_OCR, f"{what} pictures and no text")


def _behind_charts(package: Package) -> set[str]:
    charts = [part for part in package.names if "/charts/" in part.lower() and part.lower().endswith(".xml")]
    return {target.lower() for chart in charts for target in package.related(chart, "package")}
