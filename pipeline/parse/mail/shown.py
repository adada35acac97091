"""Which MIME parts of a mail are text, and which of several alternatives mail programs show."""

from pipeline.parse.mail.parts import Part

_AMP = "text/x-amp-html"
MARKUP = {"text/html", "application/xhtml+xml", _AMP}
CARDS = {"text/calendar", "text/x-vcalendar", "text/vcard", "text/x-vcard", "text/directory"}
ENVELOPES = {"application/pkcs7-mime", "application/x-pkcs7-mime"}


def may_be_envelope(part: Part) -> bool:
    """Whether a MIME part may be a signed or encrypted envelope; gateways give these any type."""
    named = str(part.header.get_filename() or "").lower().endswith(".p7m")
    return not part.parts and (part.kind in ENVELOPES or named)


def is_text(part: Part, *, alternative: bool = False, related: bool = False) -> bool:
    """Whether a MIME part is text to be read in place, as are a multipart without parts and a mail server's report."""
    if part.header.get_content_disposition() == "attachment" or (related and part.kind == "text/plain"):
        return part.kind.startswith("multipart/")
    if part.header.get_filename():
        return (alternative and part.kind in {*MARKUP, *CARDS, "text/plain"}) or part.kind.startswith("multipart/")
    return part.kind.startswith(("text/", "message/", "multipart/")) or part.kind in MARKUP


def by_what_is_shown(parts: list[Part]) -> list[Part]:
    """The alternatives that hold text, without invitations: last those that mail programs show, in their order."""
    texts = [one for one in parts if one.parts or (is_text(one, alternative=True) and one.kind not in CARDS)]
    return sorted(texts, key=_is_shown)


def _is_shown(part: Part) -> bool:
    return any(map(_is_shown, part.parts)) or part.kind in {*MARKUP, "text/plain"}


def called(part: Part) -> str:
    """The name of an alternative for people."""
    kinds = {one.kind for one in part.walk()}
    if kinds & MARKUP:
        return "HTML" if kinds & MARKUP != {_AMP} else "page for AMP"
    return "plain text" if "text/plain" in kinds else f"text of the type {part.kind}"


def root(part: Part) -> Part:
    """The part of a multipart/related that shows the others (RFC 2387, 3.2)."""
    start = part.parameter("start").strip(" <>")
    return next((one for one in part.parts if start and one.content_id == start), part.parts[0])
