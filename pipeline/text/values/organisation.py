"""Organisations: names with a legal form, the parties of contracts, who sends an invoice; white space single blanks.

A name is cut to itself: without "by and between", what it is defined as, its address. Parties may be people, too.
"""

# ruff: noqa: RUF001, SIM905  typographic marks are meant; a list of words reads best as words
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from pipeline.text.values.base import Reading, Value

CAPITAL: Final = (  # fixed ranges, not Python's tables, which change with its version
    "A-ZÀ-ÖØ-ÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİĴĶĹĻĽŁŃŅŇŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽΑ-ΩА-Я"
)
_ENGLISH = (
    r"Inc\.?|Incorporated|Corp\.?|Corporation|Co\.,? ?Ltd\.?|Co\.|Company,? (?:Inc\.?|Limited|Ltd\.?|LLC|L\.L\.C\.?)"
    r"|Company|L\.?L\.?C\.?|(?:P(?:ty|te)\.? )?Ltd\.?|(?:Private )?Limited(?: Partnership)?|L\.?L?\.?L?\.?P\.?"
    r"|P\.?L\.?C\.?"
    r"|plc|N\.A\.|P\.C\.|Bancorp(?:oration)?|S\.A\.(?: de C\.V\.)?"
)
_GERMAN = (
    r"g?GmbH(?: ?& ?Co\.? ?(?:KGaA|KG|OHG))?|mbH|AG(?: ?& ?Co\.? ?KGaA)?|KGaA|KG|OHG|GbR|UG(?: \(haftungsbeschränkt\))?"
    r"|e\. ?V\.|e\. ?K\.|eG|SE"
)
_ROMANCE = (
    r"S\.?A\.?S\.?U?\.?|S\.?A\.?R\.?L\.?|S\. ?à ?r\. ?l\.|Sàrl|S\.?N\.?C\.?|E\.?U\.?R\.?L\.?|S\.?A\.?(?!\w)"
    r"|S\.?C\.?A\.?"
    r"|S\.?L\.?U?\.?|S\.?A\.?U\.?|S\.?p\.?A\.?|SPA|S\.?r\.?l\.?|S\.?R\.?L\.?|Lda\.?|Ltda\.?"
)
_OTHERS = (
    r"B\.?V\.?|N\.?V\.?|V\.?O\.?F\.?|C\.V\.|AB|A/S|ApS|ASA|AS|Oyj?|sp\. ?z ?o\. ?o\.|[Ss]półka [Aa]kcyjna|s\. ?r\. ?o\."
    r"|a\. ?s\.|Kft\.?|Zrt\.?|Nyrt\.?|d\. ?o\. ?o\.|d\. ?d\.|OÜ|SIA|UAB|AD|EOOD|OOD|K\.K\."
)
# Followed by what ends a name: white space, a mark, the end.
FORM: Final = re.compile(rf"(?<![\w&/-])(?:{_ENGLISH}|{_GERMAN}|{_ROMANCE}|{_OTHERS}|INC\.?|CORP\.?|INCORPORATED"
    r"|CORPORATION|COMPANY|(?:P(?:TY|TE)\.? )?LTD\.?|LIMITED(?: PARTNERSHIP)?|CO\.,? ?LTD\.?|CO\.|BANCORP"
    r"|GMBH)(?![\w&'’/-]|\.\w)")  # fmt: skip
