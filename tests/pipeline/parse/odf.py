"""OpenDocument files and books by hand."""

import io
import zipfile

NAMES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        "office": "office", "text": "text", "table": "table", "style": "style", "form": "form", "chart": "chart",
        "presentation": "presentation", "draw": "drawing", "fo": "xsl-fo-compatible", "svg": "svg-compatible",
    }.items()
)  # fmt: skip
NAMES += ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
NAMES += ' xmlns:math="http://www.w3.org/1998/Math/MathML"'
MIME = "application/vnd.oasis.opendocument."


def zipped(files: dict[str, str | bytes]) -> bytes:
    """A ZIP container, deflated."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def content(kind: str, body: str, automatic: str = "") -> str:
    """The XML of content.xml: a body of a kind ("text", "chart") and the automatic styles."""
    return (
        f"<office:document-content {NAMES}><office:automatic-styles>{automatic}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )


def opendocument(
    kind: str, body: str, *, automatic: str = "", styles: str = "", master: str = "", **files: str | bytes
) -> bytes:
    """A document of a kind ("text", "presentation", "spreadsheet"); further files by name, "/" written "__"."""
    common = (
        f"<office:document-styles {NAMES}><office:styles>{styles}</office:styles>"
        f"<office:master-styles>{master}</office:master-styles></office:document-styles>"
    )
    parts: dict[str, str | bytes] = {
        "mimetype": MIME + {"drawing": "graphics"}.get(kind, kind),
        "META-INF/manifest.xml": "<manifest/>",
        "content.xml": content(kind, body, automatic),
        "styles.xml": common,
    }
    return zipped(parts | {name.replace("__", "/"): data for name, data in files.items()})


def flat(kind: str, body: str, automatic: str = "") -> bytes:
    """The same in one XML file."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document {NAMES} office:mimetype="{MIME}{kind}">'
        f"<office:automatic-styles>{automatic}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document>"
    ).encode()


def book(chapters: dict[str, str], *, spine: str = "", manifest: str = "", **files: str | bytes) -> bytes:
    """An EPUB with chapters by file name, all in the spine unless it is given."""
    items = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="application/xhtml+xml"/>' for name in chapters
    )
    spine = spine or "".join(f'<itemref idref="{name}"/>' for name in chapters)
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        "<dc:title>A Book</dc:title><dc:creator>Ann Author</dc:creator></metadata>"
        f"<manifest>{items}{manifest}</manifest><spine>{spine}</spine></package>"
    )
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OPS/book.opf"/></rootfiles></container>',
        "OPS/book.opf": opf,
    }
    parts |= {f"OPS/text/{name}.xhtml": page(body) for name, body in chapters.items() if body}
    return zipped(parts | {name.replace("__", "/"): data for name, data in files.items()})


def page(body: str) -> str:
    """A chapter as XHTML; its title is no part of the text."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">'
        f"<head><title>not shown</title></head><body>{body}</body></html>"
    )
