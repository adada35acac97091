"""Signs that are raised, lowered or struck out: a mark keeps them apart from the number beside them.

A parser wraps such a run with `raised`, `lowered` or `struck`; the writer then puts the marks, for all formats alike:
`10^9`, `1,240^1`, `5_2`, `~~900~~`. So a footnote never becomes a digit of an amount.
"""

import re

_RAISED, _LOWERED, _STRUCK = ("\ufdd0", "\ufdd1"), ("\ufdd2", "\ufdd3"), ("\ufdd4", "\ufdd5")  # no characters at all
_MARKED = re.compile("[\ufdd0-\ufdd5]")
_SAME_RUN = re.compile("\ufdd1\ufdd0|\ufdd3\ufdd2|\ufdd5(\\s*)\ufdd4")
_STRUCK_RUN = re.compile("\ufdd4([^\ufdd4\ufdd5]*)\ufdd5")
_LINE = re.compile(r"(\s*)(.*\S)")
_RUN = re.compile("([\ufdd0\ufdd2])(\\s*)([^\ufdd0-\ufdd3]*?)(\\s*)[\ufdd1\ufdd3]")
_DIGIT = re.compile(r"\d")
_JOINS = re.compile(r"[\s(\[{/\u2044|~^_]|\Z")  # after these a sign touches no number


def raised(text: str) -> str:
    """A run that stands above the line, such as the number of a footnote."""
    return _wrapped(text, _RAISED)


def lowered(text: str) -> str:
    """A run that stands below the line, such as an index."""
    return _wrapped(text, _LOWERED)


def struck(text: str) -> str:
    """A run with a line through it: it holds no more, and is marked so."""
    return _wrapped(text, _STRUCK)


def lifted(text: str, height: int, is_struck: bool = False) -> str:
    """A run above the line where `height` is above 0, below it where that is below 0; with a line through it or not."""
    text = raised(text) if height > 0 else lowered(text) if height < 0 else text
    return struck(text) if is_struck else text


def _wrapped(text: str, kind: tuple[str, str]) -> str:
    body = text.strip()
    if not body:
        return text
    start = text.index(body)
    return f"{text[:start]}{kind[0]}{body}{kind[1]}{text[start + len(body) :]}"


def marked(text: str) -> tuple[str, int]:
    """The text with marks in place of such runs, and the number of characters that are struck out."""
    if text.isascii() or not _MARKED.search(text):
        return text, 0
    text = _SAME_RUN.sub(lambda both: both[1] or "", text)
    count = sum(not one.isspace() for run in _STRUCK_RUN.findall(text) for one in _MARKED.sub("", run))
    text = _STRUCK_RUN.sub(lambda run: _LINE.sub(r"\1~~\2~~", run[1]), text)
    parts, done = [""], 0
    for run in _RUN.finditer(text):
        kind, blank, body, more = run.groups()
        parts.append(text[done : run.start()])
        before = next((one[-1] for one in reversed(parts) if one), "")
        if (blank or before == " ") and not (before := "".join(parts[-2:]).rstrip(" ")[-1:]).isdecimal():
            before = ""  # a space keeps apart all but the groups of a number
        after = "" if more else text[run.end() : run.end() + 1]
        parts.append(f"{blank}{_between(before, body, after, kind)}{more}")
        done = run.end()
    return _MARKED.sub("", "".join(parts) + text[done:]), count


def _between(before: str, body: str, after: str, kind: str) -> str:
    """A raised or lowered run with the marks that it needs between the characters `before` and `after` it.

    None where both are letters or signs (Mme, H2O, 30th): only what could be read as one number is kept apart.
    """
    mark = "^" if kind == _RAISED[0] else "_"
    closes = bool(after.isdecimal() and body[-1:].isdecimal())
    has_digit = bool(_DIGIT.search(body))
    if not body or _JOINS.match(before):
        opens = False
    elif before.isalpha():
        opens = has_digit and kind == _RAISED[0]
    else:
        opens = has_digit or (before.isdecimal() and len(body) == 1 and body.isalpha())
    return f"{mark if opens or closes else ''}{body}{mark if closes else ''}"
