"""Markdown (CommonMark 0.31): the text as it stands; its headings name its sections."""

import re
from collections.abc import Iterator

from pipeline.document import Parsed, Section
from pipeline.parse.formats.base import Source, finish
from pipeline.parse.writer import title

PARSER = "md/1"
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_MARKED = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_NO_PARAGRAPH = re.compile(r" {4}|\t| {0,3}(?:[-*+>|]|\d+[.)])(?:\s|$)| {0,3}[>|]|\s*$")


def parse(source: Source, media_type: str) -> Parsed:
    """The whole text; front matter, code and comments included."""
    writer = source.writer()
    writer.line(source.decoded.text)
    writer.sections += sections_of(writer.finish()[0])
    return finish(source, writer, media_type, PARSER, decoded=source.decoded)


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