SHORT_FORMS: Final = frozenset("SE AS AD AB SA SL AG KG SPA SIA NV BV OOD LP PLC SCA SAS SNC eG mbH".split())
"""Forms that are also words or other abbreviations: what stands before them must be a capitalised word."""
KIND: Final = re.compile(  # the last word of names of organisations without a legal form
    r"(?<![\w-])(?:Bank|Bankshares|University|College|Association|Institute|Foundation|Fund|Trust|Partners|Partnership"
    r"|Group|Holdings?|Ministry|Authority|Agency|Council|Society|Hospital|Industries|Enterprises|Technologies|Systems"
    r"|Networks?|Services|Solutions|Laboratories|Labs|Airlines|Stiftung|Verein|Universität|Hochschule|Klinikum|Verlag"
    r"|Versicherung(?:en)?|Gesellschaft|Genossenschaft|Stichting|Société|Fondation|Università|Universidad|Fundación"
    r"|BANK|UNIVERSITY|ASSOCIATION|INSTITUTE|FOUNDATION|FUND|TRUST|PARTNERS|PARTNERSHIP|GROUP|HOLDINGS)(?![\w-])"
)
LEADING: Final = re.compile(  # words with which such names begin, and what follows
    rf"(?<![\w-])(?:(?:University|Bank|Institute|College|City|County|Ministry|Department) of (?:the )?"
    rf"|(?:Stadtwerke|Sparkasse|Volksbank|Universität|Hochschule|Klinikum|Amtsgericht|Landgericht|Finanzamt|Landratsamt"
    rf"|Stadt|Gemeinde|Banque|Société|Stichting|Banca|Banco|Università degli Studi di|Universidad de) )"
    rf"[{CAPITAL}][\w'’-]*(?: [{CAPITAL}][\w'’-]*){{0,3}}"
)


MOST_WORDS: Final = 10
WRAPPED: Final = 50  # characters: a line that is as long was wrapped, and goes on in the next
_NAMED = re.compile(rf"[{CAPITAL}]|[a-z]{{1,2}}-[a-z]|[a-z]{{1,3}}[{CAPITAL}]|\d+[A-Za-z{CAPITAL}-]")
_JOINS = frozenset("& and of the for und der des für von y e et de la du del di da van".split())
_NO_NAME = frozenset(  # words that begin a sentence, a heading or a label; not names, though written with a capital
    "this that these those such each either no any all other our your its their in on at by to from with as is are be "
    "between among and or if when where whereas witness dated made agreement contract amendment exhibit schedule annex "
    "party parties seller buyer vendor customer client supplier licensor licensee invoice bill ship sold attn "
    "attention "
    "name address company: section article page date number no. tel fax phone email subject re dear parent surviving "
    "limited liability zwischen und vertrag der die das den dem ein eine von bei an rechnung kunde lieferant firma "
    "herr "
    "frau the a an form of file source copyright © for include includes including issued accepted agreed signed "
    "certain jointly hereinafter hereafter herein 'and".split()
)
_GAP = re.compile(r"[ \u00a0\t]{1,3}\Z|[ \u00a0]{0,3}\n[ \u00a0]{0,40}\Z")
_TOKEN = re.compile(r"\S+\Z")
_STOPS = re.compile(
    r"(?!(?:Jos|Bros|Intl|Mfg|Dept|Assn|Univ|Prof)\.)[^.\d&]{3,}\."
)  # the end of a sentence, and no initial
_FIRST = re.compile(r"(\S+)\s+")


def name_before(text: str, at: int, floor: int = 0) -> int:
    """Where the capitalised words begin that end at `at`, such as a legal form; `at` itself where there are none."""
    begin, comma = at, True
    for _ in range(MOST_WORDS):
        gap = _GAP.search(text, max(floor, begin - 44), begin)
        if gap is None or ("\n" in gap[0] and not _wrapped(text, gap.start() + gap[0].index("\n"))):
            break
        token = _TOKEN.search(text, max(floor, gap.start() - 40), gap.start())
        if token is None or (token.start() > floor and not text[token.start() - 1].isspace()):
            break
        word, opened = token[0], 0
        if word[0] in "\"'“„«‘([" and not word.endswith((")", "]")):
            opened = 1
            word = word[1:]
        if not _belongs(word, comma=comma):
            break
        begin = token.start() + opened
        comma = False
        if opened:
            break
    return _without_joins(text, begin, at)


