"""Sentences as spans of a text: small rules for English, German and scripts with their own full stops, in linear time.

Two steps. `_blocks` decides which line breaks end something: an empty line, a list item, a heading, a table row, a
`label: value` line, or a line so short that the next word would have fitted on it. `_ends` then looks inside a block
for a full stop that ends a sentence and is not part of an abbreviation, an initial, an ordinal or a number; a small
letter after it shows that it ends none, unless the block has no capitals at all.
Everything but white space lies in exactly one span.
"""

# ruff: noqa: RUF001, SIM905  other scripts' punctuation is meant; a list of words reads best as words
import re
from collections.abc import Iterator
from itertools import chain

from pipeline.document import Span

_LINE = re.compile(r"[^\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]+")
_BLANK = re.compile(r"(?:\r\n|[\n\r\x85\u2028\u2029])[ \t\u00a0]*(?:\r\n|[\n\r\x85\u2028\u2029])|[\x0b\x0c\x1c-\x1e]")
_OPENS = re.compile(  # what a line begins with that never continues the line before: a list item, a heading, a label
    r"(?:[•◦▪‣●○■□–—*+-]|\(?[a-zA-Z]\)|\(?[ivxIVX]{1,5}[.)]|§{1,2}|#{1,6}"
    r"|\d{1,3}(?:\.\d{1,3}){0,4}[.)]?(?! (?:J[au]|Feb|M[aä]|Ap|Aug|Sep|O[ck]t|Nov|De[cz]))"  # but not 6. Oktober
    r")[ \t\u00a0]"
    r"|[^\W\d_](?:[^:.!?;|\t]|\.(?=\S)){0,48}:(?:[ \t\u00a0]|$)"
)
_ALONE = re.compile(r"\t|[ \t]\|[ \t]|^\||^#{1,6} ")  # a table row or a heading of Markdown: a line for itself
_STOP = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'“”’»«)\]]*+(?=\s)"  # from the first of a run only, possessively: linear on hostile text
    r"|[。！？｡]++[」』”’）》]*+|[؟۔।॥](?=\s|$)"
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'„“]*$")
_ROW = " | "  # between cells; a row is kept whole, whatever stands in them
_SLACK = 0.9  # lines of a proportional font differ in characters though they are equally long
_NARROW = 45  # characters: a block whose lines are all shorter was not wrapped by a page's width
_MOST_LINES = 10_000  # of a paragraph: memory stays flat
_ABBREVIATIONS = frozenset(
    # English
    "mr mrs ms dr prof rev hon st jr sr vs etc cf al viz approx est ca no nos vol vols ed eds pp fig figs sec secs "
    "art arts para paras cl ch inc ltd co corp llc plc incl excl bros dept div gen col sgt capt lt ave blvd rd mt ft "
    "jan feb mar apr jun jul aug sept sep oct nov dec mon tue tues wed thu thur thurs fri i.e e.g a.m p.m u.s u.k n.v "
    "b.v s.a s.p.a l.p l.l.c u.s.c n.w n.e s.w s.e d.c "
    # German
    "bzw ggf evtl inkl exkl zzgl abzgl usw usf sog vgl nr nrn pos tel fax abs ziff lit bspw gem lt mind max min "
    "mio mrd tsd jh jhd hr hrn fr frl dipl ing dr.-ing mag geb gest verh aufl bd hrsg anm anl ggü entspr "
    "einschl ausschl vorm nachm okt dez mai mrz z.b d.h u.a o.ä u.ä i.d.r i.v i.a i.s.d z.t z.zt s.o s.u v.a e.v e.k "
    "e.u a.d b.z.w m.w.st ust mwst rd ca s o g p.a z d u v i b".split()
)


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """The sentences, headings, list items and table rows of text[start:end], in order, without white space around."""
    return list(each_sentence(text, start, len(text) if end is None else end))


