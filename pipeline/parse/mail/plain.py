"""Take the plain text of a mail apart: soft line breaks are joined (RFC 3676), files and ciphers in it are cut out.

uuencoded files (POSIX, `uuencode`) are decoded; yEnc and BinHex are named. Of OpenPGP (RFC 9580, 6.2 and 7) a cipher or
a key is cut out, and what is signed in clear is read without its armour.
"""

import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.errors import Failure
from pipeline.parse.members import Members
from pipeline.parse.unpack.names import one_name

_ARMOUR = re.compile(r"-----(BEGIN|END) PGP ([A-Z ]+?)(?:, PART [\d/]+)?-----")
_OF_ARMOUR = re.compile(r"[A-Za-z0-9+/=]*|(?:Version|Comment|Charset|Hash|MessageID): .*")
_HEADER_OF_SIGNED = re.compile(r"(?:Hash|Charset|NotDashEscaped|Comment|Version): .*")
_BEGIN = re.compile(r"begin(-base64)? [0-7]{3,4} (\S.*)")
_UU = re.compile(r"[ -`]*")
_YENC = re.compile(r"=ybegin (?:.*? )?size=\d+(?:.*? name=(.+))?")
_YEND = "=yend"
_OF_BINHEX = re.compile(r"[!-~]*\s*")
UNREAD = "found a file in {}; decode it and drop what is inside"
_BINHEX = "(This file must be converted with BinHex"
IN_TEXT = ("=ybegin line=", _BINHEX)  # how files begin that are written as text and not decoded
ARMOUR = "-----BEGIN PGP "
LOCKED = "an encrypted message (OpenPGP)"
_ENRICHED = re.compile(r"<<|<param>[^<]*(?:<<[^<]*)*</param>|<(?:nl|lt)>|</?[a-z0-9-]{1,60}>", re.IGNORECASE)
_INSTEAD = {"<<": "<", "<lt>": "<", "<nl>": "\n"}
_MARKS = (ARMOUR, "begin", "=ybegin ", _BINHEX)  # one of which a text has if anything is cut out of it


@dataclass(frozen=True)
class File:
    """A file that stood in a text: its bytes, or the reason why it is not read."""

    name: str
    data: bytes = b""
    reason: str = ""


@dataclass
class Plain:
    """What a text says besides the files and ciphers that stood in it."""

    text: str
    files: list[File] = field(default_factory=list)
    locked: bool = False  # a cipher was cut out
    signed: bool = False
    keys: int = 0
    damage: list[str] = field(default_factory=list)


def unflow(text: str, *, joined: bool) -> str:
    """The text of a part that is `format=flowed` (RFC 3676, 4): a line that ends in a space goes on in the next one of
    the same depth of quoting, but for the signature's "-- ". `joined` (DelSp): without that space."""
    out, before = list[str](), None  # the depth of the line that goes on
    for line in text.replace("\r\n", "\n").split("\n"):
        content = line.lstrip(">")
        depth = len(line) - len(content)
        content = content.removeprefix(" ")
        is_signature, goes_on = content == "-- ", content.endswith(" ")
        if goes_on and joined and not is_signature:
            content = content[:-1]
        if before == depth and content and not is_signature:
            out.append(content)
        else:
            out.append(("\n" if out else "") + (">" * depth + " " if depth else "") + content)
        before = depth if goes_on and not is_signature else None
    return "".join(out)


def plain_of_enriched(text: str) -> str:
    """What text/enriched (RFC 1896), or the text/richtext before it, says: a single line break is a space, of several
    one goes; "<<" is "<", commands and their parameters go."""
    text = re.sub(r"\n+", lambda breaks: breaks[0][1:] or " ", text.replace("\r\n", "\n"))
    return _ENRICHED.sub(lambda found: _INSTEAD.get(found[0].lower(), ""), text)


def give(files: list[File], members: Members, folder: str) -> None:
    """Make documents of the files that stood in a text. Raises DocumentError(BOMB) beyond what is allowed."""
    for file in files:
        if file.reason:
            members.refuse(folder + file.name, 0, Failure.UNSUPPORTED, file.reason)
        else:
            members.add(folder + file.name, [file.data])