def _belongs(word: str, *, comma: bool) -> bool:
    """Whether a word may be one of a name; `comma`: whether one may follow it, as before a legal form."""
    bare = word.rstrip(",")
    if bare in ("The", "THE") or _STOPS.fullmatch(bare):
        return False
    if (bare != word and not comma) or bare[-1:] in ':;!?"”' or (FORM.fullmatch(bare.rstrip(".")) and len(bare) > 1):
        return False
    if bare.lower().strip(".") in _JOINS and not word.endswith(","):
        return True
    if bare.startswith("(") and bare.endswith(")"):
        return bool(_NAMED.match(bare[1:]))
    if bare.lower() in _NO_NAME or "(" in bare or ")" in bare:
        return False
    return bool(_NAMED.match(bare)) or bare.isdecimal()


def _without_joins(text: str, begin: int, at: int) -> int:
    """Where the name begins without joining words and numbers before it."""
    while begin < at:
        match = _FIRST.match(text, begin, at)
        if match is None:
            break
        word = match[1].lower()
        if word not in _JOINS and word not in _NO_NAME and not word.isdecimal() and word != "the":
            break
        begin = match.end()
    return begin


def _wrapped(text: str, line_end: int) -> bool:
    """Whether the line that ends at `line_end` is as long as one that was wrapped."""
    return line_end - (text.rfind("\n", 0, line_end) + 1) >= WRAPPED


_SOLE = re.compile(
    rf"[{CAPITAL}][\w'’.*-]*(?:[ \u00a0]{{1,3}}(?:(?:of|de|der|von|van|du|la) )?(?:[{CAPITAL}][\w'’.*-]*|&)){{0,7}}"
)


def name_at(text: str, start: int, end: int) -> int:
    """Where the name ends whose first word begins at `start`: with its legal form if it has one, else before the first
    word that is not capitalised, comma or bracket; `start` itself where no name begins. Not beyond `end`."""
    stop = min(end, start + 160)
    if not _NAMED.match(text, start, stop):
        return start
    sole = _SOLE.match(text, start, stop)
    edge = sole.end() if sole else start
    for form in FORM.finditer(text, start, stop):
        if form.start() > start and name_before(text, form.start(), start) == start:
            return form.end()
        break
    while edge > start and text[edge - 1] in ".-'’":
        edge -= 1
    return edge


OPENING: Final = 8_000  # characters at the beginning of a contract in which its parties are named
UNTIL: Final = 3_000  # the same, where nothing shows where the parties end
BESIDE: Final = 400  # characters after a party's name in which it is given a short one
PARTY: Final = (
    *"party parties contract agreement between contracting company organisation organization vertragspartei".split(),
    *"vertragsparteien vertragspartner partei parteien vertrag partie contrat contractpartij partij partijen".split(),
    *"parte partes parti contrato contratto".split(),
)
SENDER: Final = (
    *"vendor seller supplier sender issuer biller creditor merchant from lieferant verkäufer absender".split(),
    *"aussteller rechnungssteller fournisseur vendeur émetteur leverancier verkoper afzender fornitore".split(),
    *"mittente proveedor emisor".split(),
)

