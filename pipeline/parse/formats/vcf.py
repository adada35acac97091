"""Cards of people (RFC 6350, vCard 2.1 and 3.0), written as the fields of calendars are."""

from pipeline.document import Parsed
from pipeline.parse.contract import Source
from pipeline.parse.formats import ics

PARSER = ics.PARSER.replace("ics", "vcf")


def is_mine(source: Source) -> bool:
    """Whether the document begins as a card does."""
    return ics.begins(source.data) == "CARD"


def parse(source: Source, media_type: str) -> Parsed:
    """The people in it; raises DocumentError."""
    return ics.read(source, media_type, PARSER)
