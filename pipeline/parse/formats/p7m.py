"""Signed envelopes (.p7m): the document in it becomes one of its own. The signature is not checked."""

from pathlib import PurePosixPath

from pipeline.document import Parsed
from pipeline.parse.contract import Source, finish
from pipeline.parse.mail.header import is_entity
from pipeline.parse.mail.signed import signed_content

PARSER = "p7m/2"


def parse(source: Source, media_type: str) -> Parsed:
    """The document that was signed; raises DocumentError."""
    path = PurePosixPath(source.name)
    name = path.stem if path.suffix.lower() in {".p7m", ".p7s"} else f"{path.stem or 'document'}.signed"
    content = signed_content(source.data)
    source.members.add(f"{name}.eml" if is_entity(content) else name, [content])
    return finish(source, source.writer(), media_type, PARSER, notes=["its signature was not checked"])
