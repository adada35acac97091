"""Names inside a text: the run of capitalised words that ends, or begins, at a place."""

# ruff: noqa: RUF001, SIM905  typographic marks are meant; a list of words reads best as words
import re
from typing import Final

from pipeline.text.values.legal_forms import CAPITAL, FORM

MOST_WORDS: Final = 10
WRAPPED: Final = 50  # characters: a line that is as long was wrapped, and goes on in the next
_NAMED = re.compile(rf"[{CAPITAL}]|[a-z]{{1,2}}-[a-z]|[a-z]{{1,3}}[{CAPITAL}]|\d+[A-Za-z{CAPITAL}-]")
_JOINS = frozenset("& and of the for und der des für von y e et de la du del di da van".split())
_NO_NAME = frozenset(  # words that begin a sentence, a heading or a label; not names, though written with a capital
    "this that these those such each either no any all other our your its their in on at by to from with as is are be "
    "between among and or if when where whereas witness dated made agreement contract amendment exhibit schedule annex "
    "party parties seller buyer vendor customer client supplier licensor licensee invoice bill ship sold attn "
    "attention "
    "name address company: section article page date number no. tel fax phone email subject re dear parent surviving "
    "limited liability zwischen und vertrag der die das den dem ein eine von bei an rechnung kunde lieferant firma "
    "herr "
    "frau the a an form of file source copyright © for include includes including issued accepted agreed signed "
    "certain jointly hereinafter hereafter herein 'and".split()
)
_GAP = re.compile(r"[ \u00a0\t]{1,3}\Z|[ \u00a0]{0,3}\n[ \u00a0]{0,40}\Z")
_TOKEN = re.compile(r"\S+\Z")
_STOPS = re.compile(
    r"(?!(?:Jos|Bros|Intl|Mfg|Dept|Assn|Univ|Prof)\.)[^.\d&]{3,}\."
)  # the end of a sentence, and no initial
_FIRST = re.compile(r"(\S+)\s+")


def name_before(text: str, at: int, floor: int = 0) -> int:
    """Where the capitalised words begin that end at `at`, such as a legal form; `at` itself where there are none."""
    begin, comma = at, True
    for _ in range(MOST_WORDS):
        gap = _GAP.search(text, max(floor, begin - 44), begin)
        if gap is None or ("\n" in gap[0] and not _wrapped(text, gap.start() + gap[0].index("\n"))):
            break
        token = _TOKEN.search(text, max(floor, gap.start() - 40), gap.start())
        if token is None or (token.start() > floor and not text[token.start() - 1].isspace()):
            break
        word, opened = token[0], 0
        if word[0] in "\"'“„«‘([" and not word.endswith((")", "]")):
            opened = 1
            word = word[1:]
        if not _belongs(word, comma=comma):
            break
        begin = token.start() + opened
        comma = False
        if opened:
            break
    return _without_joins(text, begin, at)


def _belongs(word: str, *, comma: bool) -> bool:
    """Whether a word may be one of a name; `comma`: whether one may follow it, as before a legal form."""
    bare = word.rstrip(",")
    if bare in ("The", "THE") or _STOPS.fullmatch(bare):
        return False
    if (bare != word and not comma) or bare[-1:] in ':;!?"”' or (FORM.fullmatch(bare.rstrip(".")) and len(bare) > 1):
        return False
    if bare.lower().strip(".") in _JOINS and not word.endswith(","):
        return True
    if bare.startswith("(") and bare.endswith(")"):
        return bool(_NAMED.match(bare[1:]))
    if bare.lower() in _NO_NAME or "(" in bare or ")" in bare:
        return False
    return bool(_NAMED.match(bare)) or bare.isdecimal()


def _without_joins(text: str, begin: int, at: int) -> int:
    """Where the name begins without joining words and numbers before it."""
    while begin < at:
        match = _FIRST.match(text, begin, at)
        if match is None:
            break
        word = match[1].lower()
        if word not in _JOINS and word not in _NO_NAME and not word.isdecimal() and word != "the":
            break
        begin = match.end()
    return begin


def _wrapped(text: str, line_end: int) -> bool:
    """Whether the line that ends at `line_end` is as long as one that was wrapped."""
    return line_end - (text.rfind("\n", 0, line_end) + 1) >= WRAPPED


_SOLE = re.compile(
    rf"[{CAPITAL}][\w'’.*-]*(?:[ \u00a0]{{1,3}}(?:(?:of|de|der|von|van|du|la) )?(?:[{CAPITAL}][\w'’.*-]*|&)){{0,7}}"
)


def name_at(text: str, start: int, end: int) -> int:
    """Where the name ends whose first word begins at `start`: with its legal form if it has one, else before the first
    word that is not capitalised, comma or bracket; `start` itself where no name begins. Not beyond `end`."""
    stop = min(end, start + 160)
    if not _NAMED.match(text, start, stop):
        return start
    sole = _SOLE.match(text, start, stop)
    edge = sole.end() if sole else start
    for form in FORM.finditer(text, start, stop):
        if form.start() > start and name_before(text, form.start(), start) == start:
            return form.end()
        break
    while edge > start and text[edge - 1] in ".-'’":
        edge -= 1
    return edge
