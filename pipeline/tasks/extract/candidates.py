"""Candidates for the value of a field, with words for what stands in, around and above them."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

from pipeline.document import Parsed, Span
from pipeline.tasks.features import size
from pipeline.text.values import VALUES, Finder, Reading, Value, pattern_finder, read_habits

FIRST: Final = 200  # passages in which names are looked for,
LAST: Final = 60  # and those at the end, where people sign
LONGEST_LINE: Final = 160  # characters: a longer line is a paragraph
LONGEST_NAME: Final = 12  # words
MOST: Final = 20_000  # values of a type that are looked at, from the beginning
_NEAR: Final = 7  # words on either side
_REACH: Final = 90  # characters in which they are looked for
_OWN: Final = 40  # words of the value itself
_WORD = re.compile(r"\w+|[^\w\s]")
_LETTERS = re.compile(r"\w+")
_TOKEN = re.compile(r"\S+")
_OPENING, _CLOSING = "([{\"'“‘«„", ")]}\"'”’»“,;:"  # noqa: RUF001
_JOINING = frozenset(
    "of and the & for to und der die das de la le et von du des dei y".split()  # noqa: SIM905
)
_FIRM = frozenset(  # what goes on with a name after a comma, or ends in a point without an end
    "inc ltd llc corp co company limited lp llp plc sa ag gmbh kg nv bv spa sarl se jr sr mr mrs ms dr st no".split()  # noqa: SIM905
)
_AND = frozenset(("and", "und", "et"))
_LEADING = frozenset("this the a an that such der die das dieser dieses le la les ce".split())  # noqa: SIM905


@dataclass(frozen=True)
class Candidate:
    """A value that a field could have, the number of its passage, and in which way it was found."""

    value: Value
    passage: int
    kind: str


class Page:
    """A document with its passages, and the candidates of each type of value in it, found once."""

    def __init__(self, document: Parsed, passages: Sequence[Span]) -> None:
        self._document, self._text, self._passages = document, document.text, passages
        self._starts = [span.start for span in passages]
        self._lines = [0, *(match.end() for match in re.finditer("\n", self._text))]

    def candidates(self, type_: str, pattern: str | None = None) -> list[Candidate]:
        """The candidates of a type, in order of their places."""
        if pattern is not None:
            return self._of(pattern_finder(pattern), "regex")
        return self._texts if type_ == "text" else self._of(VALUES[type_], type_)

    def _of(self, finder: Finder, kind: str) -> list[Candidate]:
        found = list[Candidate]()
        for value in finder(self._text, self._habits):
            if len(found) == MOST:
                break
            if self._passages:
                found.append(Candidate(value, self._passage(value.start), kind))
        return found

    @cached_property
    def _texts(self) -> list[Candidate]:
        """Passages, what the finder of texts gives, short lines, titles, dates and names: each place once."""
        found: dict[tuple[int, int], Candidate] = {}
        for kind, spans in (("passage", self._passages), ("line", self._short_lines()), ("name", self._names())):
            for span in spans if self._passages else ():
                text = " ".join(self._text[span.start : span.end].split())
                one = Candidate(Value(span.start, span.end, text), self._passage(span.start), kind)
                found.setdefault((span.start, span.end), one)
        for kind in ("text", "date", "organisation", "title"):
            for one in self._of(VALUES[kind], kind):
                text = " ".join(self._text[one.value.start : one.value.end].split())
                place = one.value.start, one.value.end
                if kind != "text" or place not in found:
                    found[place] = replace(one, value=replace(one.value, value=text, note=None))
        return [found[place] for place in sorted(found)]

    def _short_lines(self) -> Iterator[Span]:
        for index, start in enumerate(self._lines):
            end = self._lines[index + 1] if index + 1 < len(self._lines) else len(self._text)
            line = self._text[start:end]
            inner = line.strip()
            if 1 < len(inner) <= LONGEST_LINE:
                begin = start + line.index(inner)
                yield Span(begin, begin + len(inner))

    def _names(self) -> Iterator[Span]:
        """Runs of words with capital letters in the first and last passages, within a line, and over the end of one."""
        for index, passage in enumerate(self._passages):
            if index < FIRST or index >= len(self._passages) - LAST:
                yield from names(self._text, passage)
                yield from names(self._text, passage, over=True)

    @cached_property
    def _habits(self) -> Reading:
        return read_habits(self._text)

    def _passage(self, at: int) -> int:
        return max(0, bisect_right(self._starts, at) - 1)

    def words(self, candidates: Sequence[Candidate]) -> Iterator[list[str]]:
        """For each candidate the words that can be learned, each with what it says before a colon."""
        often = Counter(candidate.value.value.lower() for candidate in candidates)
        seen, order = Counter[str](), Counter[str]()
        for candidate in candidates:
            same = candidate.value.value.lower()
            places = (order[candidate.kind], seen[same], often[same])
            order[candidate.kind] += 1
            seen[same] += 1
            yield [*self._inside(candidate), *self._beside(candidate), *self._place(candidate, *places)]

    def _inside(self, candidate: Candidate) -> Iterator[str]:
        verbatim = self._text[candidate.value.start : candidate.value.end]
        its = [word.lower() for word in _LETTERS.findall(verbatim)]
        words = its[:_OWN]
        yield f"kind:{candidate.kind}"
        yield f"form:{_form(verbatim)}"
        yield f"long:{candidate.kind}:{size(len(its))}"
        yield f"end:{verbatim[-1:] if not verbatim[-1:].isalnum() else 'a'}"
        yield f"sure:{candidate.value.sure}"
        yield from (f"cue:{word}" for word in candidate.value.cues)
        if words:
            yield f"first:{words[0]}"
            yield f"last:{its[-1]}"
        yield from (f"in:{word}" for word in words)
        yield from (f"pair:{a} {b}" for a, b in pairwise(words))

    def _beside(self, candidate: Candidate) -> Iterator[str]:
        start, end = candidate.value.start, candidate.value.end
        before = [word.lower() for word in _WORD.findall(self._text[max(0, start - _REACH) : start])][-_NEAR:]
        after = [word.lower() for word in _WORD.findall(self._text[end : end + _REACH])][:_NEAR]
        yield from (f"before:{word}" for word in before)
        yield from (f"after:{word}" for word in after)
        for name, near in (("left", before[::-1]), ("right", after)):
            if near:
                yield f"{name}:{near[0]}"
            if len(near) > 1:
                yield f"{name}:{near[0]} {near[1]}"
            if len(near) > 2:
                yield f"{name}:{near[0]} {near[1]} {near[2]}"
        line = bisect_right(self._lines, start) - 1
        alone = self._line(line).strip() == self._text[start:end].strip()
        yield f"line:{'alone' if alone else 'begins' if not self._text[self._lines[line] : start].strip() else 'in'}"
        yield from (f"above:{word.lower()}" for word in _LETTERS.findall(self._above(line))[:8])
        title = self._document.section_of(start) or ""
        yield from (f"section:{word.lower()}" for word in _LETTERS.findall(title)[-8:])

    def _place(self, candidate: Candidate, order: int, seen: int, often: int) -> Iterator[str]:
        start, whole = candidate.value.start, max(1, len(self._text))
        yield f"at:{size(start // 50)}"
        yield f"part:{10 * start // whole}"
        yield f"left over:{size((whole - start) // 200)}"
        yield f"passage:{size(candidate.passage)}"
        yield f"order:{candidate.kind}:{size(order)}"
        yield f"again:{min(seen, 1)}"
        yield f"often:{size(often)}"

    def _line(self, index: int) -> str:
        end = self._lines[index + 1] - 1 if index + 1 < len(self._lines) else len(self._text)
        return self._text[self._lines[index] : end]

    def _above(self, line: int) -> str:
        """The nearest line above with words, over at most two blank ones, if it is short."""
        for index in range(line - 1, max(-1, line - 4), -1):
            if (found := self._line(index).strip()) and len(found) <= LONGEST_LINE:
                return found
        return ""


def names(text: str, passage: Span, over: bool = False) -> Iterator[Span]:
    """Runs of words that begin with a capital letter or a figure, in one line, or `over` the end of a line."""
    run, before, parted = list[Span](), passage.start, False
    for match in _TOKEN.finditer(text, passage.start, passage.end):
        start, end = match.span()
        core = _core(text, start, end)
        word = text[core.start : core.end].lower()
        goes_on = text.count("\n", before, start) <= over and start == core.start
        if not goes_on or (parted and word.rstrip(".") not in _FIRM):
            yield from _named(text, run)
            run = []
        capital = text[core.start : core.end][:1]
        if capital.isupper() or capital.isdigit() or (run and word in _JOINING):
            run.append(core)
            if word.rstrip(".") in _FIRM:
                yield from _named(text, run)
        else:
            yield from _named(text, run)
            run = []
        before, parted = (
            end,
            end > core.end or (text[end - 1] == "." and word.rstrip(".") not in _FIRM and len(word) > 2),
        )
        if end > core.end and text[core.end] != ",":
            yield from _named(text, run)
            run = []
    yield from _named(text, run)


def _core(text: str, start: int, end: int) -> Span:
    """text[start:end] without the brackets, quotes and commas around it."""
    while start < end and text[start] in _OPENING:
        start += 1
    while start < end and text[end - 1] in _CLOSING:
        end -= 1
    return Span(start, end)


def _named(text: str, run: Sequence[Span]) -> Iterator[Span]:
    """The run without articles before it and without what joins words behind it, unless it is too long; and of one
    that has an "and" in it what stands on either side."""
    both = [index for index, span in enumerate(run) if text[span.start : span.end].lower() in _AND]
    for first, last in pairwise([-1, *both, len(run)]) if both else ():
        yield from _cut(text, run[first + 1 : last])
    yield from _cut(text, run)


def _cut(text: str, run: Sequence[Span]) -> Iterator[Span]:
    words = list(run)
    while words and text[words[0].start : words[0].end].lower() in _LEADING | _JOINING:
        del words[0]
    while words and text[words[-1].start : words[-1].end].lower() in _JOINING:
        del words[-1]
    if 0 < len(words) <= LONGEST_NAME:
        end = words[-1].end
        last = text[words[-1].start : end].rstrip(".")
        yield Span(words[0].start, end - (text[end - 1] == "." and len(last) > 2 and last.lower() not in _FIRM))


def _form(verbatim: str) -> str:
    letters = [char for char in verbatim if char.isalpha()]
    if not letters:
        return "figures"
    upper = sum(map(str.isupper, letters))
    if upper == len(letters):
        return "capitals"
    words = [word for word in _LETTERS.findall(verbatim) if word[0].isalpha()]
    capital = sum(word[0].isupper() for word in words)
    return "names" if 2 * capital > len(words) else "lower" if verbatim[:1].islower() else "sentence"
