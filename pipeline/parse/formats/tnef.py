"""winmail.dat, in which Outlook sends what other mail programs cannot read: head, body, files ([MS-OXTNEF])."""

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish
from pipeline.parse.formats.msg import write_body
from pipeline.parse.mail.layout import MailLayout, file_name
from pipeline.parse.office.binary.tnef import SIGNATURE, read_tnef

PARSER = "tnef/1"


def is_mine(source: Source) -> bool:
    """Whether the document begins as such a file does."""
    return source.data.startswith(SIGNATURE)


def parse(source: Source, media_type: str) -> Parsed:
    """The message; raises DocumentError."""
    item, writer = read_tnef(source.data), source.writer()
    layout = MailLayout(writer)
    layout.head("Headers", item.head)
    layout.enter("Body")
    notes = write_body(writer, item.body, source.members)
    for name, data in item.files:
        layout.attachment("Body", name)
        source.members.add(file_name(name), [data])
    if item.damage:
        writer.review(item.damage)
    return finish(source, writer, media_type, PARSER, notes=notes)
