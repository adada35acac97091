"""Markdown (CommonMark 0.31): the text as it stands, but for comments, which no page shows; headings name sections."""

import re
from collections.abc import Iterator

from pipeline.document import Parsed, Section
from pipeline.parse.contract import Source, finish
from pipeline.parse.writer import TextWriter, title

PARSER = "md/2"
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_MARKED = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_NO_PARAGRAPH = re.compile(r" {4}|\t| {0,3}(?:[-*+>|]|\d+[.)])(?:\s|$)| {0,3}[>|]|\s*$")
_SPECIAL = re.compile(r"^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})|(?P<code>`+)|<!--", re.MULTILINE)
_SPAN = 10_000  # characters of code within a line of text


def parse(source: Source, media_type: str) -> Parsed:
    """The whole text, front matter and code included."""
    writer = source.writer()
    writer.line("".join(_without_comments(source.decoded.text.replace("\r\n", "\n"), writer)))
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
