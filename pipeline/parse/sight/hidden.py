"""Text that a document holds and no person sees: counted by the way it is hidden, kept or dropped by the job's rule.

What the model reads should be what a person would read; and who reads the result should know that there was more.
"""

import re
from collections import Counter

from pipeline.document import Hidden, Unseen
from pipeline.parse.sight.characters import BLANK, SUSPECT, is_right_to_left, kind_of, look_alikes, needed, unusual

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
    "zero_width": "characters that are drawn as nothing",
    "bidi_control": "characters that turn the direction of text",
    "tag": "characters that mirror letters without being shown",
}

_DOUBT = "it may hold what no person sees, which could not be told: {}"
_LEFT_TO_RIGHT = re.compile("[0-9A-Za-z\u00c0-\u024f\u0370-\u052f]")
_TURNED = re.compile("\u202e([^\u202a-\u202e\n]*(?=\u202c)|[^\n]*)")
"""What U+202E turns: to its end, to that of the line where other such characters are within."""
_QUOTED = 60  # characters of a text that a reason names
_DOUBTFUL = "it could not be told whether a person sees {:,} characters, from “{}” on; what touches them: {}"
_PLACE = 40  # characters of the first doubtful text that are told
_TOLD = 2_000  # pieces that are told
_TOLD_CHARACTERS = 200_000  # of all of them


def quoted(text: str) -> str:
    """A text as a reason names it: its beginning."""
    return text if len(text) <= _QUOTED else text[: _QUOTED - 1] + "…"


class HiddenText:
    """The counts of one document. `drop`: what is hidden is left out of the text. `tell`: the first pieces are kept."""

    def __init__(self, drop: bool, *, tell: bool = False) -> None:
        self.drops = drop
        self._room = _TOLD_CHARACTERS if tell else 0
        self._told: list[Unseen] = []
        self._counts: Counter[str] = Counter()
        self._unsure: dict[str, None] = {}
        self._doubtful: Counter[str] = Counter()
        self._first_doubtful = ""
        self._mixed: Counter[str] = Counter()
        self.struck = 0  # characters with a line through them
        self.folded = 0  # characters that only a click shows
        self.unknown = 0  # signs of symbol fonts that are in no table

    def keeps(self, kind: str, text: str) -> bool:
        """Count `text`, hidden in a way of KINDS; whether it belongs into the text all the same."""
        self._counts[kind] += sum(not one.isspace() for one in text)
        if self._room > 0 and len(self._told) < _TOLD and text.strip():
            self._told.append(Unseen(kind, text[: self._room]))
            self._room -= len(text)
        return not self.drops

    def doubt(self, why: str) -> None:
        """Say why it cannot be told whether some text is hidden: then a person must look at the document."""
        if self.drops:
            self.review(_DOUBT.format(why))

    def review(self, why: str) -> None:
        """Say why a person must look at the document, whatever the job's rule for hidden text: what is read may not be
        what is shown."""
        self._unsure[why] = None

    def turned(self, text: str) -> None:
        """Send the document to a person if text whose direction is forced from right to left is drawn otherwise."""
        if len(_LEFT_TO_RIGHT.findall(text)) > 1:
            self.review(f'letters are drawn in the opposite order: "{quoted(" ".join(SUSPECT.sub("", text).split()))}"')

    def doubtful(self, what: str, text: str) -> None:
        """Count text that is shown as far as is known, but touched by `what`, whose effect on it is not computed."""
        if characters := sum(not one.isspace() for one in text):
            self._doubtful[what] += characters
            self._first_doubtful = self._first_doubtful or " ".join(text.split())[:_PLACE]

    def visible(self, text: str) -> str:
        """The text without characters that nobody sees; those that a script needs are left alone."""
        if text.isascii():
            return text
        if SUSPECT.search(unusual(text)):
            for turned in _TURNED.findall(text):
                self.turned(turned)
            text = "\n".join(map(self._checked_line, text.split("\n")))
        for word in look_alikes(text):
            self._mixed[word] += 1
        return text

    def notes(self) -> list[str]:
        """Notes for the row: how many characters are struck out or in closed details, how many signs unknown; how many
        words have letters of another script that look alike, and the first three."""
        notes = [f"struck-out text, marked ~~ ~~: {self.struck:,} characters"] if self.struck else []
        if self.folded:
            notes.append(f"text in closed details, which a click shows: {self.folded:,} characters")
        if self.unknown:
            notes.append(f"signs of symbol fonts that are in no table, written as U+FFFD: {self.unknown:,}")
        words = ", ".join(list(self._mixed)[:3])
        if count := self._mixed.total():
            notes.append(f"words with letters of another script that look alike: {count} ({words})")
        return notes

    def found(self) -> tuple[Hidden, ...]:
        """The counts of hidden text that are not zero, in the order of KINDS."""
        return tuple(Hidden(kind, self._counts[kind]) for kind in KINDS if self._counts[kind])

    def told(self) -> tuple[Unseen, ...]:
        """The hidden pieces, as far as they are to be told."""
        return tuple(self._told)

    @property
    def unsure(self) -> tuple[str, ...]:
        """Why a person must look at the document, each reason once; where hidden text is kept, no doubts about it."""
        if not self._doubtful or not self.drops:
            return tuple(self._unsure)
        kinds = ", ".join(what for what, _ in self._doubtful.most_common(3))
        return (*self._unsure, _DOUBTFUL.format(self._doubtful.total(), self._first_doubtful, kinds))

    def _checked_line(self, line: str) -> str:
        if not SUSPECT.search(line):
            return line
        right_to_left = is_right_to_left(line)
        return SUSPECT.sub(lambda run: self._checked(line, run, right_to_left), line)

    def _checked(self, line: str, run: re.Match[str], right_to_left: bool) -> str:
        before, after = line[max(0, run.start() - 1) : run.start()], line[run.end() : run.end() + 1]
        kept = []
        for place, one in enumerate(run.group()):
            if needed(run.group(), place, before, after, right_to_left) or self.keeps(kind_of(one), one):
                kept.append(one)
            elif one == BLANK and kept[-1:] != [" "]:
                kept.append(" ")  # it is as wide as a space
        return "".join(kept)
