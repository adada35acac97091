"""Pages that show pictures of text, as scanners and offices make them, and fonts that hide what they show."""

import ctypes
import io
from collections.abc import Callable
from pathlib import Path

import reportlab
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase.ttfonts import TTFontFile
from reportlab.pdfgen.canvas import Canvas

from pipeline.parse.pdf.binding import pointer, raw
from pipeline.parse.pdf.text.letters import outline_of
from tests.pdf_files import stream, with_font

LINES = (
    "This agreement is made between the parties named below.",
    "The supplier delivers the goods within thirty days.",
    "Payment is due on receipt of the invoice, without discount.",
    "Either party may terminate by written notice of six weeks.",
)
A4 = (0.0, 0.0, 595.0, 842.0)
Draw = Callable[[Canvas], None]
_VERA = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"


def scan(*lines: str, size: tuple[int, int] = (1654, 2339), height: int = 44) -> Image.Image:
    """A picture of these lines, black on white; a page of A4 at 200 dots an inch."""
    picture = Image.new("L", size, 250)
    for place, line in enumerate(lines or LINES):
        ImageDraw.Draw(picture).text((150, 150 + 2.5 * height * place), line, 10, ImageFont.load_default(height))
    return picture


def photograph(size: tuple[int, int] = (800, 600)) -> Image.Image:
    """Shapes in many greys without any letter."""
    picture = Image.linear_gradient("L").resize(size)
    for place in range(12):
        box = (60 * place, 40 * place, 60 * place + 220, 40 * place + 160)
        ImageDraw.Draw(picture).ellipse(box, fill=(37 * place) % 256)
    return picture.filter(ImageFilter.GaussianBlur(5))


