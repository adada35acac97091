"""Texts and titles: what follows a label, a whole sentence; and what a document calls itself near its beginning."""

# ruff: noqa: RUF001, SIM905  typographic marks are meant; a list of words reads best as words
import re
from collections.abc import Iterator
from typing import Final

from pipeline.document import Span
from pipeline.text.sentences import split_sentences, trimmed
from pipeline.text.values.base import Reading, Value
from pipeline.text.values.organisation import CAPITAL, FORM

_LABELLED = re.compile(r"(?:[^\W_]|\[(?=\d))[^:|\t\n]{0,58}(?::(?=\s)|[ \t]\|(?=[ \t])|\t)\s*(?=\S)")
_HEADING = re.compile(
    r"§|#|\(?\d{1,3}(?:\.\d{1,3}){0,4}[.)]?\s|[ivxIVX]{1,5}[.)]|(?i:section|article|artikel|abschnitt)\s"
)
_GREETING = re.compile(
    r"(?:guten (?:tag|morgen|abend)|sehr geehrte|hallo|liebe[rs]?|dear|hello|hi|good (?:morning|afternoon|evening)"
    r"|bonjour|madame|monsieur|(?:mit )?(?:freundlichen?|besten?|vielen?|herzlichen?) gr(?:ü|ue)(?:ß|ss)en?"
    r"|(?:kind|best|warm) regards|yours (?:sincerely|faithfully|truly)|sincerely|cordialement)\b[^.:;|]{0,60}",
    re.IGNORECASE,
)
_HONORIFIC = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|Hr|Fr)\.")
_RULE = re.compile(r"\|[\s|:-]+")
_SHORT = 60  # characters: a longer passage is no heading
_SPACE = re.compile(r"\s+")


def find_texts(text: str, reading: Reading) -> Iterator[Value]:
    """One value a sentence, line or table row, white space made single blanks; unsure where it is mostly figures or
    a numbered heading.
    """
    for span in split_sentences(text):
        label = _LABELLED.match(text, span.start, span.end)
        start = label.end() if label and not _more_cells(text, label.end(), span.end) else span.start
        value = trimmed(text, start, span.end)
        verbatim = text[value.start : value.end]
        if not _says_nothing(text, span.start, span.end) and not verbatim.endswith(":"):  # the label of what comes next
            yield Value(value.start, value.end, _SPACE.sub(" ", verbatim), sure=_is_prose(verbatim))


def _is_prose(text: str) -> bool:
    """Whether more than three of four letters and digits are letters, and it is no numbered heading."""
    if len(text) <= _SHORT and _HEADING.match(text):
        return False
    letters, digits = sum(map(str.isalpha, text)), sum(map(str.isdigit, text))
    return letters > 3 * digits


