"""Words that a PDF divides at the end of a line: pdfium puts U+FFFE in place of the hyphen and the line end.

That does not say whether the hyphen belongs to the word ("non-confidential") or only to the line ("infor-mation"), so
the document itself is asked. The hyphen goes where the document has the word in one piece elsewhere, or where it does
not have both halves as words.
"""

import re

MARK = "\ufffe"
_DIVIDED = re.compile(rf"(?<!\w)(\w+){MARK}(\w+)")
_WORD = re.compile(r"\w+")


def join_words(texts: list[str]) -> list[str]:
    """The pages' texts without marks."""
    if not any(MARK in text for text in texts):
        return texts
    known = {word.casefold() for text in texts for word in _WORD.findall(_DIVIDED.sub(" ", text))}

    def join(match: re.Match[str]) -> str:
        left, right = match[1].casefold(), match[2].casefold()
        halves_of_a_word = match[2].islower() and match[1].isalpha() and not known.issuperset({left, right})
        return f"{match[1]}{'' if left + right in known or halves_of_a_word else '-'}{match[2]}"

    return [_DIVIDED.sub(join, text).replace(MARK, "-") for text in texts]
