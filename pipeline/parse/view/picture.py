"""Pages of picture files, through Pillow: how large they are, and how they look. Nothing is marked on them."""

from collections.abc import Sequence

from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source
from pipeline.parse.pictures import pixels as files
from pipeline.parse.view.seen import MOST_PAGES, Pages, PageText, Pixels, fitting

_TIFF = "image/tiff"


def pages(source: Source, texts: Sequence[PageText]) -> Pages:
    """The sizes of all pages. DocumentError."""
    sizes = _sizes(source)[:MOST_PAGES]
    return Pages(tuple((float(across), float(down)) for across, down in sizes), ())


def pixels(source: Source, number: int, width: int) -> Pixels:
    """The page `number`, from 1, `width` pixels across. DocumentError."""
    sizes = _sizes(source)
    if number > len(sizes):
        raise DocumentError(Failure.CORRUPT, f"it has no page {number}")
    across, down = fitting(*sizes[number - 1], width)
    return Pixels(across, down, files.coloured(source.data, number, across, down))


def _sizes(source: Source) -> list[tuple[int, int]]:
    if not files.HERE:
        raise DocumentError(Failure.UNSUPPORTED, "pictures are drawn by Pillow, which is not installed: cloister[ocr]")
    return files.sizes(source.data, all_frames=source.options.media_type == _TIFF)
