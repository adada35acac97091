"""Pictures of text in an Office document: decoded for recognition, and their text where the document shows them."""

from collections.abc import Callable

from pipeline.errors import DocumentError, Failure
from pipeline.parse.pictures import pixels
from pipeline.parse.pictures.given import Pictures


class Shown:
    """The pictures of one document that its text shows, each by the name of its file, in the order of the text."""

    def __init__(self, pictures: Pictures) -> None:
        self.pictures = pictures
        self._met = set[str]()

    def text(self, file: str, read: Callable[[], bytes]) -> str:
        """The text recognised on the picture that `read` gives, when `file` is shown for the first time; else ""."""
        if file in self._met:
            return ""
        self._met.add(file)
        return self.pictures.beside(f"picture {len(self._met)}", lambda: _decoded(read))

    @property
    def read(self) -> int:
        """The number of pictures that text recognition looked at."""
        return len(self.pictures.recognised) + len(self.pictures.wordless)

    def notes(self, held: int) -> list[str]:
        """Notes for the row on the pictures of a document that has `held` files of pictures and media."""
        counts = {
            "pictures and other media not read": held - self.read,
            "text recognised on pictures": len(self.pictures.recognised),
            "pictures without words": len(self.pictures.wordless),
        }
        return [f"{what}: {count}" for what, count in counts.items() if count > 0]


def _decoded(read: Callable[[], bytes]) -> bytes | None:
    """A picture as a PGM file; None where it is too small for words, or none that can be decoded."""
    try:
        return pixels.enlarged(read()) if pixels.HERE else None
    except DocumentError as error:
        if error.failure is Failure.BOMB:
            raise
        return None
