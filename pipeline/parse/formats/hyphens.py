"""Words that a PDF divides at the end of a line: pdfium puts U+FFFE in place of the hyphen and the line end.

That does not say whether the hyphen belongs to the word ("non-confidential") or only to the line ("infor-mation"), so
the document itself is asked: where it writes the word in one piece elsewhere, the hyphen goes; else it stays.
"""

import re
from collections.abc import Iterable

MARK = "\ufffe"
_DIVIDED = re.compile(rf"(\w+){MARK}(\w+)")
_WORD = re.compile(r"\w+")


def join_words(texts: list[str]) -> list[str]:
    """The pages' texts without marks."""
    if not any(MARK in text for text in texts):
        return texts
    whole = _words(texts)

    def join(match: re.Match[str]) -> str:
        word = match[1] + match[2]
        return word if word.casefold() in whole else f"{match[1]}-{match[2]}"

    return [_DIVIDED.sub(join, text).replace(MARK, "-") for text in texts]


def _words(texts: Iterable[str]) -> set[str]:
    return {word.casefold() for text in texts for word in _WORD.findall(text)}
