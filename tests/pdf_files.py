"""PDF files that tests make: by a library, or object by object."""

import io

from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas


def pdf(*pages, **options) -> bytes:
    """One function of a canvas a page."""
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1, **options)
    for draw in pages:
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def words(*lines: str):
    def draw(canvas: Canvas) -> None:
        for place, line in enumerate(lines):
            canvas.drawString(72, 760 - 20 * place, line)

    return draw


def image(canvas: Canvas) -> None:
    canvas.drawImage(ImageReader(Image.new("RGB", (8, 8), "red")), 72, 500, 200, 200)


def raw_pdf(*objects: bytes) -> bytes:
    """A PDF of these objects by hand; the first is the catalog."""
    parts, places = [b"%PDF-1.7\n"], []
    length = len(parts[0])
    for number, content in enumerate(objects, start=1):
        places.append(length)
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, content))
        length += len(parts[-1])
    parts.append(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    parts += [b"%010d 00000 n \n" % place for place in places]
    parts.append(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, length))
    return b"".join(parts)


def one_page(content: bytes, page: bytes = b"", dictionary: bytes = b"") -> bytes:
    return raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> "
        + page + b" >>",
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), dictionary, content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )  # fmt: skip


def with_font(content: bytes, font: bytes, *objects: bytes) -> bytes:
    """A page whose font /F is object 5; what it refers to follows as objects 6, 7 and so on."""
    return raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
        b"/Resources << /Font << /F 5 0 R >> >> >>",
        stream(content),
        font,
        *objects,
    )


def stream(content: bytes, dictionary: bytes = b"") -> bytes:
    """An object that is a stream."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), dictionary, content)