_ALIAS = re.compile(
    r"\(\s*(?:(?:the|each|each an?|hereinafter|hereafter|herein|together|collectively"
    r"|referred to(?: herein)?(?: as)?|called"
    r"|individually|im Folgenden|nachfolgend|nachstehend|ci-après|hierna|en adelante|di seguito|genannt|an?|as|or|"
    r"and|its successors|“|,)\s*)*[\"“”'‘„«](?P<alias>[^\"“”'’»)]{1,60})"
)
_BETWEEN = re.compile(
    r"(?<![\w-])(?:by\s+and\s+(?:between|among(?:st)?)|between\s+and\s+among|between|among(?:st)?|zwischen|entre|tussen"
    r"|tra|fra|BY\s+AND\s+(?:BETWEEN|AMONG)|BETWEEN|AMONG|ZWISCHEN|ENTRE|TUSSEN|Between|Zwischen|Entre|Tussen)(?![\w-])"
)
_AND = re.compile(
    r"(?<![\w-])(?:and|And|AND|und|UND|et|ET|en|EN|y|Y|e|E|&)(?:\s*:|\s+on\s+the\s+other\s+(?:hand|part),?)?(?=[\s(])"
    r"|[;,)](?=\s)"
)
_SKIP = re.compile(
    r"(?:[\s:,;-]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[).]\s|(?:and|And|AND|und|UND|et|ET|en|the|The|THE|der|die|la|le"
    r"|les)(?=[\s:])"
    r"|Party\s+[A-Z1-9]\s*(?:\([^)]{1,30}\))?:|(?:Mr|Mrs|Ms|Dr)\.?\s(?=\S))*"
)
_JOINED = re.compile(r"\b(?:and|und|et|en)\b|[\d)]", re.IGNORECASE)
_PREAMBLE_ENDS = re.compile(
    r"\bWHEREAS\b|\bWhereas\b|RECITALS|R E C I T A L S|WITNESSETH|W I T N E S S E T H|NOW,? THEREFORE|Präambel"
    r"|BACKGROUND"
    r"|\bagree as follows|ATTENDU|CONSIDÉRANT"
)
_LABEL = re.compile(
    rf"(?<![\w])(?:Party\s+[A-Z1-9]|(?:the\s+)?(?:Seller|Buyer|Purchaser|Supplier|Vendor|Customer|Client|Licensor"
    rf"|Licensee"
    rf"|Lessor|Lessee|Landlord|Tenant|Lender|Borrower|Contractor|Employer|Distributor|Company|Auftraggeber"
    rf"|Auftragnehmer"
    rf"|Vermieter|Mieter|Verkäufer|Käufer|Lieferant|Kunde|Lizenzgeber|Lizenznehmer|Fournisseur|Client|Bailleur|Preneur"
    rf"|Opdrachtgever|Opdrachtnemer|Leverancier|Verhuurder|Huurder))\s*(?:\([^()\n]{{1,30}}\))?\s*:\s*(?=[{CAPITAL}])"
)
_INVOICE = re.compile(
    r"\b(?:invoice|rechnung|facture|factuur|factura|fattura|fatura|faktura|credit note|gutschrift|receipt)",
    re.IGNORECASE,
)
_DOING = re.compile(
    rf",?\s+(?:d/b/a/?|doing\s+business\s+as|trading\s+as|t/a)\s+(?:[{CAPITAL}][\w'’.&-]*\s?){{1,6}}(?<!\s)"
)
_MORE = re.compile(r",?[ \u00a0]{1,3}")
_LAW = re.compile(r"\s+(?:Act|ACT|Law|Code|Agreement|AGREEMENT|Contract)\b")
_ARTICLE = re.compile(r"\b(?:an?|eine[rs]?|une?|een|una|uno)\s+\Z", re.IGNORECASE)
_SENTENCE_ENDS = re.compile(r"[.;]\s+[A-Z][a-z]|\n\s*\n")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W_]+")
_CONTRACT = re.compile(
    r"agreement|contract|amendment|vertrag|vereinbarung|contrat|overeenkomst|contratto|contrato", re.IGNORECASE
)


def find_organisations(text: str, reading: Reading) -> Iterator[Value]:
    """Every name with a legal form; the parties that a contract names at its beginning, with cues of parties and of
    what they are called in it; unsure, names that only end as those of organisations do. Of an invoice the first name
    has the cues of its sender."""
    formed = list(_with_forms(text))
    # The names in order; of those that overlap the longest, with the cues of all.
    values = [*formed, *_by_kind(text), *_parties(text, formed)]
    names = list[Value]()
    for value in sorted(values, key=lambda one: (one.start, -one.end)):
        if not names or value.start >= names[-1].end:
            names.append(value)
            continue
        other = names[-1]
        kept = value if value.end - value.start > other.end - other.start else other
        cues = tuple(dict.fromkeys((*other.cues, *value.cues)))
        names[-1] = replace(kept, cues=cues, sure=other.sure or value.sure)
    invoice, contract = _INVOICE.search(text, 0, 3000), _CONTRACT.search(text, 0, 3000)
    if names and invoice and (contract is None or invoice.start() < contract.start()):
        first = next((index for index, name in enumerate(names) if name.sure), 0)
        names[first] = replace(names[first], cues=(*names[first].cues, *SENDER))
    yield from names