def take_apart(text: str) -> Plain:
    """The text without the files, ciphers and armour in it, and these."""
    if not any(mark in text for mark in _MARKS):
        return Plain(text)
    return _Reading(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")).plain()


class _Reading:
    """The lines of one text, of which those that are kept gather."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._plain = Plain("")
        self._kept: list[str] = []
        self._last = {
            mark: max((place for place, line in enumerate(self._lines) if line.startswith(mark)), default=-1)
            for mark in (_YEND, ":")
        }

    def plain(self) -> Plain:
        """What the text says, and what was cut out."""
        at = 0
        while at < len(self._lines):
            after = self._block(at)
            if after == at:
                self._kept.append(self._lines[at])
            at = max(after, at + 1)
        self._plain.text = "\n".join(self._kept)
        return self._plain

    def _block(self, at: int) -> int:
        """The line behind what begins at a line and is cut out; that line itself where nothing does."""
        line = self._lines[at]
        if armour := _ARMOUR.fullmatch(_unquoted(line)):
            return self._signed(at) if armour[2] == "SIGNED MESSAGE" else self._armour(at, armour[1], armour[2])
        if begin := _BEGIN.fullmatch(line.rstrip()):
            decode, last = (_of_base64, "====") if begin[1] else (_of_uu, "end")
            data, place = list[bytes](), at + 1
            while place < len(self._lines) and self._lines[place].strip() != last:
                piece = decode(self._lines[place])
                if piece is None:
                    break
                data.append(piece)
                place += 1
            ended = place < len(self._lines) and self._lines[place].strip() == last
            if not ended and not any(data):
                return at  # words that begin so
            if not ended:
                self._plain.damage.append(f"the file {one_name(begin[2])} in its text has no end")
            self._plain.files.append(File(one_name(begin[2]), b"".join(data)))
            return place + ended
        if (yenc := _YENC.match(line)) and at < self._last[_YEND]:
            self._plain.files.append(File(one_name(yenc[1] or "yenc.bin"), reason=UNREAD.format("yEnc")))
            return self._find(at, lambda one: one.startswith(_YEND)) + 1
        if line.startswith(_BINHEX) and at < self._last[":"]:
            first = self._find(at, lambda one: one.startswith(":"))
            self._plain.files.append(File("binhex.hqx", reason=UNREAD.format("BinHex 4.0")))
            return self._find(first, lambda one: not _OF_BINHEX.fullmatch(one) or one.rstrip().endswith(":")) + 1
        return at

    def _find(self, at: int, holds: Callable[[str], bool]) -> int:
        places = range(at + 1, len(self._lines))
        return next((place for place in places if holds(self._lines[place])), len(self._lines) - 1)

    def _signed(self, at: int) -> int:
        """Keep the text that is signed in clear, whose lines may be quoted by "- "; the line of its signature."""
        self._plain.signed = True
        at += 1
        while at < len(self._lines) and _HEADER_OF_SIGNED.fullmatch(_unquoted(self._lines[at])):
            at += 1
        while at < len(self._lines) and not _ARMOUR.fullmatch(_unquoted(self._lines[at])):
            self._kept.append(self._lines[at].removeprefix("- "))
            at += 1
        return at

    def _armour(self, at: int, begins: str, kind: str) -> int:
        if begins != "BEGIN":
            return at
        after = at + 1
        while after < len(self._lines) and _OF_ARMOUR.fullmatch(_unquoted(self._lines[after])):
            after += 1
        if after < len(self._lines) and (end := _ARMOUR.fullmatch(_unquoted(self._lines[after]))) and end[1] == "END":
            after += 1
        self._plain.signed |= kind == "SIGNATURE"
        self._plain.locked |= kind == "MESSAGE"
        self._plain.keys += kind not in {"SIGNATURE", "MESSAGE"}
        return after


def _unquoted(line: str) -> str:
    return line.lstrip("> ").rstrip()


def _of_uu(line: str) -> bytes | None:
    """The bytes of a line: a character for their number, then four for each three; spaces at its end may be lost. None
    for a line that is none."""
    count = (ord(line[0]) - 32) & 63 if line else 0
    whole = line[: 1 + (count + 2) // 3 * 4]
    if len(line) > len(whole) + 2 or not _UU.fullmatch(whole):
        return None
    try:
        return binascii.a2b_uu(whole) if whole else b""
    except binascii.Error:
        return None


def _of_base64(line: str) -> bytes | None:
    try:
        return binascii.a2b_base64(line.strip(), strict_mode=True) if line.strip() else b""
    except (binascii.Error, ValueError):
        return None
