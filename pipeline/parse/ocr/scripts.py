"""Scripts as Tesseract names them when it detects one, and the languages of its data that are written in each.

The names are those of `osd.traineddata` of Tesseract 4 and 5; the languages, by the codes of tessdata.
"""

from collections.abc import Iterable

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
