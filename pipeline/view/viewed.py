"""A document as it is looked at: its row and text, held against the log, its pages, its evidence, its hidden text.

Whatever is not there any more, is not what the log proves, or cannot be drawn, leaves a sentence in its place; the
rest is shown.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.document import Row, Section, Unseen
from pipeline.errors import BadPartError, DocumentError, Failure, MachineRefusedError
from pipeline.inbox.intake import staging_of
from pipeline.outbox.placement import archive_folder
from pipeline.parse import Options
from pipeline.parse.view.messages import KINDS
from pipeline.parse.view.seen import Mark, PageText, Stretch
from pipeline.plan import Site
from pipeline.proof.kept import BytesGoneError, kept
from pipeline.records.types import Document
from pipeline.review.seen import entry_of, row_of
from pipeline.states import State
from pipeline.view.drawer import Drawer
from pipeline.view.places import Place, places_of
from pipeline.view.png import png
from pipeline.view.unseen import Shown, shown_in

_AROUND = 3_000  # characters before and after a place by which it is found on a page whose own text is not known
_MOST_PLACES = 1_000  # that are looked for on pages


class NotShownError(Exception):
    """A page that cannot be shown; the message is a sentence that says why."""


@dataclass(frozen=True)
class Drawn:
    """A page as it looks, as a PNG file."""

    png: bytes
    width: int
    height: int


@dataclass(frozen=True)
class Viewed:
    """The document of an `entry`.

    `row` is None where it is not to be had, and `no_row` says why; `text` is "" then `no_text` does. `kind` is "pdf",
    "picture" or "text"; `sizes` has the size of each page of the first two, and `why_not` says why there are none.
    `marks` are rectangles on pages around the `places` on which the answer rests, by their numbers. Pages and
    `sections` of the text begin where `page_starts` and they say, where that is known. `hidden` is text that no person
    sees, by its place, and `elsewhere` what of it has none.
    """

    entry: Document
    row: Row | None
    no_row: str | None
    text: str
    no_text: str | None
    places: tuple[Place, ...] = ()
    kind: str = "text"
    sizes: tuple[tuple[float, float], ...] = ()
    marks: tuple[Mark, ...] = ()
    why_not: str | None = None
    page_starts: tuple[int, ...] = ()
    sections: tuple[Section, ...] = ()
    hidden: tuple[Shown, ...] = ()
    elsewhere: tuple[Unseen, ...] = ()

    def page_of(self, offset: int) -> int | None:
        """The page, from 1, on which a character of the text stands; None where that is not known."""
        return bisect_right(self.page_starts, offset) or None


_Reading = tuple[tuple[int, ...], tuple[Section, ...], tuple[Shown, ...], tuple[Unseen, ...]]
"""By a document read again: where the pages and sections of its text begin, and its hidden text."""


def open_document(site: Site, entry: int, drawer: Drawer) -> Viewed:
    """The document of the entry with this number. LookupError where it is no document's; audit.AuditError."""
    found = entry_of(site, entry)
    row, no_row = _row(site, found)
    text, no_text = _text(site, found)
    seen = Viewed(found, row, no_row, text, no_text, places_of(row) if row else ())
    try:
        return _looked_at(seen, kept(site.root, site.at_rest, found).file, drawer) if found.document else seen
    except BytesGoneError as error:
        return replace(seen, why_not=str(error))


def draw_page(site: Site, entry: int, number: int, width: int, drawer: Drawer) -> Drawn:
    """The page `number`, from 1, of the entry's document, `width` pixels across, or fewer. LookupError where the entry
    is no document's; NotShownError; audit.AuditError."""
    found = entry_of(site, entry)
    try:
        if found.document is None:
            raise NotShownError("no bytes of it were read")
        drawn = drawer.draw(kept(site.root, site.at_rest, found).file, _options(found), number, width)
    except (BytesGoneError, DocumentError, MachineRefusedError, OSError, RuntimeError) as error:
        raise NotShownError(_sentence(error)) from error
    return Drawn(png(drawn.width, drawn.height, drawn.rgb), drawn.width, drawn.height)


def _row(site: Site, entry: Document) -> tuple[Row | None, str | None]:
    """The row that the entry proves, or why there is none."""
    if entry.closed:
        return None, "its row cannot be shown: what opens its entry in private/ was erased, or may not be read"
    try:
        return row_of(site, entry.n), None
    except (LookupError, BadPartError, OSError) as error:
        return None, f"its row cannot be shown: {_sentence(error)}"


