"""Hyphens of a PDF: those that it calls soft ones and draws, and those that divide a word at the end of a line.

For the latter pdfium puts U+FFFE in place of the hyphen and the line end, which does not say whether the hyphen belongs
to the word ("non-confidential") or only to the line ("infor-mation"), so the document itself is asked. The hyphen goes
where the document has the word in one piece elsewhere, or where it does not have both halves as words.
"""

import re
from collections.abc import Container

MARK = "\ufffe"
SOFT = "\xad"
_SOFT_AT_END = re.compile(rf"(?<=\w){SOFT} ?\r?\n(?=\w)")
_DIVIDED = re.compile(rf"\b(\w+){MARK}(\w+)")
_WORD = re.compile(r"\w+")
_FEW = 100  # divided words that are looked for one by one, rather than to list all words


def with_hyphens(text: str, drawn: Container[int]) -> str:
    """The text with a hyphen for each soft one that is `drawn`: fonts may say so of the only hyphen that they have.

    One at the end of a line stays where a letter begins the next: it is for `join_words`. The text keeps its length.
    """
    divides = {match.start() for match in _SOFT_AT_END.finditer(text)}
    return "".join(
        "-" if one == SOFT and place not in divides and place in drawn else one for place, one in enumerate(text)
    )


def join_words(texts: list[str]) -> list[str]:
    """The pages' texts without marks."""
    texts = [_SOFT_AT_END.sub(MARK, text) if SOFT in text else text for text in texts]
    if not any(MARK in text for text in texts):
        return texts
    known = _known(texts)

    def join(match: re.Match[str]) -> str:
        left, right = match[1].casefold(), match[2].casefold()
        halves_of_a_word = match[2].islower() and match[1].isalpha() and not known.issuperset({left, right})
        return f"{match[1]}{'' if left + right in known or halves_of_a_word else '-'}{match[2]}"

    return [_DIVIDED.sub(join, text).replace(MARK, "-") if MARK in text else text for text in texts]


def _known(texts: list[str]) -> set[str]:
    """The words of the text that may be asked for: halves of divided words and what both make; all, if many."""
    pairs = {
        (one[1].casefold(), one[2].casefold()) for text in texts if MARK in text for one in _DIVIDED.finditer(text)
    }
    whole = " ".join(_DIVIDED.sub(" ", text) if MARK in text else text for text in texts).casefold()
    if len(pairs) > _FEW:
        return set(_WORD.findall(whole))
    found = set[str]()
    for word in {word for left, right in pairs for word in (left, right, left + right)}:
        place = whole.find(word)  # a pattern for each word would cost more
        while place >= 0 and _WORD.search(whole[place - 1 : place] + whole[place + len(word) : place + len(word) + 1]):
            place = whole.find(word, place + 1)
        found |= {word} if place >= 0 else set()
    return found
