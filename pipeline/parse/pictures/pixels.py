"""Picture files as grey pixels for text recognition: PNG, JPEG, JPEG 2000, TIFF, WebP, AVIF, GIF, BMP, PNM, TGA.

They are decoded by Pillow, which comes with `cloister[ocr]`. It is loaded with all its readers before the child is
locked, and it decodes here, where a broken picture can do no harm; recognition gets plain grey pixels.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from pipeline.errors import DocumentError, Failure

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

HERE = find_spec("PIL") is not None
NAME = ""
_MOST_PIXELS = 100_000_000  # of one page; A3 at 600 dpi has 70 million
_MOST_PAGES = 500
_SMALLEST = 16, 48  # pixels of the lower and of the longer side of a picture on which a word may stand
_LARGE_ENOUGH = 2000  # pixels across of a picture whose letters will be large enough as they are
_MOST_TIMES = 3
_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP", "PPM", "JPEG2000", "AVIF", "TGA")
_MOST_ASKEW, _STEP, _FINE = 12.0, 1.0, 0.25  # degrees by which a page may lie askew
_LEAST = 0.75  # degrees that Tesseract reads as well
_ACROSS = 400  # pixels of the copy by which the angle is found
_CLEARLY = 1.15  # times as unlike as in the picture as it is
_BROKEN = (OSError, RuntimeError, ValueError, SyntaxError, EOFError, TypeError, IndexError, KeyError, ArithmeticError)
_ORIENTATION, _ON_THEIR_SIDE = 0x0112, {5, 6, 7, 8}  # EXIF's tag, and those of its values that turn a picture

if HERE:
    from PIL import AvifImagePlugin, Image, ImageOps, ImageSequence

    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1  # the child may begin none
    Image.preinit()
    Image.init()
    NAME = f"Pillow {version('pillow')}"


def enlarged(data: bytes) -> bytes | None:
    """A picture as a PGM file, small ones larger, as letters of a screen must be; None where it has no room for words.

    Raises DocumentError.
    """
    with _opened(data) as picture:
        if min(picture.size) < _SMALLEST[0] or max(picture.size) < _SMALLEST[1]:
            return None
        grey = _grey(picture)
        times = min(_MOST_TIMES, -(-_LARGE_ENOUGH // grey.width))
        size = (grey.width * times, grey.height * times)
        return _pgm(grey.resize(size, Image.Resampling.BICUBIC) if times > 1 else grey)


def pages(data: bytes, *, all_frames: bool) -> Iterator[bytes]:
    """Each page of a picture file, or only the first, as a PGM file. Raises DocumentError."""
    with _opened(data) as picture:
        frames = ImageSequence.Iterator(picture) if all_frames else [picture]
        for number, frame in enumerate(frames):
            if number == _MOST_PAGES:
                raise DocumentError(Failure.TOO_LARGE, f"a picture of more than {_MOST_PAGES} pages")
            yield _pgm(_grey(frame))


def sizes(data: bytes, *, all_frames: bool) -> list[tuple[int, int]]:
    """The pixels across and down of each page, or only of the first, upright as its EXIF says. Raises DocumentError."""
    with _opened(data) as picture:
        found = list[tuple[int, int]]()
        for frame in islice(ImageSequence.Iterator(picture) if all_frames else [picture], _MOST_PAGES):
            is_turned = frame.getexif().get(_ORIENTATION) in _ON_THEIR_SIDE
            found.append((frame.height, frame.width) if is_turned else frame.size)
        return found


def coloured(data: bytes, number: int, width: int, height: int) -> bytes:
    """The page `number`, from 1, in this many pixels across and down: red, green and blue of each. Raises
    DocumentError."""
    with _opened(data) as picture:
        picture.seek(number - 1)
        picture.draft("RGB", (width, height))  # a photograph is decoded no larger than it will be
        upright = _on_white(ImageOps.exif_transpose(picture))
        return upright.convert("RGB").resize((width, height), Image.Resampling.BILINEAR, reducing_gap=2.0).tobytes()


@contextmanager
def _opened(data: bytes) -> "Iterator[Picture]":
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
            yield picture
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise DocumentError(Failure.TOO_LARGE, f"a picture of more than {_MOST_PIXELS:,} pixels") from error
    except _BROKEN as error:
        raise DocumentError(Failure.CORRUPT, f"not a readable picture: {error}") from error


def _grey(frame: "Picture") -> "Picture":
    """The picture in grey, upright as its EXIF says, on white where it is transparent."""
    return _on_white(ImageOps.exif_transpose(frame)).convert("L")


def _on_white(picture: "Picture") -> "Picture":
    if "A" not in picture.getbands() and "transparency" not in picture.info:
        return picture
    picture = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)


def _pgm(grey: "Picture") -> bytes:
    return b"P5 %d %d 255\n" % grey.size + grey.tobytes()


def straightened(pgm: bytes) -> bytes:
    """A picture of text, a PGM file, turned by the angle at which its lines lie level; as it is if that is hardly one.

    Of a small copy, turned by each angle in question, that one is level in which rows of pixels are most unlike their
    neighbours: dark where lines are, light between them (Postl, 1986).
    """
    if not HERE or len(pgm) > _MOST_PIXELS:
        return pgm
    with Image.open(io.BytesIO(pgm), formats=("PPM",)) as picture:
        picture.load()
    small = picture.reduce(max(1, picture.width // _ACROSS))
    contrast = partial(_contrast, small, _ground(small))
    coarse = max(_around(0.0, _STEP, _MOST_ASKEW), key=contrast)
    angle = max(_around(coarse, _FINE, _STEP), key=contrast)
    if contrast(angle) <= _CLEARLY * contrast(0.0) or abs(angle) < _LEAST:
        return pgm
    return _pgm(picture.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=_ground(picture)))


def _around(middle: float, step: float, reach: float) -> list[float]:
    count = round(reach / step)
    return [middle + step * number for number in range(-count, count + 1)]


def _contrast(picture: "Picture", ground: int, angle: float) -> float:
    """How unlike each row is to the next one, of a picture turned by an angle."""
    turned = picture.rotate(angle, Image.Resampling.BILINEAR, fillcolor=ground) if angle else picture
    rows = turned.convert("F").resize((1, turned.height), Image.Resampling.BOX)
    levels = memoryview(rows.tobytes()).cast("f")
    return sum((one - other) ** 2 for one, other in pairwise(levels))


def _ground(picture: "Picture") -> int:
    counts = picture.histogram()
    return counts.index(max(counts))