def _text(site: Site, entry: Document) -> tuple[str, str | None]:
    """The text from which it was answered, or why there is none."""
    sha256 = entry.text_sha256
    if sha256 is None or entry.document is None:
        if entry.failure:
            sentence = Failure(entry.failure).sentence
            return "", f"it could not be read: {sentence[0].lower()}{sentence[1:]}"
        if entry.state == State.DUPLICATE:
            return "", f"it is a copy of {entry.duplicate_of}, whose text is shown with that"
        return "", entry.reason or "no text of it was read"
    folder = archive_folder(site.root, entry.job, entry.document)
    waiting = staging_of(site.root / "archive" / entry.job, str(entry.n))
    for path in (folder / "text" / f"{sha256}.txt", waiting / "text" / f"{sha256}.txt"):
        if path.is_file() and not path.is_symlink():
            try:
                data = site.at_rest.read_bytes(path)
            except OSError as error:
                return "", f"its text cannot be read: {error.strerror}"
            if hashlib.sha256(data).hexdigest() == sha256:
                return data.decode(), None
            where = path.relative_to(site.root)
            return "", f"{where} is not the text that was answered; `cloister audit verify` tells more"
    return "", f"its text is not in archive/{entry.job}/ any more"


def _looked_at(seen: Viewed, file: Path, drawer: Drawer) -> Viewed:
    """Add what reading the document again tells of its text, and its pages, or why these cannot be drawn."""
    entry, known = seen.entry, seen
    key = entry.document, entry.text_sha256, entry.media_type, entry.parse_options.hidden, bool(entry.hidden)
    try:
        if seen.text:
            starts, sections, hidden, elsewhere = drawer.remembered(key, lambda: _read(seen, file, drawer))
            known = replace(seen, page_starts=starts, sections=sections, hidden=hidden, elsewhere=elsewhere)
        if entry.media_type not in KINDS and entry.media_type is not None:
            return known
        asked = _page_texts(seen.text, seen.places, known.page_starts)
        pages = drawer.remembered((key, asked), lambda: drawer.pages(file, _options(entry), asked))
        return replace(known, kind=pages.kind or "text", sizes=pages.sizes, marks=pages.marks)
    except DocumentError as error:
        told = entry.media_type is None and error.failure in (entry.failure, Failure.UNSUPPORTED)
        return replace(known, why_not=None if told else _sentence(error))
    except (MachineRefusedError, OSError, RuntimeError) as error:
        return replace(seen, why_not=_sentence(error))


def _read(seen: Viewed, file: Path, drawer: Drawer) -> _Reading:
    """The structure of the text; none where the document cannot be read again."""
    entry = seen.entry
    hidden: tuple[tuple[Shown, ...], tuple[Unseen, ...]] = (), ()
    drops = entry.parse_options.hidden != "keep"
    try:
        own = drawer.read(file, entry.path, _options(entry, drops))
        if entry.hidden:
            other = drawer.read(file, entry.path, _options(entry, not drops))
            without, full = (own, other) if drops else (other, own)
            hidden = shown_in(seen.text, without.text, full.text, without.unseen)
    except DocumentError:
        return (), (), (), ()
    return (own.page_starts, own.sections, *hidden) if own.text == seen.text else ((), (), *hidden)


def _options(entry: Document, drops: bool | None = None) -> Options:
    """How the document was read; no document inside of it is unpacked."""
    keeps = entry.parse_options.hidden == "keep" if drops is None else not drops
    return Options("keep" if keeps else "drop", 0, 0, media_type=entry.media_type or "", tell=not keeps)


def _page_texts(text: str, places: Sequence[Place], starts: Sequence[int]) -> tuple[PageText, ...]:
    found: dict[int, PageText] = {}
    bounds = [*starts, len(text)]
    for place in places[:_MOST_PLACES]:
        page = bisect_right(starts, place.start) if starts else place.page
        if not page or place.end <= place.start:
            continue
        if starts:
            first, last, key = bounds[page - 1], bounds[page], page
        else:
            first, last, key = max(0, place.start - _AROUND), min(len(text), place.end + _AROUND), -place.number
        stretch = Stretch(place.number, place.start - first, min(place.end, last) - first)
        there = found.get(key) or PageText(page, text[first:last], ())
        found[key] = PageText(there.number, there.text, (*there.stretches, stretch))
    return tuple(found.values())


def _sentence(error: Exception) -> str:
    match error:
        case DocumentError():
            return error.reason
        case MachineRefusedError():
            return str(error).partition("\n")[0]
        case OSError():
            return error.strerror or "reading failed"
        case LookupError():
            return str(error.args[0])
    return str(error)
