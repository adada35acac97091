"""Documents and names made to break out of a page: markup in names, texts, mails, hidden text, attributes and notes."""

import io
import json
import random
import zipfile
from collections.abc import Iterator
from email.message import EmailMessage
from html import escape

from tests.hidden.docx import techniques
from tests.pdf_files import pdf, words

EVIL = "x-evil"
"""The name of an element that no page of ours has."""
PRODUCT = "215979"
"""What a template in one of them would become."""
PAYLOADS = (
    f"<{EVIL}>",
    f"<script>{EVIL}()</script>",
    f'"><{EVIL} onload="{EVIL}()">',
    f"'><{EVIL} onerror='{EVIL}()'>",
    f'" onmouseover="{EVIL}()" data-{EVIL}="',
    f"' autofocus onfocus={EVIL}() '",
    f"</textarea></title></script></style></pre></select><{EVIL}>",
    f"--><{EVIL}><!--",
    f"]]><{EVIL}><![CDATA[",
    f"<img src=//{EVIL}.example/a.png onerror={EVIL}()>",
    f"<svg><animate onbegin={EVIL}() attributeName=x dur=1s></svg>",
    f"<base href=//{EVIL}.example/><meta http-equiv=refresh content='0;url=//{EVIL}.example/'>",
    f"<a href=javascript:{EVIL}()>{EVIL}</a>",
    f"<iframe srcdoc='<{EVIL}>'></iframe>",
    f"{{{{ 71993 * 3 }}}}{{% raw %}}<{EVIL}>",
    f"&lt;{EVIL}&gt;<{EVIL}&gt;",
    f"\u202e<{EVIL}>\u202c\u200b",
    f"\x1b[31m<{EVIL}>\x07",
    f"<{EVIL} style=position:fixed;inset:0>",
    f"\ud83d\ude00<{EVIL}>".encode("utf-16", "surrogatepass").decode("utf-16"),
    f"%3C{EVIL}%3E+<{EVIL}>",
    f"<form action=//{EVIL}.example><button>Accept</button></form>",
)
_WORDS = [
    "The",
    "landlord",
    "leases",
    "the",
    "flat",
    "to",
    "the",
    "tenant",
    ".",
    "Invoice",
    "total",
    "due",
    "EUR",
    "120.00",
    "rent",
    "first",
    "month",
    "account",
]


def documents(count: int, seed: int = 7) -> Iterator[tuple[str, bytes]]:
    """Names of files, each once, and their bytes; the same for the same seed."""
    chance = random.Random(seed)
    makers = (_text, _html, _mail, _csv, _json, _markdown, _pdf, _docx, _zip, _broken)
    for number in range(count):
        maker = makers[number % len(makers)]
        suffix, data = maker(chance)
        yield f"{number:04d} {_name(chance.choice(PAYLOADS))}.{suffix}", data


def _name(payload: str) -> str:
    """A payload as the name of a file can have it."""
    return payload.replace("/", "\u2215").replace("\0", "").encode()[:150].decode("utf-8", "ignore")


def _prose(chance: random.Random, times: int = 4) -> str:
    sentences = []
    for _ in range(times):
        some = [chance.choice(_WORDS) for _ in range(12)]
        some.insert(chance.randrange(12), chance.choice(PAYLOADS))
        sentences.append(" ".join(some) + ".")
    return "\n".join(sentences)


def _text(chance: random.Random) -> tuple[str, bytes]:
    return "txt", _prose(chance, 8).encode()


def _html(chance: random.Random) -> tuple[str, bytes]:
    said = escape(_prose(chance))
    secret = f"<p style='display:none'>{escape(chance.choice(PAYLOADS))} secret</p>"
    heading = escape(chance.choice(PAYLOADS))
    table = f"<table><tr><td>{heading}<td>1</tr><tr><td>total<td>{escape(chance.choice(PAYLOADS))}</tr></table>"
    return "html", f"<title>{heading}</title><h1>{heading}</h1><p>{said}</p>{table}{secret}{_prose(chance, 2)}".encode()


def _mail(chance: random.Random) -> tuple[str, bytes]:
    mail = EmailMessage()
    mail["Subject"] = _line(chance.choice(PAYLOADS))
    mail["From"] = "a@example.com"
    mail["X-Note"] = _line(chance.choice(PAYLOADS))
    mail.set_content(_prose(chance))
    mail.add_attachment(
        _prose(chance).encode(), "text", "plain", filename=_line(_name(chance.choice(PAYLOADS))) + ".txt"
    )
    return "eml", mail.as_bytes()


def _line(text: str) -> str:
    return "".join(one for one in text if one.isprintable())


def _csv(chance: random.Random) -> tuple[str, bytes]:
    rows = [f'"{chance.choice(PAYLOADS).replace(chr(34), chr(34) * 2)}";total;120.00' for _ in range(5)]
    return "csv", "\n".join(["name;what;sum", *rows]).encode()


def _json(chance: random.Random) -> tuple[str, bytes]:
    return "json", json.dumps({chance.choice(PAYLOADS): chance.choice(PAYLOADS), "text": _prose(chance)}).encode()


def _markdown(chance: random.Random) -> tuple[str, bytes]:
    return "md", f"# {chance.choice(PAYLOADS)}\n\n<!-- {chance.choice(PAYLOADS)} -->\n\n{_prose(chance)}\n".encode()


def _pdf(chance: random.Random) -> tuple[str, bytes]:
    return "pdf", pdf(words(*_line_by_line(_prose(chance))), title=chance.choice(PAYLOADS))


def _line_by_line(text: str) -> list[str]:
    return ["".join(one for one in line if one.isprintable() and ord(one) < 256) for line in text.split("\n")]


def _docx(chance: random.Random) -> tuple[str, bytes]:
    technique = chance.choice([one for one in techniques() if one.hidden])
    source, out = zipfile.ZipFile(io.BytesIO(technique.data)), io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            data = source.read(name).decode()
            for word in technique.hidden + technique.shown:
                data = data.replace(f">{word}", f">{escape(_line(chance.choice(PAYLOADS)))} {word}")
            target.writestr(name, data)
    return "docx", out.getvalue()


def _zip(chance: random.Random) -> tuple[str, bytes]:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(f"{_name(chance.choice(PAYLOADS))}/{_name(chance.choice(PAYLOADS))}.txt", _prose(chance))
        archive.writestr(f"../{_name(chance.choice(PAYLOADS))}", "out")
    return "zip", out.getvalue()


def _broken(chance: random.Random) -> tuple[str, bytes]:
    """Something that cannot be read, whose reason may quote it."""
    payload = chance.choice(PAYLOADS).encode("utf-8", "ignore")
    return chance.choice(
        [("pdf", b"%PDF-1.7 " + payload), ("png", b"\x89PNG\r\n\x1a\n" + payload), ("docx", b"PK\x03\x04" + payload),
         ("txt", b""), ("bin", b"\x00\x01" + payload * 40)]
    )  # fmt: skip
