"""The pictures of text in a document: given away in a first parse, and what was recognised on them, in a second.

A parser asks for the text of a picture by a name. In the first parse there is none: the picture goes to text
recognition as grey pixels, where the job has one and the limits allow it. In the second parse its text is there, or the
reason why it could not be read. Formats differ only in where they find a picture and where its text goes.
"""

import hashlib
from collections.abc import Callable

from pipeline.parse.encoding.legible import has_words
from pipeline.parse.members import Members
from pipeline.parse.options import NO_WORDS, Options
from pipeline.parse.pictures.pixels import straightened

_PAGES = 500  # pages of a document that are given away
_BESIDE = 100  # pictures beside text that are given away
_PIXELS_BESIDE = 300_000_000  # of all of these; a page of A4 has 8.7 million
_FEW = 5  # names that are listed

"""How the reason begins for a picture that recognition makes nothing of; beside text it is a logo or a photograph."""


class Pictures:
    """The pictures of one document. Each is known by a name that is the same in both parses, such as "page 3".

    `left` are the names of those that nobody reads, `unread` those that were not recognised, with the reason, and
    `recognised` those whose text was taken up; `wordless` those beside text that show no words.
    """

    def __init__(self, members: Members, options: Options) -> None:
        self.left: list[str] = []
        self.unread: dict[str, str] = {}
        self.recognised: list[str] = []
        self.wordless: list[str] = []
        self._members = members
        self._options = options
        self._pages = self._beside = self._pixels = 0
        self._given: dict[bytes, tuple[int, int]] = {}  # where the pixels of each lie, by their sha256

    @property
    def pending(self) -> bool:
        """Whether some were given away, so that this parse is the first of two."""
        return bool(self._given)

    def page(self, name: str, draw: Callable[[], bytes | None]) -> str | None:
        """The text of a picture that is a whole page; None where nobody has read it, or not yet.

        `draw` makes it a PGM file, or gives None where that is not possible. Raises DocumentError(BOMB).
        """
        if name in self._options.texts:
            self.recognised.append(name)
            return self._options.texts[name]
        self._miss(name, draw, self._pages < _PAGES)
        return None

    def beside(
        self, name: str, draw: Callable[[], bytes | None], *, demand_words: bool = True, whole: bool = False
    ) -> str:
        """The text of a picture that stands beside other text; "" where there is none, or not yet.

        `draw` makes it a PGM file, or gives None where that is not possible. `demand_words`: a text without words
        counts as none, for the picture will be a logo or a photograph. `whole`: it counts as a page, for it fills one.
        Raises DocumentError(BOMB).
        """
        text = self._options.texts.get(name)
        if text is None and not self._options.unread.get(name, "").startswith(NO_WORDS):
            few = self._beside < _BESIDE and self._pixels < _PIXELS_BESIDE
            self._miss(name, draw, self._pages < _PAGES if whole else few, beside=not whole)
            return ""
        if not text or (demand_words and not has_words(text)):
            self.wordless.append(name)
            return ""
        self.recognised.append(name)
        return text

    def is_known(self, name: str) -> bool:
        """Whether this is the second parse, and the first one has given this picture away."""
        return name in self._options.texts or name in self._options.unread

    def reasons(self) -> list[str]:
        """The reasons why pictures were not recognised, each once, with the names of all that it holds for."""
        names: dict[str, list[str]] = {}
        for name, reason in self.unread.items():
            names.setdefault(reason, []).append(name)
        return [f"{_listed(those)} {reason}" for reason, those in names.items()]

    def _miss(self, name: str, draw: Callable[[], bytes | None], allowed: bool, *, beside: bool = False) -> None:
        if name in self._options.unread:
            self.unread[name] = self._options.unread[name]
            return
        pixels = draw() if allowed and self._options.images and self._members.open else None
        digest = hashlib.sha256(pixels or b"").digest()
        if pixels is not None and digest not in self._given:
            pixels = straightened(pixels)
            if len(pixels) <= self._members.room:
                self._given[digest] = self._members.write_picture(pixels)
                self._pages += not beside
                self._beside += beside
                self._pixels += len(pixels) if beside else 0
        if pixels is not None and digest in self._given:
            self._members.picture(name, *self._given[digest])
        else:
            self.left.append(name)


def _listed(names: list[str]) -> str:
    few = ", ".join(names[:_FEW])
    return f"{few} and {len(names) - _FEW} more" if len(names) > _FEW else few
