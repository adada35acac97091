"""How a mail is laid out, whatever format it came in: its head, its body, where something is attached or forwarded."""

from collections.abc import Iterable

from pipeline.parse.mail.header import header_text
from pipeline.parse.mail.parts import Part
from pipeline.parse.unpack.names import one_name
from pipeline.parse.writer import TextWriter, one_line

SHOWN = ("From", "To", "Cc", "Date", "Subject")
PICTURES = "pictures shown in its text, not read"
_SUFFIXES = {
    "application/pdf": "pdf", "application/msword": "doc", "application/rtf": "rtf", "application/zip": "zip",
    "application/json": "json", "application/xml": "xml", "text/plain": "txt", "text/html": "html", "text/csv": "csv",
    "text/xml": "xml", "text/calendar": "ics", "text/vcard": "vcf", "text/x-vcard": "vcf", "image/jpeg": "jpg",
    "image/png": "png", "image/gif": "gif", "image/tiff": "tif", "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt", "application/ms-tnef": "tnef", "application/gzip": "gz",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}  # fmt: skip


class MailLayout:
    """A mail being written; each of its MIME parts is a section."""

    def __init__(self, writer: TextWriter) -> None:
        self.writer = writer
        self._title = ""

    def enter(self, title: str) -> None:
        """Begin the section of the MIME part with this title, unless it is the present one."""
        if title != self._title:
            self.writer.section(title, "mail")
            self._title = title
        self.writer.gap()

    def head(self, title: str, fields: Iterable[tuple[str, str]]) -> None:
        """Write the fields, a line each; those without a text are left out."""
        self.enter(title)
        for name, value in fields:
            if text := one_line(value):
                self.writer.line(f"{name}: {text}")
        self.writer.gap()

    def attachment(self, title: str, name: str) -> None:
        """Write a line where something is attached."""
        self.enter(title)
        self.writer.block(f"Attachment: {name}")

    def forwarded(self, subject: str) -> str:
        """Write a line where a message is forwarded; returns the title of its section."""
        title = f"Forwarded message: {subject}" if subject else "Forwarded message"
        self.enter(title)
        self.writer.block("Forwarded message:")
        return title


def file_name(name: str) -> str:
    """A name that a sender gave, as one of a file: a path is none of his business."""
    name = name.rpartition("\\")[2] if name[1:3] == ":\\" else name
    return one_name(name)


def name_of(part: Part) -> str:
    """The name of the document that a MIME part becomes."""
    given = header_text(part.header.get_filename() or "")
    return file_name(given or f"part-{part.number}.{_SUFFIXES.get(part.kind, 'bin')}")
