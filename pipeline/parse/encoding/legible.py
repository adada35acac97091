# ruff: noqa: RUF001 (typographic signs and letters of other alphabets are what this is about)
"""Whether a text reads like words: of a picture without any, and of a font whose letters are not known, it does not.

Nothing is known of languages here but how words are spelled: a run of letters of one case, with vowels, without long
runs of consonants. What holds no Latin letters is not judged by that.
"""

import math
import re
from collections import Counter

_VOWELS = "aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýÿœāēīōūăĕğıőűąęįų"
_TOKEN = re.compile(r"\S+")
_AROUND = "\"'“”„‚‘’«»‹›()[]{}<>.,:;!?…*•·–—-_/|"
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_WORD = re.compile(r"[^\W\d_]+(?:['’./&+-][^\W\d_]+)*")
_NUMBER = re.compile(r"[^\W\d_]{0,4}[$€£%#§]?\d[\d.,:/%°'’+-]*[^\W\d_]{0,3}")
_LETTERS = re.compile(r"[^\W\d_]+")
_CONSONANTS = re.compile(f"[^\\W\\d_{_VOWELS}]{{6,}}")
_LONGEST = 35  # letters in a row; a German compound may have as many
_SHORT = 3  # letters of an abbreviation, which needs no vowel
_ADDRESS = re.compile(r"[\w@/\\=.:%&?#~+-]+")
_OF_ADDRESSES = frozenset("@/\\=_.")
_ENOUGH = 150  # Latin letters by which a text can be told from one whose letters are others
_ALIKE = 0.7  # cosine of how often a text has each letter and how often European languages have it
_FREQUENCY = dict(
    zip("eniratsoldcumphgbfkvzwyjxq", (14.5, 7.9, 7.6, 7.2, 7.1, 6.6, 6.4, 6.0, 4.5, 4.0, 3.2, 3.4, 2.7, 2.4, 2.0, 2.0,
        1.5, 1.4, 1.5, 1.4, 1.3, 1.4, 0.9, 0.6, 0.2, 0.3), strict=True)
)  # fmt: skip
_LENGTH = math.sqrt(sum(share * share for share in _FREQUENCY.values()))
_LEAST = 3  # characters of a word that speaks for a picture being one of text
_WORDS = 2
_ASIAN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\u0e00-\u0e7f]")
_ASIAN_WORDS = 4  # characters, where words are not set apart


def share_of_odd_words(text: str) -> float:
    """The share of a text's characters, 0 to 1, that stand in no word, number or address as anybody spells them.

    Marks alone and words with digits in them, such as part numbers, count neither way; 0 where nothing else is.
    """
    odd = plain = 0
    for token in _TOKEN.findall(text):
        core = token.strip(_AROUND)
        if not core or _is_code(core):
            continue
        if _NUMBER.fullmatch(core) or _is_word(core):
            plain += len(token)
        else:
            odd += len(token)
    return odd / (odd + plain) if odd else 0.0


def has_words(text: str) -> bool:
    """Whether there are words or numbers enough in what was recognised on a picture for it to be one of text."""
    cores = [token.strip(_AROUND) for token in _TOKEN.findall(text)]
    words = sum(len(core) >= _LEAST and bool(_NUMBER.fullmatch(core) or _is_word(core)) for core in cores)
    asian = len(_ASIAN.findall(text))
    return asian >= _ASIAN_WORDS or (words >= _WORDS and share_of_odd_words(text) <= 1 / 2)


def has_strange_letters(text: str) -> bool:
    """Whether a long text in Latin letters has each of them as often as no European language has.

    So does one in which each letter stands for another; and so do some tables, so this is a suspicion and no more.
    """
    counts = Counter(one for one in text.lower() if "a" <= one <= "z")
    if counts.total() < _ENOUGH:
        return False
    length = math.sqrt(sum(count * count for count in counts.values()))
    return sum(counts[one] * share for one, share in _FREQUENCY.items()) < _ALIKE * length * _LENGTH


def _is_code(core: str) -> bool:
    """Whether a word is a part number, an address or a path."""
    if core.isalnum() and not core.isalpha():
        return len(core) < _LONGEST
    return (
        bool(_ADDRESS.fullmatch(core))
        and not _OF_ADDRESSES.isdisjoint(core)
        and 2 * sum(map(str.isalpha, core)) > len(core)
    )


def _is_word(core: str) -> bool:
    if not _WORD.fullmatch(core):
        return False
    return all(_is_plain(part) for part in _LETTERS.findall(core))


def _is_plain(letters: str) -> bool:
    """Whether a run of letters may be a word: one of another script than the Latin one may always."""
    if not _LATIN.search(letters):
        return True
    if len(letters) > _LONGEST or not (letters.islower() or letters.isupper() or _is_title(letters)):
        return False
    lower = letters.lower()
    if len(letters) > _SHORT and not any(one in _VOWELS for one in lower):
        return False
    return not _CONSONANTS.search(lower)


def _is_title(letters: str) -> bool:
    """Whether capitals begin a word, or parts of it: "Contract", "McDonald", "GmbH"."""
    return letters[0].isupper() and sum(map(str.isupper, letters)) <= max(2, len(letters) // 3)
