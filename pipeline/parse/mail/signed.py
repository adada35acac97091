"""Take a signed document out of its envelope: CMS SignedData (RFC 5652), as .p7m files and opaque signed mails have
it. The signature itself is not checked.

Only the way to the content is read, in BER, for lengths may be left open: ContentInfo, SignedData, encapContentInfo.
"""

from pipeline.errors import DocumentError, Failure

_OF_CMS = bytes.fromhex("2a864886f70d0107")  # 1.2.840.113549.1.7
_OF_SMIME = bytes.fromhex("2a864886f70d01091001")  # 1.2.840.113549.1.9.16.1
_AUTHENTICATED, _COMPRESSED = 0x17, 0x09  # encrypted (RFC 5083), compressed (RFC 3274)
_SIGNED, _ENCRYPTED = 2, (3, 4, 6)  # then data, enveloped, signed and enveloped, digested, encrypted
_SEQUENCE, _SET, _INTEGER, _OCTETS, _OCTETS_IN_PIECES, _OID, _EXPLICIT = 0x30, 0x31, 0x02, 0x04, 0x24, 0x06, 0xA0
_DEEPEST = 20


def is_cms(data: bytes) -> bool:
    """Whether bytes begin with a ContentInfo."""
    head = data[:20]
    return data[:1] == b"\x30" and (b"\x06\x09" + _OF_CMS in head or b"\x06\x0b" + _OF_SMIME in head)


def signed_content(data: bytes) -> bytes:
    """The document in the envelope; raises DocumentError(ENCRYPTED, UNSUPPORTED, CORRUPT)."""
    try:
        at, _ = _open(data, 0, _SEQUENCE)
        begin, end = _open(data, at, _OID)
        kind = data[end - 1] if data[begin : end - 1] == _OF_CMS else 0
        of_smime = data[end - 1] if data[begin : end - 1] == _OF_SMIME else 0
        if of_smime == _COMPRESSED:
            raise DocumentError(Failure.UNSUPPORTED, "a compressed document (PKCS #7)")
        if kind in _ENCRYPTED or of_smime == _AUTHENTICATED:
            raise DocumentError(Failure.ENCRYPTED, "an encrypted document (PKCS #7)")
        if kind != _SIGNED:
            raise DocumentError(Failure.UNSUPPORTED, "a PKCS #7 envelope without a signed document")
        at, _ = _open(data, end, _EXPLICIT)
        at, _ = _open(data, at, _SEQUENCE)
        for tag in (_INTEGER, _SET):
            begin, _ = _open(data, at, tag)
            at = _after(data, at, 0)
        begin, end = _open(data, at, _SEQUENCE)
        at = _after(data, begin, 0)  # the type of the content
        if at >= end or data[at] != _EXPLICIT:
            raise DocumentError(Failure.UNSUPPORTED, "a signature without the document that it signs")
        at, _ = _open(data, at, _EXPLICIT)
        return b"".join(_octets(data, at, 0))
    except IndexError as error:
        raise _corrupt() from error


def _corrupt() -> DocumentError:
    return DocumentError(Failure.CORRUPT, "a signed document (PKCS #7) whose envelope is damaged")


def _open(data: bytes, at: int, tag: int) -> tuple[int, int]:
    """The content of the element at `at`, which must have this tag: begin and end (that of the data, if left open)."""
    found, begin, length = _element(data, at)
    if found != tag:
        raise _corrupt()
    return begin, len(data) if length is None else begin + length


def _element(data: bytes, at: int) -> tuple[int, int, int | None]:
    """The tag of an element, the begin of its content, and its length: None where that is left open (X.690, 8.1)."""
    tag, length = data[at], data[at + 1]
    begin = at + 2
    if length == 0x80:
        return tag, begin, None
    if length > 0x80:
        count = length & 0x7F
        begin, length = begin + count, int.from_bytes(data[begin : begin + count], "big")
    if begin + length > len(data):
        raise _corrupt()
    return tag, begin, length


def _after(data: bytes, at: int, level: int) -> int:
    _, begin, length = _element(data, at)
    if length is not None:
        return begin + length
    if level > _DEEPEST:
        raise _corrupt()
    while data[begin] or data[begin + 1]:
        begin = _after(data, begin, level + 1)
    return begin + 2


def _octets(data: bytes, at: int, level: int) -> list[bytes]:
    tag, begin, length = _element(data, at)
    if tag == _OCTETS and length is not None:
        return [data[begin : begin + length]]
    if tag != _OCTETS_IN_PIECES or level > _DEEPEST:
        raise _corrupt()
    pieces, end = list[bytes](), len(data) if length is None else begin + length
    while begin < end and (length is not None or data[begin] or data[begin + 1]):
        pieces += _octets(data, begin, level + 1)
        begin = _after(data, begin, level + 1)
    return pieces
