"""Compare the alternatives of a mail: the text that is read, which is the one that mail programs show, and another.

A plain text is mostly a conversion of the HTML: links, pictures, marks of lists and line breaks differ and mean
nothing. What matters is a number, or a paragraph of other words, that stands only in the text that nobody sees.
"""

import html
import operator
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, reduce

from pipeline.parse.sight.raised import marked
from pipeline.parse.writer import TextWriter, clean

_MOST = 1 << 20  # characters of a text that are compared
_ADDRESS = re.compile(
    r"<\s*(?:https?|ftp|mailto|tel|cid|file):[^<>]{0,4000}>|(?:https?://|www\.|ftp://|mailto:|tel:|cid:)\S+",
    re.IGNORECASE,
)
_OF_ADDRESS = ("://", "www.", "WWW.", "mailto:", "tel:", "cid:")  # one of which it has
_MAILBOX = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w.-]+")
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
_MARKS = str.maketrans("", "", ".,'")  # of thousands, and of dates
_RULE = re.compile(r"\{[^{}]{0,2000}\}")  # of a style sheet
_STUB, _LABEL = 400, 150  # characters of a paragraph about HTML, of one about an address
_NUMBER = r"\d++(?:[.,:']\d++)*+"
_RUN = re.compile(rf"{_NUMBER}(?:\s{_NUMBER})*")
_DECIMAL = re.compile(r"(\d[\d.,']*?)[.,](\d\d?)")
_GROUPED = re.compile(r"\d{1,3}(?: \d{3})+(?:[.,]\d\d?)?")
_RAISED = re.compile(rf"(?<![\d.,:'])({_NUMBER})[\^_](\d+)")
_WORD = re.compile("[^\\W\\d_]{2,}(?:'t)?|[\u3040-\u9fff\uac00-\ud7af]")
_LETTER = r"[^\W\d_]"
_SIGNS = r"(?:(?:[<>]=?|[(=±≈~]|-(?! )) ?){0,4}+"
_TOKEN = re.compile(  # an amount with its signs and units, or a word
    rf"(?<![\w^])(?P<signs>{_SIGNS})(?:(?P<unit>[A-Z]{{3}}(?![^\W\d_])|[€$£¥%]) ?)?(?P<more>{_SIGNS})"
    rf"(?P<number>\d{{1,3}}(?: \d{{3}})++(?:[.,]\d+)?(?!\d)|(?<![\d^]){_NUMBER})(?P<behind>-(?!\w))?"
    rf"(?P<raised>[\^_]\d++)?(?P<close>\))?(?: ?(?P<sign>[€$£¥%‰°]))?"
    rf"(?: ?(?P<last>{_LETTER}{{1,3}}(?:/{_LETTER}{{1,3}})?(?![\w^])))?(?P<closed>\))?|{_WORD.pattern}"
)
_LIKE = str.maketrans(
    {"\u2212": "-", "\u2013": "-", "≤": "<=", "≥": ">=", "⩽": "<=", "⩾": ">=", "\u00d7": "x", "*": " ", "|": " "}
)
_BULLETS = re.compile(r"^[ \t]*(?:[-•] +)+", re.MULTILINE)
_CURRENCIES = {"€": "eur", "$": "usd", "£": "gbp", "¥": "jpy"}
_NO_MINUS = str.maketrans("", "", "-(")
_OF_NOTE = 2  # digits of a number in brackets that is a note's
_NO_LETTER = re.compile(r"[\W\d_]+")
_NO_DIGIT = re.compile(r"\D+")
_NO_SPACE = re.compile(r"\s")
_SPACELESS = "\u3040"  # before all letters of the scripts that have no spaces
_SHORT_WORD = 2  # letters of a word that is not looked for
_LONG_WORD, _LONG_NUMBER = 5, 6  # from which on one is also found across spaces
_LOOKED_FOR = 200  # words and numbers that are looked for across spaces
_OTHER_LETTERS, _OTHER_SHARE = 12, 0.4  # of a paragraph that says something else
_NEGATIONS = {
    "not", "no", "never", "nicht", "kein", "keine", "keinen", "niemals", "nie", "pas", "jamais", "non", "nunca", "geen",
    "niet",
}  # fmt: skip
_NAMED = 5