def _value(text: str, start: int, end: int, *, sure: bool = True, cues: tuple[str, ...] = ()) -> Value:
    return Value(start, end, _SPACE.sub(" ", text[start:end]), None, sure, cues)


def _with_forms(text: str) -> Iterator[Value]:
    reached = 0
    for form in FORM.finditer(text):
        begin = name_before(text, form.start(), reached)
        if begin == form.start() or _ARTICLE.search(text, max(0, begin - 8), begin):
            continue
        if _LAW.match(text, form.end()):
            continue
        if form[0] in SHORT_FORMS and (text[begin : form.start()].isupper() and not form[0].isupper()):
            continue
        end = form.end()
        while (more := _MORE.match(text, end)) and (again := FORM.match(text, more.end())):
            end = again.end()
        if doing := _DOING.match(text, end):
            end = doing.end()
        yield _value(text, begin, end)
        reached = end


def _by_kind(text: str) -> Iterator[Value]:
    """Names that end or begin with a word that organisations have in their names."""
    reached = 0
    for kind in KIND.finditer(text):
        begin = name_before(text, kind.start(), reached)
        if begin < kind.start() and not _ARTICLE.search(text, max(0, begin - 8), begin):
            yield _value(text, begin, kind.end(), sure=False)
            reached = kind.end()
    for match in LEADING.finditer(text):
        yield _value(text, *match.span(), sure=False)


def _parties(text: str, formed: Sequence[Value]) -> Iterator[Value]:
    """The parties of a contract, as its first sentences name them."""
    if not _CONTRACT.search(text, 0, OPENING):
        return
    labelled = 0
    for label in _LABEL.finditer(text, 0, OPENING):
        if (end := name_at(text, label.end(), OPENING)) > label.end():
            labelled += 1
            yield _party(text, label.end(), end)
    ends = _PREAMBLE_ENDS.search(text, 0, OPENING)
    until = ends.start() if ends else UNTIL
    for name in takewhile(lambda name: name.start < until, formed):
        if alias := _alias(text, name.end):
            yield _party(text, name.start, name.end, alias["alias"])
    for between in _BETWEEN.finditer(text, 0, 0 if labelled > 1 else OPENING):
        if parties := list(_listed(text, between.end())):
            yield from parties
            return


def _listed(text: str, start: int) -> Iterator[Value]:
    """The names after "between": the first, and after each "and" or comma those that have a legal form or are defined.
    Nothing where it is no name that comes first."""
    stop = min(len(text), start + 3000)
    if ends := _PREAMBLE_ENDS.search(text, start, stop):
        stop = ends.start()
    at, first, comma, defined = start, True, False, -1
    while True:
        skipped = _SKIP.match(text, at, stop)
        begin = skipped.end() if skipped else at
        end = name_at(text, begin, stop)
        if first and end == begin:
            return
        if end > begin:
            alias = _alias(text, end)
            own = alias is not None and alias.start() != defined
            joined = not comma or (skipped is not None and _JOINED.search(skipped[0]) is not None)
            if first or (own and joined) or FORM.search(text, begin, end):
                defined = alias.start() if alias else defined
                yield _party(text, begin, end, alias["alias"] if alias else None)
        more = _AND.search(text, max(end, begin), stop)
        if more is None:
            return
        at, first, comma = more.end(), False, more[0] == ","


def _alias(text: str, end: int) -> re.Match[str] | None:
    """Find what the name that ends at `end` is called from there on, as in (the "Company"); None where another name
    comes before that, or the sentence ends."""
    match = _ALIAS.search(text, end, end + BESIDE)
    if match is None or _SENTENCE_ENDS.search(text, end, match.start()):
        return None
    between = (form.start() for form in FORM.finditer(text, end + 1, match.start()))
    return None if any(name_before(text, start, end) < start for start in between) else match


def _party(text: str, start: int, end: int, alias: str | None = None) -> Value:
    if doing := _DOING.match(text, end):
        end = doing.end()
    said = () if alias is None else tuple(word.lower() for word in _WORD.findall(alias))
    return _value(text, start, end, cues=(*PARTY, *said))
