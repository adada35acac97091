"""Markdown (CommonMark 0.31, tables and footnotes of GitHub): the text as it stands, without what no page shows:
comments, definitions and footnotes that nothing uses, titles, what follows the language of code. Headings name
sections.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from markdown_it import MarkdownIt

from pipeline.document import Parsed, Section
from pipeline.parse.contract import Source, finish
from pipeline.parse.writer import TextWriter, title

PARSER = "md/4"
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_MARKED = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_NO_PARAGRAPH = re.compile(r" {4}|\t| {0,3}(?:[-*+>|]|\d+[.)])(?:\s|$)| {0,3}[>|]|\s*$")
_SPECIAL = re.compile(r"^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})|(?P<code>`+)|<!--", re.MULTILINE)
_CODE = {"fence", "code_block"}
_SPAN = 10_000  # characters of code within a line of text
_MOST = 2_000_000  # characters that are looked at
_MARKUP = {"inline_definitions": True, "store_labels": True}
_MAY_HIDE = re.compile(r"\]:|[\"')][ \t]*\)|^[ \t>]*[`~]{3,}[ \t]*[^\s`~]\S*[ \t]+\S|<[a-zA-Z]", re.MULTILINE)
_FOOTNOTE = re.compile(r"^ {0,3}\[\^([^\]\s]+)\]:.*(?:\n(?:[ \t]*[^\s\[].*|(?=\n(?: {4}|\t))))*", re.MULTILINE)
_NOTE_MARK = re.compile(r"^ {0,3}\[\^[^\]\s]+\]:", re.MULTILINE)
_USED = re.compile(r"\[\^([^\]\s]+)\](?!:)")
_PLAIN_HTML = re.compile(
    r"(?:[^<]|<(?![a-z])|<(?:a|abbr|b|big|blockquote|br|caption|center|cite|code|col|colgroup|dd|del|details|div|dl|dt|em"
    r"|figcaption|figure|h[1-6]|hr|i|img|ins|kbd|li|ol|p|picture|pre|q|s|samp|small|source|span|strike|strong|sub|summary"
    r"|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|wbr)"
    r"(?:\s+(?:align|alt|border|class|colspan|height|href|id|lang|name|open|rel|rowspan|src|srcset|start|target|title|type"
    r"|valign|width)(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]+))?)*\s*/?>)*",
    re.IGNORECASE,
)
"""HTML whose elements and attributes hide nothing."""


def parse(source: Source, media_type: str) -> Parsed:
    """The whole text, front matter and code included."""
    writer = source.writer()
    text = "".join(_without_comments(source.decoded.text.replace("\r\n", "\n"), writer))
    writer.line(_shown(text, writer))
    writer.sections += sections_of(writer.finish()[0])
    return finish(source, writer, media_type, PARSER, decoded=source.decoded)


def _without_comments(text: str, writer: TextWriter) -> Iterator[str]:
    """The pieces between HTML comments that are to be left out. In code, or without an end, `<!--` is text."""
    start = place = 0
    while match := _SPECIAL.search(text, place):
        if match["fence"]:
            closing = re.compile(rf"^ {{0,3}}{match['fence']}{match['fence'][0]}*[ \t]*$", re.MULTILINE)
            place = _end(closing.search(text, match.end()), len(text))
        elif match["code"]:
            closing = re.compile(rf"(?<!`){match['code']}(?!`)")
            place = _end(closing.search(text, match.end(), match.end() + _SPAN), match.end())
        elif (end := text.find("-->", match.end())) < 0:
            break
        else:
            place = end + 3
            if writer.hide("marked_hidden", text[match.end() : end]):
                yield text[start : match.start()]
                start = place
    yield text[start:]


def _end(closing: re.Match[str] | None, otherwise: int) -> int:
    """The end of code: that of its closing mark, else `otherwise`. A fence that nothing closes goes to the end of
    the text, a mark within a line is a mark."""
    return closing.end() if closing else otherwise


def _shown(text: str, writer: TextWriter) -> str:
    """The text without definitions, footnotes and titles that are to be left out as hidden."""
    if not _MAY_HIDE.search(text):
        return text
    try:
        unshown = sorted(_unshown(text[:_MOST], writer))
    except RecursionError:
        unshown = None
    if unshown is None or len(text) > _MOST:
        writer.doubt("its marks are too many or nested too deep")
    pieces, place = [], 0
    for start, end in unshown or ():
        if start >= place and writer.hide("marked_hidden", text[start:end]):
            pieces.append(text[place:start])
            place = end
    return "".join(pieces) + text[place:]


def _unshown(text: str, writer: TextWriter) -> Iterator[tuple[int, int]]:
    """From where to where stands what a page does not show; a doubt where only a browser could tell."""
    # A footnote ends at its line here, so that a definition below it is one, as in the dialects that know footnotes.
    lines = _NOTE_MARK.sub(lambda mark: "#" + " " * (len(mark[0]) - 1), text)
    tokens = MarkdownIt("commonmark", _MARKUP).enable("table").parse(lines)
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    inline = [one for token in tokens for one in token.children or ()]
    used = {one.meta["label"] for one in inline if "label" in one.meta}
    for token in tokens:
        if token.map is None:
            continue
        begin, end = starts[token.map[0]], min(starts[token.map[1]], len(text))
        if token.type == "definition" and token.meta["id"] not in used:
            yield begin, end
        elif token.type == "definition":
            yield from _titles(text, begin, end, [token.meta["title"]], writer)
        elif token.type == "fence" and (words := token.info.split(maxsplit=1))[1:]:
            at = text.find(words[1], begin)
            yield at, at + len(words[1])
        elif token.type == "inline":
            yield from _titles(
                text,
                begin,
                end,
                [one.attrs.get("title") for one in token.children or () if "label" not in one.meta],
                writer,
            )
    if not all(_PLAIN_HTML.fullmatch(one.content) for one in (*tokens, *inline) if one.type.startswith("html_")):
        writer.doubt("HTML within it may hide text")
    code = [(starts[one.map[0]], starts[one.map[1]]) for one in tokens if one.type in _CODE and one.map]
    cited = set(_USED.findall(text))
    for note in _FOOTNOTE.finditer(text):
        at = bisect_right(code, (note.start(), len(text)))
        inside = at > 0 and note.start() < code[at - 1][1]
        if not inside and note[1] not in cited:
            yield note.span()


def _titles(text: str, start: int, end: int, titles: list[Any], writer: TextWriter) -> Iterator[tuple[int, int]]:
    """Where the titles of links and pictures stand between `start` and `end`, with their marks."""
    for title_ in titles:
        if not title_:
            continue
        found = re.compile(rf"[ \t\n]+([\"'(]){re.escape(str(title_))}[\"')]").search(text, start, end)
        if found:
            yield found.span()
            start = found.end()
        else:
            writer.doubt("titles of links are written in another way than they are read")


def sections_of(text: str) -> Iterator[Section]:
    """The headings, marked by # or underlined, outside of front matter and of code between fences."""
    fence, start, before = "", 0, ""  # `before`: the last line, where it is one of a paragraph
    front = text.startswith("---\n")
    for number, line in enumerate(text.split("\n")):
        if front:
            front = number == 0 or line.rstrip() not in {"---", "..."}
        elif fence:
            closing = _FENCE.fullmatch(line)
            fence = "" if closing and closing[1].startswith(fence) and not closing[2].strip() else fence
        elif opening := _FENCE.fullmatch(line):
            fence, before = opening[1], ""
        elif (marked := _MARKED.fullmatch(line)) and marked[2]:
            before = ""
            yield Section(start, len(marked[1]), "heading", title(marked[2]))
        elif before and (underline := _UNDERLINE.fullmatch(line)):
            yield Section(start - len(before) - 1, 1 + (underline[1][0] == "-"), "heading", title(before))
            before = ""
        else:
            before = "" if _NO_PARAGRAPH.match(line) else line
        start += len(line) + 1
