"""The answers of Tesseract as values, whether they are to be believed, and which languages are written in a script.

The names of scripts are those of `osd.traineddata` of Tesseract 4 and 5; the languages, by the codes of tessdata.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.parse.encoding.legible import share_of_odd_words

_COLUMNS = 12  # of its table of words, which stands before the text
_WORD = "5"  # the level of a row that is a word
_NOTHING = 60.0  # of 100: below, a mean confidence says that nothing was read
_SURE = 80.0  # above, that something was; Hebrew taken for German may have 67, a bad fax 75
_ODD = 0.5  # of its characters, in words that nobody spells so
_ROTATE = re.compile(r"^Rotate: (\d+)$", re.MULTILINE)
_SCRIPT = re.compile(r"^Script: (\w+)$", re.MULTILINE)


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


@dataclass(frozen=True)
class Detected:
    """The script of a picture, as Tesseract calls it, and by how many degrees it must be turned; "" and 0: unknown."""

    script: str
    rotate: int


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
        elif row[0] == _WORD and row[-1].strip():
            letters += len(row[-1].strip())
            total += len(row[-1].strip()) * _number(row[-2])
    return Recognised("\n".join(text).replace("\f", "").strip(), total / letters if letters else 0.0)


def parse_detected(output: str) -> Detected:
    """Read the script and rotation that Tesseract writes with --psm 0: nothing where there are too few letters."""
    script, rotate = _SCRIPT.search(output), _ROTATE.search(output)
    return Detected(script[1] if script else "", int(rotate[1]) % 360 if rotate else 0)


def _number(text: str) -> float:
    try:
        return min(100.0, max(0.0, float(text)))
    except ValueError:
        return 0.0


_CYRILLIC = "rus ukr bul bel srp mkd kaz kir tat tgk uzb_cyrl aze_cyrl mon"
_LANGUAGES = {
    "Arabic": "ara fas urd kur_ara pus snd uig syr",
    "Armenian": "hye",
    "Bengali": "ben asm",
    "Canadian_Aboriginal": "iku",
    "Cherokee": "chr",
    "Cyrillic": _CYRILLIC,
    "Devanagari": "hin mar nep san",
    "Ethiopic": "amh tir",
    "Georgian": "kat kat_old",
    "Greek": "ell grc",
    "Gujarati": "guj",
    "Gurmukhi": "pan",
    "Han": "chi_sim chi_tra jpn",
    "Hangul": "kor",
    "Hebrew": "heb yid",
    "Hiragana": "jpn",
    "Japanese": "jpn",
    "Kannada": "kan",
    "Katakana": "jpn",
    "Khmer": "khm",
    "Korean": "kor",
    "Lao": "lao",
    "Malayalam": "mal",
    "Myanmar": "mya",
    "Oriya": "ori",
    "Sinhala": "sin",
    "Syriac": "syr",
    "Tamil": "tam",
    "Telugu": "tel",
    "Thaana": "div",
    "Thai": "tha",
    "Tibetan": "bod dzo",
}
_SHOWN = 3  # languages that are named


def lacking(script: str, languages: Iterable[str]) -> str:
    """The languages to install to read a script, where none of `languages` writes it; "" where one does, or may."""
    needed = _LANGUAGES.get(script, "").split()
    here = set(languages)
    if not needed or not here.isdisjoint([*needed, *(f"{name}_vert" for name in needed), f"script/{script}"]):
        return ""
    shown = " or ".join(needed[:_SHOWN])
    return f"{shown}, say" if len(needed) > _SHOWN else shown