def _says_nothing(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is a greeting, the head of a table, the line below it, or labels without values."""
    line = text[start:end]
    if _GREETING.fullmatch(_HONORIFIC.sub("", line[: 2 * _SHORT])) and len(line) <= _SHORT:
        return True
    if " | " not in line and not line.startswith("|"):
        return False
    head = line.partition("\n")[0]
    cells = [cell.strip() for cell in head.strip("|").split(" | ") if cell.strip()]
    if all(cell.endswith(":") for cell in cells) or _RULE.fullmatch(head):
        return True
    if _RULE.match(text, start + len(head) + 1 if "\n" in line else end + 1) and head.startswith("|"):
        return True
    return len(cells) > 2 and not any(map(str.isdigit, head)) and _is_first_row(text, start, end)


def _is_first_row(text: str, start: int, end: int) -> bool:
    """Whether no row of a table stands in the line before text[start:end], but one in the line after it."""
    before = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]
    stop = text.find("\n", end + 1)
    after = text[end + 1 : stop if stop >= 0 else len(text)]
    return " | " not in before and " | " in after


def _more_cells(text: str, start: int, end: int) -> bool:
    return text.find(" | ", start, end) >= 0 or text.find("\t", start, end) >= 0


REACH: Final = 6_000  # characters in which a title stands
MOST_LINES: Final = 80
MOST_WORDS: Final = 18
CUES: Final = (
    "title", "name", "document", "called", "heading", "subject", "agreement", "contract", "titel", "name", "dokument",
    "bezeichnung", "überschrift", "titre", "título", "titolo", "nom", "documento", "onderwerp", "betreff",
)  # fmt: skip

_NOUN = (  # what documents are: the last word of their titles
    r"(?:agreements?|contracts?|amendments?|addendum|leases?|licen[cs]es?|deed|memorandum(?: of (?:understanding"
    r"|agreement))?"
    r"|indenture|guarant(?:y|ee)|polic(?:y|ies)|terms(?: (?:of (?:service|use)|and conditions))?|charter|by-?laws"
    r"|statement(?: of work)?|purchase order|order form|invoice|credit note|receipt|report|certificate|notice|minutes"
    r"|quotation|proposal|letter(?: of intent)?|note|articles of (?:incorporation|association)|prospectus|application"
    r"|power of attorney|undertaking|covenant|release|waiver|consent|resolution|manual|guide|"
    r"[\w-]*(?:vertrag|vertrags|vereinbarung|rechnung|gutschrift|angebot|bericht|protokoll|bescheid|satzung|ordnung"
    r"|kündigung|vollmacht|bescheinigung|mahnung|bestätigung|erklärung|vermerk|zeugnis|gutachten|abrechnung|richtlinie)"
    r"|[\w-]*(?:overeenkomst|contract|factuur|verslag|rapport|offerte|reglement|verklaring|polis)"
    r"|aftale|avtal|umowa|smlouva|sopimus)"
)
_FIRST = (  # of titles in Romance languages the first word, with what follows
    r"(?:contrat|accord|convention|avenant|facture|rapport|bail|devis|attestation|procès-verbal|statuts"
    r"|contrato|acuerdo|convenio|factura|informe|presupuesto|acta|estatutos"
    r"|contratto|accordo|fattura|relazione|preventivo|verbale|statuto|atto|fatura|relatório|acordo)"
)
_THIS = re.compile(
    rf"(?<!\w)(?:THIS|This)\s+(?P<title>(?:[{CAPITAL}][^.;:()\"“”\n]{{0,120}}?)?(?i:{_NOUN})(?:\s+(?i:to"
    rf"|no\.?)\s[^.;:()\"“”,\n]{{0,80}}?"
    rf"(?i:{_NOUN}))?)(?=\s*[,(]|\s+(?:\(|is\b|are\b|dated\b|made\b|entered\b|between\b|by\b|shall\b|is\s|together\b"
    rf"|of\b))"
)
_CAPS = re.compile(
    rf"(?<![\w.@])(?:[{CAPITAL}][{CAPITAL}0-9'’&/-]*|&|NO\.|#?\d+)(?:,?\s+(?:[{CAPITAL}][{CAPITAL}0-9'’&/-]*|&|NO\."
    rf"|#?\d+)(?![a-z]))*"
)
_PIECE = re.compile(r"[^\n|\t]+?(?=\s{3,}\S|[\n|\t]|$)")
_LEAD = re.compile(
    r"(?:[\s#*_=•-]|(?:EXHIBIT|Exhibit|ANNEX|Annex|SCHEDULE|Schedule|APPENDIX|Appendix|ATTACHMENT|Anlage|Annexe"
    r"|Bijlage)"
    r"\s+(?:\d[\w.()-]*|[A-Z](?:-\d+)?)(?=\s|$)|(?:EXECUTION (?:COPY|VERSION)|CONFIDENTIAL(?: TREATMENT REQUESTED)?"
    r"|DRAFT|FORM OF"
    r"|Form of|THE|THIS|This|CONFORMED COPY)(?=\s)|\d{1,2}\.\s|\d+(?=\s))+"
)
_TAIL = re.compile(
    r"\s*[,(]?\s*\b(?:(?:by\s+and\s+)?(?:between|among)|dated|made|entered|effective|zwischen|entre|tussen|tra|vom"
    r"|du \d|for the"
    r"\s(?:year|quarter|period)|this|that|page|whereas|as\s+of|datum|date)\b.*|[\s,:;.*_=-]+$|\s*\([^)]*$"
    r"|\s*\((?:the|this|\").*",
    re.IGNORECASE | re.DOTALL,
)
_HAS_NOUN = re.compile(rf"(?<![\w-]){_NOUN}(?![\w-])", re.IGNORECASE)
_STARTS = re.compile(rf"{_FIRST}(?![\w-])", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?;,]\s*$|[.!?]\s+\S|:\s|@|https?:")
_ALONE = frozenset("agreement contract amendment note order notice terms letter report lease license".split())


def find_titles(text: str, reading: Reading) -> Iterator[Value]:
    """Lines, capitals and "THIS … AGREEMENT" near the beginning that end with a word for a document; unsure, other
    headings there, and such a word alone."""
    found: dict[int, Value] = {}
    for span, sure in (*_capitals(text), *_this(text), *_lines(text)):
        value = _cut(text, span, sure=sure)
        if value and not any(start < value.end and value.start < other.end for start, other in found.items()):
            found[value.start] = value
    for start in sorted(found):
        yield found[start]


def _capitals(text: str) -> Iterator[tuple[Span, bool]]:
    """Runs of words in capitals that end with a word for a document, over the ends of lines."""
    for match in _CAPS.finditer(text, 0, REACH):
        start = match.start()
        last = _last(text, match.start(), match.end())
        for form in FORM.finditer(text, match.start(), last.start() if last else match.start()):
            start = form.end()
        if last and not (
            match.start() > 5 and re.search(r"\b(?:THIS|This)\s+$", text[match.start() - 6 : match.start()])
        ):
            yield trimmed(text, start, last.end()), True


def _this(text: str) -> Iterator[tuple[Span, bool]]:
    """Find the text after "This" up to and with a word for a document, where the sentence goes on as the first of a
    contract does."""
    for match in _THIS.finditer(text, 0, REACH):
        yield Span(*match.span("title")), True


def _lines(text: str) -> Iterator[tuple[Span, bool]]:
    for number, match in enumerate(_PIECE.finditer(text, 0, REACH)):
        if number == MOST_LINES:
            return
        span = trimmed(text, *match.span())
        line = text[span.start : span.end]
        words = line.split()
        if not 1 <= len(words) <= MOST_WORDS or _SENTENCE.search(line) or not any(map(str.isalpha, line)):
            continue
        noun = _last(text, span.start, span.end)
        lead = _LEAD.match(text, span.start, span.end)
        if _STARTS.match(text, lead.end() if lead else span.start, span.end) and not line[0].islower():
            yield span, True
        elif noun and not line[0].islower() and _mostly_capitalised(words):
            yield Span(span.start, noun.end()), True
        elif line.startswith("#") or (line.isupper() and len(words) > 1) or span.start == 0:
            yield span, False


def _last(text: str, start: int, end: int) -> re.Match[str] | None:
    return max(_HAS_NOUN.finditer(text, start, end), key=lambda noun: noun.start(), default=None)


def _mostly_capitalised(words: list[str]) -> bool:
    """Whether no more than half of the words begin with a small letter."""
    return 2 * sum(word[0].islower() for word in words) <= len(words)


def _cut(text: str, span: Span, *, sure: bool) -> Value | None:
    """The title in a span: without the number of an exhibit before it, date and parties after it."""
    lead = _LEAD.match(text, span.start, span.end)
    start = lead.end() if lead else span.start
    tail = _TAIL.search(text, start + 1, span.end) if start < span.end else None
    cut = trimmed(text, start, tail.start() if tail else span.end)
    title = _SPACE.sub(" ", text[cut.start : cut.end])
    if len(title) < 3 or len(title.split()) > MOST_WORDS or not any(map(str.isalpha, title)):
        return None
    sure = sure and title.lower() not in _ALONE and bool(_HAS_NOUN.search(title) or _STARTS.match(title))
    return Value(cut.start, cut.end, title, None, sure, CUES)
