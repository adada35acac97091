"""Documents made to hide text and to exhaust who looks for it: huge pictures, piles of them, hostile style sheets."""

import random
import zlib

_PAGE = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<<{}>>>>>>"
_FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def _pdf(content: str, pictures: list[bytes], names: str) -> bytes:
    """A page with this content and the pictures, which `names` names."""
    body = content.encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        _PAGE.format(names).encode(),
        b"<</Length %d>>stream\n%b\nendstream" % (len(body), body),
        _FONT.encode(),
        *pictures,
    ]
    whole = b"".join(b"%d 0 obj%b endobj\n" % (number, each) for number, each in enumerate(objects, 1))
    return b"%PDF-1.4\n" + whole + b"trailer<</Root 1 0 R>>"


def _picture(side: int, data: bytes) -> bytes:
    head = f"<</Type/XObject/Subtype/Image/Width {side}/Height {side}/BitsPerComponent 8/ColorSpace/DeviceGray"
    return head.encode() + b"/Filter/FlateDecode/Length %d>>stream\n%b\nendstream" % (len(data), data)


def huge_picture(rng: random.Random) -> bytes:
    """A few points of picture that say they are billions of pixels, over a text."""
    picture = _picture(rng.randint(30_000, 60_000), zlib.compress(bytes(100)))
    return _pdf("BT /F 9 Tf 20 100 Td (covered words) Tj ET q 160 0 0 40 10 90 cm /P Do Q", [picture], "/P 6 0 R")


def many_pictures(rng: random.Random) -> bytes:
    """Thousands of pictures on a page, each of which may be one of text."""
    content = "".join(
        f"q 60 0 0 60 {rng.randrange(140)} {rng.randrange(140)} cm /P Do Q\n" for _ in range(rng.randint(2000, 4000))
    )
    return _pdf(content, [_picture(64, zlib.compress(rng.randbytes(64 * 64)))], "/P 6 0 R")


def many_rules(rng: random.Random) -> bytes:
    """Tens of thousands of rules, each of which has to be held against each of many elements."""
    rules = "".join(f":not(.a{number}) p:nth-child({number % 7}n) {{color: white}}" for number in range(20_000))
    return f"<style>{rules}</style><body>{'<p class=b>words' * rng.randint(10_000, 20_000)}".encode()


def doubling_variables(rng: random.Random) -> bytes:
    """Variables of a style sheet of which each is the one before it, twice."""
    depth = rng.randint(40, 200)
    variables = "".join(f"--v{n}: var(--v{n - 1}) var(--v{n - 1});" for n in range(1, depth))
    return f"<style>p {{--v0: red;{variables} color: var(--v{depth - 1})}}</style>{'<p>words' * 1000}".encode()


def mixed_marks(rng: random.Random) -> bytes:
    """Millions of characters that are not shown between letters of several scripts."""
    marks = "\ufe0f\u180b\u200b\u2062\u3164\U0001d173\U000e0041"
    return "".join(rng.choice("a\u0430\u03b1\u0627") + rng.choice(marks) for _ in range(1_000_000)).encode()