def compare(
    writer: TextWriter, read: str, other: str, names: tuple[str, str], unseen: Callable[[], str] = str
) -> list[str]:
    """Send the document to a person where another text says something else than the one that is read (`difference`);
    the notes for the row."""
    notes, review = difference(read, other, names, unseen)
    if review:
        writer.review(review)
    return notes


def difference(read: str, other: str, names: tuple[str, str], unseen: Callable[[], str] = str) -> tuple[list[str], str]:
    """What differs between the text that is read and another: notes for the row, and why a person must look ("": no
    need). `names` are what each is called ("HTML", "plain text"). What stands in `unseen`, which is the read one with
    all that is hidden in it, is no news of the other."""
    notes = [f"compared with its {names[1]}: {_MOST:,} characters"] if max(len(read), len(other)) > _MOST else []
    shown, unread = _Text(_prepared(read)), _Text(_prepared(other))
    known = [shown]
    numbers, words, more = _missing(unread, known)
    if numbers or words or more:
        known.append(_Text(_prepared(unseen())))
        numbers, words, more = _missing(unread, known)
    back = _missing(shown, [unread])[:2]
    for name, *both in ((names[1], numbers, words), (names[0], *back)):
        for what, found in zip(("numbers", "words"), both, strict=True):
            notes += [f"{what} that only its {name} has: {len(found):,} ({_first(found)})"] if found else []
    said = [_first(numbers or more)] if numbers or more else []
    if news := next(filter(None, (_news(one, set(words)) for one in _paragraphs(unread.text))), "") if words else "":
        said.append(f'"{news}"')
    elif not said and (exchanged := _exchanged(unread, shown, set(words), set(back[1]))):
        said.append(exchanged)
    elif _negations(unread.spoken) - _negations(shown.spoken):
        spoken = [word for paragraph in _paragraphs(unread.text) for word in _words(paragraph)]
        negations = _negations(spoken) - _negations(shown.spoken)
        said += [_first(list(negations))] if negations else []
    review = f"its {names[1]}, which is not read, says something else than its {names[0]}: {'; '.join(said)}"
    return notes, review if said else ""


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

    text = _without_addresses(text)
    return _LIST_MARK.sub(without, _PICTURE.sub(" ", text) if "[" in text else text)


def _without_addresses(text: str) -> str:
    if any(mark in text for mark in _OF_ADDRESS):
        text = _ADDRESS.sub(" ", text)
    return _MAILBOX.sub(" ", text) if "@" in text else text


class _Text:
    """A text with its numbers and words, to look for those of another in it."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def bare(self) -> str:
        """The text without addresses, pictures and the numbers of lists."""
        return _bare(self.text)

    @cached_property
    def runs(self) -> list[str]:
        """The runs of numbers in the bare text."""
        return _RUN.findall(self.bare)

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each number stands in the bare text."""
        return Counter(_value(part) for run in self.runs for part in run.split())

    @cached_property
    def numbers(self) -> set[str]:
        """All numbers, also as other programs write them: groups of thousands as one, raised cents with a point."""
        raised = _RAISED.findall(self.text) if "^" in self.text or "_" in self.text else ()
        both = {form for whole, sign in raised for form in (f"{_value(whole)}.{sign}", _value(whole + sign))}
        runs = self.runs if self.bare == self.text else _RUN.findall(self.text)
        return both.union(number for run in runs for number in _forms(run))

    @cached_property
    def spoken(self) -> list[str]:
        """The words of the bare text in their order, in lower case."""
        return _words(self.bare)

    @cached_property
    def line(self) -> str:
        """The bare text without its layout, signs that mean the same as one."""
        return " ".join(_BULLETS.sub("", self.bare.translate(_LIKE)).split())

    @cached_property
    def words(self) -> set[str]:
        """All words, in lower case."""
        return set(self.spoken if self.bare == self.text else _words(self.text))

    @cached_property
    def letters(self) -> str:
        """The letters alone, in lower case: a word is also found within another and across spaces."""
        return _NO_LETTER.sub("", self.text.casefold())

    @cached_property
    def digits(self) -> str:
        """The digits alone: a long number is also found across spaces and signs."""
        return _NO_DIGIT.sub("", self.text)


def _forms(run: str) -> Iterator[str]:
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
    return number.translate(_MARKS)