def each_sentence(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences of `split_sentences` one by one; a text that holds no letter and no digit joins the
    sentence before it."""
    last = None
    for span in _pieces(text, start, end):
        if (
            last
            and not any(map(str.isalnum, text[span.start : min(span.end, span.start + 64)]))
            and not _BLANK.search(text, last.end, span.start)
        ):
            last = Span(last.start, span.end)
            continue
        if last:
            yield last
        last = span
    if last:
        yield last


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """The blocks, cut at each full stop; nothing blank."""
    for block in _blocks(text, start, end):
        begin = block.start
        ends = _ends(text, block) if _ROW not in text[block.start : block.end] else iter(())
        for stop in chain(ends, (block.end,)):
            span = trimmed(text, begin, stop)
            if span.start < span.end:
                yield span
            begin = stop


def trimmed(text: str, start: int, end: int) -> Span:
    """text[start:end] without white space around it; empty at `end` where there is nothing else."""
    piece = text[start:end]
    left = end - len(piece.lstrip())
    return Span(left, max(left, start + len(piece.rstrip())))


def _blocks(text: str, start: int, end: int) -> Iterator[Span]:
    for paragraph in _paragraphs(text, start, end):
        width = max(line.end - line.start for line in paragraph)
        first = last = paragraph[0]
        for line in paragraph[1:]:
            if _breaks(text, last, line, width):
                yield Span(first.start, last.end)
                first = line
            last = line
        yield Span(first.start, last.end)


def _paragraphs(text: str, start: int, end: int) -> Iterator[list[Span]]:
    """The lines that are not blank, trimmed, grouped between blank lines; more than 10,000 are several groups."""
    lines: list[Span] = []
    for match in _LINE.finditer(text, start, end):
        line = trimmed(text, match.start(), match.end())
        if line.start == line.end:
            continue
        if lines and (len(lines) == _MOST_LINES or _BLANK.search(text, lines[-1].end, line.start)):
            yield lines
            lines = []
        lines.append(line)
    if lines:
        yield lines


def _breaks(text: str, line: Span, after: Span, width: int) -> bool:
    """Whether the line break between two lines of a paragraph ends what `line` says."""
    if _OPENS.match(text, after.start, after.end):
        return True
    if _ALONE.search(text, line.start, line.end) or _ALONE.search(text, after.start, after.end):
        return True
    if text[after.start].islower() or text[line.end - 1] in ",-\u00ad":
        return False
    if text[line.end - 1] == ":" or width < _NARROW:
        return True
    head = text[after.start : min(after.end, after.start + width)].split(None, 1)[0]
    return line.end - line.start + 1 + len(head) <= _SLACK * width


def _ends(text: str, block: Span) -> Iterator[int]:
    """The offsets inside a block at which a sentence ends: where a small letter follows only if it has no others."""
    small = text[block.start : block.end].islower()
    for match in _STOP.finditer(text, block.start, block.end):
        if match[0][0] != "." or _ends_at(text, block, match.start()):
            if match[0][0] in ".!?…" and not small and _following(text, match.end(), block.end).islower():
                continue
            yield match.end()


def _ends_at(text: str, block: Span, stop: int) -> bool:
    """Whether the full stop at `stop` may end a sentence: it belongs to no short form."""
    word = text[max(block.start, stop - 24) : stop]
    match = _WORD_BEFORE.search(word)
    word = match[0] if match else ""
    if len(word) == 1 and word.isalpha():  # an initial
        return False
    if word.isdecimal() and len(word) <= 2:  # an ordinal or the number of a list item: 31. Dezember, 3. Liability
        return False
    return word.lower() not in _ABBREVIATIONS and not word.endswith("str")  # Hauptstr. 12


def _following(text: str, at: int, end: int) -> str:
    """The first character after white space and opening marks, or a space where there is none."""
    for char in text[at : min(end, at + 16)]:
        if not char.isspace() and char not in "\"'“„«»([‘‚":
            return char
    return " "
