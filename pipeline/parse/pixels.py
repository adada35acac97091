"""Picture files as grey pixels for text recognition: PNG, JPEG, TIFF, WebP, GIF, BMP, PNM, through Pillow.

Pillow comes with `cloister[ocr]`. It is loaded with all its readers before the child is locked, and it decodes here,
where a broken picture can do no harm; recognition gets plain grey pixels.
"""

import io
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pipeline.errors import DocumentError, Failure

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

HERE = find_spec("PIL") is not None
NAME = ""
_MOST_PIXELS = 100_000_000  # of one page; A3 at 600 dpi has 70 million
_MOST_PAGES = 500
_READERS = ("PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP", "PPM")

if HERE:
    from PIL import Image, ImageOps, ImageSequence

    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS
    Image.preinit()
    Image.init()
    NAME = f"Pillow {version('pillow')}"


def pages(data: bytes, *, all_frames: bool) -> Iterator[bytes]:
    """Each page of a picture file, or only the first, as a PGM file. Raises DocumentError."""
    try:
        with Image.open(io.BytesIO(data), formats=_READERS) as picture:
            frames = ImageSequence.Iterator(picture) if all_frames else iter([picture])
            for number, frame in enumerate(frames):
                if number == _MOST_PAGES:
                    raise DocumentError(Failure.TOO_LARGE, f"a picture of more than {_MOST_PAGES} pages")
                yield _grey(frame)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise DocumentError(Failure.TOO_LARGE, f"a picture of more than {_MOST_PIXELS:,} pixels") from error
    except (OSError, ValueError, SyntaxError, EOFError, TypeError, IndexError, KeyError, ArithmeticError) as error:
        raise DocumentError(Failure.CORRUPT, f"not a readable picture: {error}") from error


def _grey(frame: "Picture") -> bytes:
    """A PGM file: upright as its EXIF says, on white where it is transparent."""
    upright = ImageOps.exif_transpose(frame)
    if "A" in upright.getbands() or "transparency" in upright.info:
        upright = upright.convert("RGBA")
        white = Image.new("RGBA", upright.size, "white")
        upright = Image.alpha_composite(white, upright)
    grey = upright.convert("L")
    return b"P5 %d %d 255\n" % grey.size + grey.tobytes()
