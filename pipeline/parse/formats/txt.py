"""Plain text, and all that is written to be read as such: the text itself, as it stands."""

import re

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish

PARSER = "txt/1"
_TOLD = re.compile(r"\x1b\[[0-?]*[ -/]*([@-~])")  # to a terminal (ECMA-48, 5.4); m: a colour or style


def parse(source: Source, media_type: str) -> Parsed:
    """The whole text; line ends are unified, invisible characters and what steers a terminal left out."""
    writer = source.writer()
    writer.line(_TOLD.sub(lambda told: "" if told[1] == "m" else "\x1b", source.decoded.text))
    return finish(source, writer, media_type, PARSER, decoded=source.decoded)