def png(picture: Image.Image) -> bytes:
    """The bytes of a PNG file."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def drawn(picture: Image.Image, x: float, y: float, width: float, height: float) -> Draw:
    """A picture at a place of the page, in points."""
    return lambda canvas: canvas.drawImage(ImageReader(picture), x, y, width, height)


def typed(x: float, y: float, *lines: str) -> Draw:
    """Lines of text, from a place downwards."""

    def draw(canvas: Canvas) -> None:
        for place, line in enumerate(lines):
            canvas.drawString(x, y - 20 * place, line)

    return draw


def layer(*lines: str) -> Draw:
    """Lines that are not painted, over those of a scan of the whole page."""

    def draw(canvas: Canvas) -> None:
        canvas.saveState()
        text = canvas.beginText()
        text.setTextRenderMode(3)
        for place, line in enumerate(lines):
            text.setTextOrigin(54, 842 - (150 + 40 + 110 * place) * 842 / 2339)
            text.textOut(line)
        canvas.drawText(text)
        canvas.restoreState()

    return draw


def outlined(x: float, y: float, *lines: str, size: float = 14) -> list[bytes]:
    """Lines as areas in place of letters: a path for each letter."""
    document = raw.FPDF_CreateNewDocument()
    font = raw.FPDFText_LoadStandardFont(document, b"Helvetica")
    width, paths = ctypes.c_float(), []
    for place, line in enumerate(lines):
        at = x
        for one in line:
            points = [
                [b"%.2f %.2f" % (at + size * px, y - 2 * size * place + size * py) for px, py in contour]
                for contour in outline_of(pointer(font), one)
            ]
            paths.append(b" ".join(b"%s m %s l h" % (some[0], b" l ".join(some[1:])) for some in points))
            raw.FPDFFont_GetGlyphWidth(font, ord(one), size, width)
            at += width.value
    raw.FPDFFont_Close(font)
    raw.FPDF_CloseDocument(document)
    return [path for path in paths if path]


def all_of(*draws: Draw) -> Draw:
    """A page of all these."""

    def draw(canvas: Canvas) -> None:
        for one in draws:
            one(canvas)

    return draw


def glyph_numbers(lines: tuple[str, ...], mapped: Callable[[str], bytes | None] | None = None) -> bytes:
    """A page in a Type 0 font whose codes are numbers of glyphs.

    `mapped` gives for a character what the font's ToUnicode map says, in hexadecimal, or None where it says nothing;
    without it the font has no such map.
    """
    font = TTFontFile(str(_VERA))
    glyphs = font.charToGlyph
    characters = sorted(set("".join(lines)))
    widths = b" ".join(b"%d [%d]" % (glyphs[ord(one)], font.charWidths.get(ord(one), 600)) for one in characters)
    said = [(glyphs[ord(one)], mapped(one)) for one in characters] if mapped else []
    pairs = [b"<%04x> <%s>" % (glyph, unicode) for glyph, unicode in said if unicode is not None]
    map_ = b"begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange %d beginbfchar %s endbfchar endcmap" % (
        len(pairs),
        b" ".join(pairs),
    )
    return with_font(
        _shown(lines, lambda one: b"%04x" % glyphs[ord(one)]),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /AAAAAA+Vera /Encoding /Identity-H /DescendantFonts [8 0 R] %s >>"
        % (b"/ToUnicode 9 0 R" if mapped else b""),
        _descriptor(7),
        stream(_VERA.read_bytes()),
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /AAAAAA+Vera /CIDToGIDMap /Identity /FontDescriptor 6 0 R "
        b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /W [%s] >>" % widths,
        stream(map_),
    )


def shuffled(lines: tuple[str, ...], first: int) -> bytes:
    """A page in a TrueType font without a map, whose codes count its letters as they come, from `first` on."""
    font = TTFontFile(str(_VERA))
    letters = list(dict.fromkeys("".join(lines)))
    data = font.makeSubset([32] * first + [ord(one) for one in letters])
    widths = b" ".join(b"%d" % font.charWidths.get(ord(one), 600) for one in letters)
    return with_font(
        _shown(lines, lambda one: b"%02x" % (first + letters.index(one))),
        b"<< /Type /Font /Subtype /TrueType /BaseFont /AAAAAA+Vera /FirstChar %d /LastChar %d /Widths [%s] "
        b"/FontDescriptor 6 0 R >>" % (first, first + len(letters) - 1, widths),
        _descriptor(7),
        stream(data),
    )


def type3(lines: tuple[str, ...], first: int) -> bytes:
    """A page in a Type 3 font of bitmaps, whose glyphs are called /g0, /g1 and so on."""
    letters = list(dict.fromkeys("".join(lines)))
    font = ImageFont.load_default(48)
    procedures, widths = [], []
    for one in letters:
        width = max(1, round(font.getlength(one)))
        glyph = Image.new("1", (width, 60), 1)
        ImageDraw.Draw(glyph).text((0, 0), one, 0, font)
        head = b"%d 0 0 0 %d 60 d1 q %d 0 0 60 0 -12 cm BI /W %d /H 60 /IM true /BPC 1 /D [0 1] ID "
        procedures.append(stream(head % ((width,) * 4) + glyph.tobytes() + b" EI Q"))
        widths.append(b"%d" % width)
    names = [b"/g%d" % place for place in range(len(letters))]
    glyphs = b" ".join(b"%s %d 0 R" % (name, 6 + place) for place, name in enumerate(names))
    return with_font(
        _shown(lines, lambda one: b"%02x" % (first + letters.index(one))),
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 -20 60 60] /FontMatrix [.02 0 0 .02 0 0] /FirstChar %d "
        b"/LastChar %d /Widths [%s] /Encoding << /Differences [%d %s] >> /CharProcs << %s >> /Resources << >> >>"
        % (first, first + len(letters) - 1, b" ".join(widths), first, b" ".join(names), glyphs),
        *procedures,
    )


def _descriptor(file: int) -> bytes:
    return (
        b"<< /Type /FontDescriptor /FontName /AAAAAA+Vera /Flags 4 /FontBBox [-183 -236 1287 928] /ItalicAngle 0 "
        b"/Ascent 928 /Descent -236 /CapHeight 730 /StemV 87 /FontFile2 %d 0 R >>" % file
    )


def _shown(lines: tuple[str, ...], code: Callable[[str], bytes]) -> bytes:
    shown = b" ".join(b"<%s> Tj T*" % b"".join(map(code, line)) for line in lines)
    return b"BT /F 14 Tf 24 TL 72 760 Td " + shown + b" ET"
