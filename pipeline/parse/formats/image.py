"""Pictures of text, for text recognition: the formats of pictures/pixels.py. Pages are those of a TIFF file."""

from functools import partial

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.pictures import pixels

PARSER = f"image/3 {pixels.NAME}".strip()


def parse(source: Source, media_type: str) -> Parsed:
    """The pages' pictures, or the text that was read on them; raises DocumentError."""
    if source.pictures.is_known(_name(1)):
        return _recognised(source, media_type)
    if not source.options.images:
        raise DocumentError(Failure.NEEDS_OCR, f"a picture ({media_type})")
    if not pixels.HERE:
        raise DocumentError(Failure.NEEDS_OCR, f"a picture ({media_type}), and Pillow is not installed: cloister[ocr]")
    for number, page in enumerate(pixels.pages(source.data, all_frames=media_type == "image/tiff"), start=1):
        source.pictures.page(_name(number), partial(bytes, page))
    if source.pictures.left:
        raise DocumentError(
            Failure.TOO_LARGE, f"{len(source.pictures.left)} of its pages have more pixels than allowed"
        )
    return finish(source, source.writer(), media_type, PARSER)


def _recognised(source: Source, media_type: str) -> Parsed:
    """The document of the text that was recognised on the pages that the first parse gave away."""
    writer, number = source.writer(), 1
    while source.pictures.is_known(_name(number)):
        writer.page()
        writer.line(source.pictures.page(_name(number), bytes) or "")
        number += 1
    return finish(source, writer, media_type, PARSER)


def _name(number: int) -> str:
    return f"page {number}"
