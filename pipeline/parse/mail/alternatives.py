"""Compare the alternatives of a mail: the text that is read, which is the one that mail programs show, and another.

A plain text is mostly a conversion of the HTML: links, pictures, marks of lists and line breaks differ and mean
nothing. What matters is a number, or a paragraph of other words, that stands only in the text that nobody sees.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pipeline.parse.look.raised import marked
from pipeline.parse.writer import clean

_MOST = 1 << 20  # characters of a text that are compared
_ADDRESS = re.compile(
    r"<\s*(?:https?|ftp|mailto|tel|cid|file):[^<>]{0,4000}>|(?:https?://|www\.|ftp://|mailto:|tel:|cid:)\S+|[\w.+-]+@[\w.-]+",
    re.IGNORECASE,
)
_PICTURE = re.compile(r"\[(?:image|inline image|cid|bild|grafik)\b[^\]\n]{0,200}\]|\[\d{1,3}\]", re.IGNORECASE)
_QUOTES = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_LIST_MARK = re.compile(r"^[ \t*|-]*\(?(\d{1,3})[.)](?=\s)", re.MULTILINE)
_ABOUT_HTML = re.compile(
    r"html|\bmime\b|browser|mail[ -]?(?:programm?|client|reader|viewer|app|software)|webmail"
    r"|(?:online|web)[ -]?(?:version|view|ansicht)"
    r"|navigateur|navegador|messagerie|(?:display|view)(?:ed)? (?:correctly|this e?-?mail|this message)"
    r"|nicht (?:richtig |korrekt )?(?:angezeigt|dargestellt)",
    re.IGNORECASE,
)
_RULE = re.compile(r"\{[^{}]{0,2000}\}")  # of a style sheet
_STUB, _LABEL = 400, 150  # characters of a paragraph about HTML, of one about an address
_NUMBER = r"\d+(?:[.,:']\d+)*"
_RUN = re.compile(rf"{_NUMBER}(?:\s{_NUMBER})*")
_DECIMAL = re.compile(r"(\d[\d.,']*?)[.,](\d\d?)")
_GROUPED = re.compile(r"\d{1,3}(?: \d{3})+(?:[.,]\d\d?)?")
_RAISED = re.compile(rf"({_NUMBER})[\^_](\d+)")
_WORD = re.compile("[^\\W\\d_]{3,}|[\u3040-\u9fff\uac00-\ud7af]{1,2}")
_NO_LETTER = re.compile(r"[\W\d_]+")
_NO_DIGIT = re.compile(r"\D+")
_NO_SPACE = re.compile(r"\s")
_LONG_WORD, _LONG_NUMBER = 5, 6  # from which on one is also found across spaces
_LOOKED_FOR = 200  # words and numbers that are looked for across spaces
_OTHER_LETTERS, _OTHER_SHARE = 12, 0.4  # of a paragraph that says something else
_NEGATION = re.compile(r"\b(?:not|no|never|nicht|keine?|niemals|nie|pas|jamais|non|nunca|geen|niet)\b|n't\b")
_NAMED = 5


@dataclass(frozen=True)
class Difference:
    """What differs between two alternatives: notes for the row, and why a person must look at it ("": no need)."""

    notes: tuple[str, ...] = ()
    review: str = ""


def difference(read: str, other: str, names: tuple[str, str], unseen: Callable[[], str] = str) -> Difference:
    """Compare the text that is read with another one; `names` are what each is called ("HTML", "plain text"). What
    stands in `unseen`, which is the read one with all that is hidden in it, is no news of the other."""
    notes = [f"compared with its {names[1]}: {_MOST:,} characters"] if max(len(read), len(other)) > _MOST else []
    read, other = _prepared(read), _prepared(other)
    known = _Known(read)
    numbers, words = _missing(other, known)
    more = _more_often(other, known)
    if numbers or words or more:
        known = _Known(read, _prepared(unseen()))
        numbers, words = _missing(other, known)
        more = _more_often(other, known)
    for name, *both in ((names[1], numbers, words), (names[0], *_missing(read, _Known(other)))):
        for what, found in zip(("numbers", "words"), both, strict=True):
            notes += [f"{what} that only its {name} has: {len(found):,} ({_first(found)})"] if found else []
    paragraphs = list(_paragraphs(other))
    news = next(filter(None, (_news(one, set(words)) for one in paragraphs)), "") if words else ""
    said = [*([_first(numbers or more)] if numbers or more else []), *([f'"{news}"'] if news else [])]
    if not news and (negations := _negations("\n".join(paragraphs)) - _negations(read)):
        said.append(_first(list(negations)))
    review = f"its {names[1]}, which is not read, says something else than its {names[0]}: {'; '.join(said)}"
    return Difference(tuple(notes), review if said else "")


def _first(found: list[str]) -> str:
    return ", ".join(found[:_NAMED]) + (", …" if len(found) > _NAMED else "")


def _prepared(text: str) -> str:
    """The text as a writer writes it, without marks of quoting, and without what bad conversions leave of markup."""
    text = marked(clean(html.unescape(text[:_MOST])))[0]
    text = _QUOTES.sub("", unicodedata.normalize("NFKC", text)).replace("~~", "").replace("\u2019", "'")
    if "{" in text:
        text = "\n".join(line.rpartition("\0")[2] for line in _RULE.sub("\0", text).split("\n"))
    return text


def _bare(text: str) -> str:
    """The text without addresses, pictures and the numbers of lists."""
    counted = {0}  # a mark counts on from one before it; otherwise it is a day, or a number of something

    def without(mark: re.Match[str]) -> str:
        number = int(mark[1])
        if number - 1 not in counted:
            return mark[0]
        counted.add(number)
        return ""

    return _LIST_MARK.sub(without, _PICTURE.sub(" ", _ADDRESS.sub(" ", text)))


class _Known:
    """The numbers and words of a text, to look others up."""

    def __init__(self, text: str, unseen: str = "") -> None:
        self.counts = _counts(text) | _counts(unseen)
        both = f"{text}\n{unseen}"
        self.numbers = {number for run in _RUN.findall(both) for number in _forms(run)}
        for whole, sign in _RAISED.findall(both):  # cents, or a note whose number another program glues to it
            self.numbers |= {f"{_value(whole)}.{sign}", _value(whole + sign)}
        self.words = set(_WORD.findall(both.casefold()))
        self._letters = _NO_LETTER.sub("", both.casefold())
        self._digits = _NO_DIGIT.sub("", both)

    def has_number(self, part: str) -> bool:
        """Whether a long number stands there across spaces and signs."""
        digits = _NO_DIGIT.sub("", part)
        return len(digits) >= _LONG_NUMBER and digits in self._digits

    def has_word(self, word: str) -> bool:
        """Whether a word stands there within another or across spaces."""
        return (len(word) >= _LONG_WORD or word > "\u3040") and word in self._letters


def _forms(run: str) -> Iterator[str]:
    """The numbers of a run: each, and groups of thousands as one."""
    parts = run.split()
    yield from map(_value, parts)
    if len(parts) > 1:
        yield from (_value(_NO_SPACE.sub("", one)) for one in _GROUPED.findall(" ".join(parts)))


def _value(number: str) -> str:
    """A number without marks of thousands: "1.240,50" and "1,240.5" are "1240.5", "12:30" is "12:30"."""
    if number.isdecimal():
        return number
    if decimal := _DECIMAL.fullmatch(number):
        whole, rest = _NO_DIGIT.sub("", decimal[1]), decimal[2].rstrip("0")
        return f"{whole}.{rest}" if rest else whole
    return re.sub("[.,']", "", number)


def _counts(text: str) -> Counter[str]:
    """How often each number stands in a text."""
    return Counter(_value(part) for run in _RUN.findall(_bare(text)) for part in run.split())


def _more_often(other: str, known: _Known) -> list[str]:
    """The numbers that stand more often in the other text than in the known one, if there are more of others in that:
    then one may stand in the place of another."""
    counts = _counts(other)
    return [one for one in counts - known.counts if known.counts[one]] if known.counts - counts else []


def _missing(text: str, known: _Known) -> tuple[list[str], list[str]]:
    """The numbers and words of a text that are not known, each once."""
    text = _bare(text)
    numbers, looked = dict[str, None](), 0
    for run in _RUN.findall(text):
        if _value(_NO_SPACE.sub("", run)) in known.numbers:
            continue
        for part in run.split():
            if _value(part) not in known.numbers:
                looked += 1
                if looked > _LOOKED_FOR or not known.has_number(part):
                    numbers[part] = None
    words = dict[str, None]()
    for word in dict.fromkeys(_WORD.findall(text.casefold())):
        if word not in known.words:
            looked += 1
            if looked > _LOOKED_FOR or not known.has_word(word):
                words[word] = None
    return list(numbers), list(words)


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a text that say something: not those about HTML and browsers, nor a few words beside an
    address."""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        bare = _bare(paragraph)
        about_html = len(paragraph) <= _STUB and _ABOUT_HTML.search(paragraph)
        if not about_html and not (len(bare) <= _LABEL and _ADDRESS.search(paragraph)):
            yield bare


def _news(paragraph: str, missing: set[str]) -> str:
    """The beginning of a paragraph much of which are words that the other text lacks; else ""."""
    found = _WORD.findall(paragraph.casefold())
    new = _letters(one for one in found if one in missing)
    says = new >= _OTHER_LETTERS and new >= _OTHER_SHARE * _letters(found)
    return " ".join(paragraph.split())[:100] if says else ""


def _negations(text: str) -> Counter[str]:
    return Counter(_NEGATION.findall(text.casefold()))


def _letters(words: Iterable[str]) -> int:
    """The number of letters; a sign of a script without spaces counts as two."""
    return sum(len(word) * (2 if word > "\u3040" else 1) for word in words)