def _missing(text: _Text, known: list[_Text]) -> tuple[list[str], list[str], list[str]]:
    """The numbers and the words of a text that stand in none of those known, each once. Then the numbers that stand
    there more often, if more of others do in those known: one may stand in the place of another."""
    numbers, looked = dict[str, None](), 0
    for run in text.runs:
        if any(_value(_NO_SPACE.sub("", run)) in one.numbers for one in known):
            continue
        for part in run.split():
            if not any(_value(part) in one.numbers for one in known):
                looked += 1
                digits = _NO_DIGIT.sub("", part)
                is_long = len(digits) >= _LONG_NUMBER and looked <= _LOOKED_FOR
                if not (is_long and any(digits in one.digits for one in known)):
                    numbers[part] = None
    words = dict[str, None]()
    for word in dict.fromkeys(text.spoken):
        if (len(word) > _SHORT_WORD or word > _SPACELESS) and not any(word in one.words for one in known):
            looked += 1
            is_long = (len(word) >= _LONG_WORD or word > _SPACELESS) and looked <= _LOOKED_FOR
            if not (is_long and any(word in one.letters for one in known)):
                words[word] = None
    counts = reduce(operator.or_, (one.counts for one in known))
    more = [one for one in text.counts - counts if counts[one]] if counts - text.counts else []
    return list(numbers), list(words), more


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a text that say something: not those about HTML and browsers, nor a few words beside an
    address."""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        bare = _bare(paragraph)
        about_html = len(paragraph) <= _STUB and _ABOUT_HTML.search(paragraph)
        if not about_html and not (len(bare) <= _LABEL and _without_addresses(paragraph) != paragraph):
            yield bare


def _news(paragraph: str, missing: set[str]) -> str:
    """The beginning of a paragraph much of which are words that the other text lacks; else ""."""
    found = _words(paragraph)
    new = _letters(one for one in found if one in missing)
    says = new >= _OTHER_LETTERS and new >= _OTHER_SHARE * _letters(found)
    return " ".join(paragraph.split())[:100] if says else ""


def _exchanged(other: _Text, read: _Text, only_other: set[str], only_read: set[str]) -> str:
    """Which word or amounts of the other text stand where the text that is read has another, or as many others, between
    the same two words; else ""."""
    if other.line == read.line:
        return ""
    places = defaultdict[tuple[str, str, int], dict[str, None]](dict)
    for place, between in _places(read.line, only_read):
        places[place][between] = None
    for place, between in _places(other.line, only_other):
        if (alike := places.get(place)) and between not in alike:
            return f'"{between}" for "{next(iter(alike))}"'
    return ""


def _places(line: str, words: set[str]) -> Iterator[tuple[tuple[str, str, int], str]]:
    """Each of these words, and all amounts that stand together, behind the word before, the one after, and the number
    of amounts: 0 for a word."""
    first, before, amounts = "", "", list[str]()
    for found in (*_TOKEN.finditer(line), None):
        if found and found["number"]:
            amounts.append("" if found["raised"] else _amount(found))  # conversions write 950^2 as 9502, or as 950
            continue
        word = found[0].casefold() if found else ""
        if amounts and all(amounts):
            yield (before, word, len(amounts)), " ".join(amounts)
        if before in words:
            yield (first, word, 0), before
        first, before, amounts = before, word, []


def _amount(found: re.Match[str]) -> str:
    """A number with what changes its meaning: "-500 eur" for "(EUR 500)", "€ -500" and "500- EUR"."""
    signs, more, behind, *units = found.group("signs", "more", "behind", "unit", "sign", "last")
    signs, number = "".join((signs + more).split()), _value(_NO_SPACE.sub("", found["number"]))
    in_brackets = "(" in signs and (found["close"] or found["closed"]) and len(number) > _OF_NOTE
    is_less = "-" in signs or behind or in_brackets
    units = sorted(_CURRENCIES.get(one, one).casefold() for one in units if one)
    return " ".join([signs.translate(_NO_MINUS) + "-" * bool(is_less) + number, *units])


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _negations(words: list[str]) -> Counter[str]:
    return Counter(word for word in words if word in _NEGATIONS or word.endswith("n't"))


def _letters(words: Iterable[str]) -> int:
    """The number of letters; a sign of a script without spaces counts as two."""
    return sum(len(word) * (2 if word > _SPACELESS else 1) for word in words)
