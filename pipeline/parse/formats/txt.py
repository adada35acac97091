"""Plain text, and all that is written to be read as such: the text itself, as it stands."""

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish

PARSER = "txt/1"


def parse(source: Source, media_type: str) -> Parsed:
    """The whole text; only line ends are unified and invisible characters left out."""
    writer = source.writer()
    writer.line(source.decoded.text)
    return finish(source, writer, media_type, PARSER, decoded=source.decoded)
