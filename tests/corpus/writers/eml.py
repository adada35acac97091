"""An e-mail in the bytes of RFC 5322: encoded words, quoted-printable, an alternative in HTML, an attachment.

Written by hand, because the standard library folds headers differently from one Python to the next.
"""

import base64
import quopri
from itertools import groupby
from pathlib import PurePath
from urllib.parse import quote

from markup import Source

from writers import docx, html, pdf, plain

_MEDIA = {
    ".pdf": ("application/pdf", pdf.write),
    ".docx": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", docx.write),
    ".txt": ("text/plain; charset=utf-8", plain.write_txt),
}


def write(source: Source) -> bytes:
    """The body as an e-mail: text, with `Alternative` the same in HTML, and what `Attach` names."""
    headers = source.headers
    head = [_fold(f"{name}: {_words(headers[name])}") for name in ("From", "To", "Cc", "Subject") if name in headers]
    head += [f"Date: {headers['Sent']}", f"Message-ID: {headers['Id']}", "MIME-Version: 1.0"]
    return "\r\n".join([*head, _content(source)]).encode("ascii")


def _content(source: Source) -> str:
    text = _part("text/plain; charset=utf-8", plain.write_txt(source))
    if "Alternative" in source.headers:
        text = _multipart("alternative", [text, _part("text/html; charset=utf-8", html.write(source))])
    files = [_attachment(name, attached) for name, attached in source.attached.items()]
    return _multipart("mixed", [text, *files]) if files else text


def _part(media_type: str, data: bytes) -> str:
    lines = quopri.encodestring(data).decode("ascii").replace("\n", "\r\n")
    return f"Content-Type: {media_type}\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n{lines}"


def _attachment(name: str, source: Source) -> str:
    media_type, write_file = _MEDIA[PurePath(name).suffix]
    lines = base64.encodebytes(write_file(source)).decode("ascii").replace("\n", "\r\n")
    place = f"Content-Disposition: attachment; filename*=utf-8''{quote(name)}"
    return f"Content-Type: {media_type}\r\n{place}\r\nContent-Transfer-Encoding: base64\r\n\r\n{lines}"


def _multipart(kind: str, parts: list[str]) -> str:
    mark = f"=_cloister_demo_{kind}"
    body = "".join(f"--{mark}\r\n{part}\r\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{mark}"\r\n\r\n{body}--{mark}--\r\n'


def _fold(line: str) -> str:
    """RFC 2047 allows 76 characters on a line that holds an encoded word."""
    lines = [""]
    for word in line.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) > 75:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] or len(lines) > 1 else word
    return "\r\n".join(lines)


def _words(value: str) -> str:
    """RFC 2047: neighbouring words that are not ASCII become one encoded word."""
    runs = ((ascii_only, " ".join(run)) for ascii_only, run in groupby(value.split(" "), str.isascii))
    return " ".join(run if ascii_only else _encode(run) for ascii_only, run in runs)


def _encode(run: str) -> str:
    letters = "".join(chr(b) if chr(b).isalnum() and b < 128 else f"={b:02X}" for b in run.encode())
    if len(letters) > 63:
        raise ValueError(f"{run!r} is too long for one encoded word")
    return f"=?utf-8?q?{letters}?="
