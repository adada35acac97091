"""Text that a document holds and no person sees: counted by the way it is hidden, kept or dropped by the job's rule.

What the model reads should be what a person would read; and who reads the result should know that there was more.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from pipeline.document import Hidden

KINDS = {
    "invisible": "text drawn in no colour at all",
    "off_page": "text beyond the edges of its page",
    "same_colour": "text in the colour of what is behind it",
    "tiny": "text too small to be read",
    "covered": "text under a picture, an area of colour or a merged cell",
    "clipped": "text outside of the border within which it is drawn",
    "marked_hidden": "text that the document itself marks as hidden",
    "replaced": "text that is to be read in place of other text that is drawn",
    "hidden_sheet": "a hidden sheet",
    "hidden_row": "hidden rows or columns",
    "hidden_slide": "a hidden slide",
    "zero_width": "characters without width",
    "bidi_control": "characters that turn the direction of text",
    "tag": "characters that mirror letters without being shown",
}
_SUSPECT = re.compile(
    "[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\uffa0\U000e0000-\U000e0fff]+"
)
_USUAL = bytes([*range(0x20, 0x7F), *b"\n\t"])
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKS = frozenset("\u061c\u200e\u200f")
_JOINERS = frozenset("\u200c\u200d")
_BREAK = "\u200b"  # where Thai, Lao, Khmer and Burmese, which have no spaces, may break a line
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_UNSPACED = ("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "JAVANESE", "BALINESE")
_JOINING = {"So", "Sk", "Mn", "Mc", "Me", "Cf"}  # emoji and what modifies them; signs of Indic scripts


class HiddenText:
    """The counts of one document. `drop`: what is hidden is left out of the text."""

    def __init__(self, drop: bool) -> None:
        self._drop = drop
        self._counts: Counter[str] = Counter()
        self._unsure: dict[str, None] = {}

    def keeps(self, kind: str, text: str) -> bool:
        """Count `text`, hidden in a way of KINDS; whether it belongs into the text all the same."""
        self._counts[kind] += sum(not one.isspace() for one in text)
        return not self._drop

    def doubt(self, why: str) -> None:
        """Say why it cannot be told whether some text is hidden: then a person must look at the document."""
        if self._drop:
            self._unsure[why] = None

    def visible(self, text: str) -> str:
        """The text without characters that nobody sees; those that a script needs are left alone."""
        if text.isascii() or not _SUSPECT.search(unusual(text)):
            return text
        return _SUSPECT.sub(lambda run: self._checked(text, run), text)

    def found(self) -> tuple[Hidden, ...]:
        """What was counted, in the order of KINDS."""
        return tuple(Hidden(kind, self._counts[kind]) for kind in KINDS if self._counts[kind])

    @property
    def unsure(self) -> tuple[str, ...]:
        """All doubts, each once; none where hidden text is kept anyway."""
        return tuple(self._unsure)

    def _checked(self, text: str, run: re.Match[str]) -> str:
        before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
        kept = []
        for one in run.group():
            needed = _needed(one, before, after)
            if needed or self.keeps(_kind(one), one):
                kept.append(one)
        return "".join(kept)


@lru_cache(maxsize=1)  # the same text is asked for twice
def unusual(text: str) -> str:
    """Those of its characters that are no printable ASCII, line ends or tabs: few, and found in few passes."""
    return text.encode("utf-8", "surrogatepass").translate(None, _USUAL).decode("utf-8", "surrogatepass")


def _kind(one: str) -> str:
    if one in _DIRECTIONS:
        return "bidi_control"
    return "tag" if "\U000e0000" <= one <= "\U000e007f" else "zero_width"


def _needed(one: str, before: str, after: str) -> bool:
    """Whether such a character stands where those who write the script put it."""
    around = [each for each in (before, after) if each]
    if one in _MARKS:
        return any(unicodedata.bidirectional(each) in _RIGHT_TO_LEFT for each in around)
    if one in _JOINERS:
        return any(_joins(each) for each in around)
    if one == _BREAK:
        return any(unicodedata.name(each, "").startswith(_UNSPACED) for each in around)
    if one >= "\U000e0100":  # a variation of the ideograph before it
        return bool(before) and unicodedata.name(before, "").startswith("CJK")
    return "\U000e0020" <= one <= "\U000e007f" and before == "\U0001f3f4"  # the flag of a region


def _joins(one: str) -> bool:
    """Of a script whose letters join (Arabic, Syriac, Indic), or part of an emoji."""
    if unicodedata.bidirectional(one) == "AL" or unicodedata.category(one) in _JOINING:
        return True
    return "\u0900" <= one <= "\u0dff" or "\u1000" <= one <= "\u109f" or "\u1780" <= one <= "\u18af"
