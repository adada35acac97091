"""The answers of Tesseract as values, whether they are to be believed, and which languages are written in a script.

The names of scripts are those of `osd.traineddata` of Tesseract 4 and 5; the languages, by the codes of tessdata.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.parse.encoding.legible import share_of_odd_words

_COLUMNS = 12  # of its table of words, which stands before the text
_WORD = "5"  # the level of a row that is a word
_NOTHING = 60.0  # of 100: below, a mean confidence says that nothing was read
_SURE = 80.0  # above, that something was; Hebrew taken for German may have 67, a bad fax 75
_ODD = 0.5  # of its characters, in words that nobody spells so
_ROTATE = re.compile(r"^Rotate: (\d+)$", re.MULTILINE)
_SCRIPT = re.compile(r"^Script: (\w+)$", re.MULTILINE)
_LANGUAGES: Mapping[str, str] = json.loads(Path(__file__).with_name("languages.json").read_text())  # by script
_SHOWN = 3  # languages that are named


@dataclass(frozen=True)
class Recognised:
    """The text of a picture, and how sure Tesseract is of its letters: the mean of its words', 0 to 100."""

    text: str
    confidence: float

    @property
    def is_sure(self) -> bool:
        """Whether the text is that of the picture without doubt; an empty one is."""
        return not self.text or self.confidence >= _SURE

    @property
    def is_likely(self) -> bool:
        """Whether the text is that of the picture, if nothing speaks against it."""
        return self.is_sure or (self.confidence >= _NOTHING and share_of_odd_words(self.text) <= _ODD)


def parse_recognised(output: str) -> Recognised:
    """Read what Tesseract writes with tessedit_create_tsv and tessedit_create_txt: a table of words, then the text.

    No line of a text has a tab.
    """
    letters = total = 0.0
    text: list[str] = []
    for line in output.split("\n"):
        row = line.split("\t")
        if len(row) != _COLUMNS:
            text.append(line)
        elif row[0] == _WORD and (word := row[-1].strip()):
            letters += len(word)
            with contextlib.suppress(ValueError):
                total += len(word) * min(100.0, max(0.0, float(row[-2])))
    return Recognised("\n".join(text).replace("\f", "").strip(), total / letters if letters else 0.0)


def parse_detected(output: str) -> tuple[str, int]:
    """Read the script, as Tesseract calls it, and by how many degrees the picture must be turned, as it writes them
    with --psm 0; "" and 0 where there are too few letters."""
    script, rotate = _SCRIPT.search(output), _ROTATE.search(output)
    return script[1] if script else "", int(rotate[1]) % 360 if rotate else 0


def lacking(script: str, languages: Iterable[str]) -> str:
    """The languages to install to read a script, where none of `languages` writes it; "" where one does, or may."""
    needed = _LANGUAGES.get(script, "").split()
    here = set(languages)
    if not needed or not here.isdisjoint([*needed, *(f"{name}_vert" for name in needed), f"script/{script}"]):
        return ""
    shown = " or ".join(needed[:_SHOWN])
    return f"{shown}, say" if len(needed) > _SHOWN else shown
