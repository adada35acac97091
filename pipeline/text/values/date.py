"""Dates in figures and in words of the EU's languages, normalised to ISO 8601: 2025-12-31, or 2025-12."""

# ruff: noqa: RUF001, SIM905  other scripts are meant; a list of words reads best as words
import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from pipeline.text.values.base import Reading, Value

_MONTH_NAMES: Final = (
    # English, German, French, Dutch, Scandinavian; then Spanish, Italian, Portuguese, Romanian; Polish, Czech, Slovak,
    # Croatian, Slovenian; Hungarian, Finnish, Estonian, Latvian, Lithuanian; Irish, Maltese; Greek, Bulgarian
    "january jan januar jänner janvier janv januari enero ene gennaio gen janeiro ianuarie stycznia styczeń sty ledna "
    "leden januára január siječnja siječanj januarja tammikuuta tammikuu jaanuar janvāris janvārī janvāra sausio "
    "sausis eanáir jannar ιανουαρίου ιανουάριος ιαν януари",
    "february feb februar feber février fevrier févr februari febr febrero febbraio febb fevereiro fev februarie "
    "lutego luty lut února únor februára február veljače veljača februarja helmikuuta helmikuu veebruar februāris "
    "februārī februāra vasario vasaris feabhra frar φεβρουαρίου φεβρουάριος φεβ февруари",
    "march mar märz maerz mär mrz mars maart mrt marts marzo março marco martie marca marzec března březen "
    "ožujka ožujak marec március márc maaliskuuta maaliskuu märts martā marta kovo kovas márta marzu μαρτίου μάρτιος "
    "март",
    "april apr avril avr abril abr aprile aprilie kwietnia kwiecień kwi dubna duben apríla apríl travnja travanj "
    "aprila április ápr huhtikuuta huhtikuu aprill aprīlis aprīlī aprīļa balandžio balandis aibreán απριλίου απρίλιος "
    "απρ април",
    "may mai mei maj mayo maggio mag maio maja května květen mája máj svibnja svibanj május toukokuuta toukokuu "
    "maijs maijā maija gegužės gegužė bealtaine mejju μαΐου μάιος μαΐ май",
    "june jun juni juin junio giugno giu junho iunie czerwca czerwiec cze června červen júna jún lipnja lipanj "
    "junija junij június kesäkuuta kesäkuu juuni jūnijs jūnijā jūnija birželio birželis meitheamh ġunju ιουνίου "
    "ιούνιος юни",
    "july jul juli juillet juil julio luglio lug julho iulie lipca lipiec lip července červenec júla júl srpnja "
    "srpanj julija julij július heinäkuuta heinäkuu juuli jūlijs jūlijā jūlija liepos liepa iúil lulju ιουλίου "
    "ιούλιος юли",
    "august aug août aout augustus augusti agosto ago sierpnia sierpień sie srpna srpen augusta kolovoza kolovoz "
    "avgusta avgust augusztus elokuuta elokuu augusts augustā rugpjūčio rugpjūtis lúnasa awwissu αυγούστου αύγουστος "
    "август",
    "september sept sep septembre septiembre setiembre settembre sett setembro septembrie września wrzesień wrz září "
    "septembra rujna rujan szeptember szept syyskuuta syyskuu septembris septembrī rugsėjo rugsėjis settembru "
    "σεπτεμβρίου σεπτέμβριος септември",
    "october oct oktober okt octobre octubre ottobre ott outubro octombrie października październik paź října říjen "
    "októbra október oktobra lokakuuta lokakuu oktoober oktobris oktobrī spalio spalis ottubru "
    "οκτωβρίου οκτώβριος октомври",
    "november nov novembre noviembre novembro noiembrie listopad listopada listopadu novembra studenoga studenog "
    "studeni "
    "marraskuuta marraskuu novembris novembrī lapkričio lapkritis samhain novembru νοεμβρίου νοέμβριος ноември",
    "december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro decembrie grudnia grudzień gru "
    "prosince prosinec decembra prosinca detsember joulukuuta joulukuu decembris decembrī gruodžio gruodis nollaig "
    "diċembru δεκεμβρίου δεκέμβριος декември",
)
MONTHS: Final = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
"""The number of a month by its name in lower case. "Listopad" is November (Polish, Czech), though Croatian's "
"October."""
_ORDINALS: Final = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth "
    "twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first".split()
)
_WORDED = "|".join(sorted(_ORDINALS, key=len, reverse=True))
_DAYS = {word: number for number, word in enumerate(_ORDINALS, start=1)}
_LONGEST_FIRST = sorted(MONTHS, key=lambda name: (-len(name), name))
_BY_LETTER = {
    name[0]: "|".join(other[1:] for other in _LONGEST_FIRST if other[0] == name[0]) for name in _LONGEST_FIRST
}
_MONTH = "(?:" + "|".join(f"{letter}(?:{rest})" for letter, rest in _BY_LETTER.items()) + r")\b\.?"
_WORDS = r"(?:ago|mag|gen|lip|sie|gru|sty|lut|dic|lug|ene|fev|cze|wrz|spalio|liepa)\b"  # no months without a day
_YEAR = r"(?:\d{4}|(?:['’]|(?<=-))\d{2})(?![\d:])"
_ORDINAL = r"(?:s ?t|n ?d|r ?d|t ?h|er|ter|de|ste|ère|e|[ºª°]|-?(?:го|ти|ви|ри|ми))"
_DAY = rf"(?<![\d.,/-])\d{{1,2}}(?:{_ORDINAL}|\.)?(?![\d,])"
_BLANK = "[ \u00a0]"
_GAP = rf"(?:{_BLANK}{{1,3}}|{_BLANK}?\n{_BLANK}{{0,3}})"  # the end of a line may stand in a date
_OF = rf"(?:(?:of|de|d[’']|di|van){_BLANK}{{0,3}})?"
_DATE = re.compile(  # what begins with a digit, or a word; elsewhere nothing is tried
    r"(?:(?=\d)(?:(?<![\w./-])(?P<iso>\d{4}([-/.])\d{1,2}\2\d{1,2})(?!\d|[./-]\d)"
    r"|(?<![\w./-])(?P<figures>\d{1,2} ?([./-]) ?\d{1,2} ?\4 ?(?:\d{4}|\d{2}))(?!\d|[./-]\d)"
    rf"|(?P<year_first>(?<![\w./-])\d{{4}}\.?{_BLANK}(?:(?:m|g)\.{_BLANK}"
    rf"|gada{_BLANK})?(?:\d{{1,2}}\.{_BLANK})?{_MONTH}"
    rf"(?:{_BLANK}\d{{1,2}}(?!\d))?(?:{_BLANK}?d\.)?)"
    rf"|(?P<day_month>{_DAY}(?:[ \u00a0-]{{0,3}}|{_GAP})(?:day{_GAP}of{_GAP}|day{_GAP})?{_OF}{_MONTH}"
    rf"(?:{_BLANK}(?:del?|of))?{_BLANK}?,?(?:[ \u00a0-]{{1,3}}|{_GAP}){_YEAR}))"
    rf"|(?=[^\W\d_])(?<!\w)(?:(?P<worded>(?<!-)(?:{_WORDED}){_GAP}(?:day{_GAP})?of{_GAP}{_MONTH}"
    rf"{_BLANK}?,?{_GAP}\d{{4}}(?!\d))"
    rf"|(?P<month_day>{_MONTH}{_GAP}\d{{1,2}}(?:s ?t|n ?d|r ?d|t ?h)?(?:{_BLANK}?,{_BLANK}{{0,3}}\n?|{_GAP})"
    rf"{_BLANK}{{0,3}}\d{{4}}(?!\d))"
    rf"|(?P<month>(?<!\.)(?!{_WORDS}){_MONTH}(?:{_BLANK}del?)?,?{_BLANK}{{1,3}}\d{{4}}(?!\d))))",
    re.IGNORECASE,
)
_PART = re.compile(r"\d+|[^\W\d_]+(?:-[^\W\d_]+)?")
_SIGNED = ("agreement", "contract", "date", "dated", "document", "signed", "signing", "vertrag", "vertragsdatum")
_EFFECTIVE = ("effective", "date", "start", "commencement", "begin", "begins", "inkrafttreten", "beginn")
_ENDING = ("expiration", "expiry", "end", "ends", "termination", "expires", "date", "ende", "ablauf")
_INVOICED = (  # what an invoice says before its own date: Facture n° 562044387 du 2 juillet 2015
    "invoice", "date", "rechnung", "rechnungsdatum", "facture", "factuur", "factuurdatum", "fattura", "factura",
    "faktura",
)  # fmt: skip
_BEFORE = re.compile(
    r"\b(?:(?P<invoiced>(?:invoice|rechnung|facture|factuur|fattura|factura|fatura|faktura|gutschrift|avoir"
    r"|credit note)"
    r"[^\n]{0,40}?\s(?:of|dated|from|du|vom|van|del|dal|de|z dnia)|(?:invoice date|date of (?:invoice|issue)"
    r"|rechnungsdatum"
    r"|date (?:de facture|d[’']émission)|factuur ?datum|data (?:wystawienia|fattura|di emissione|de emissão)"
    r"|fakturadatum"
    r"|fecha de (?:factura|emisión)|fakturadato|datum vystavení|számla kelte|ausstellungsdatum))"
    r"|(?P<effective>effective(?:ly)?(?:\s+date)?(?:\s+(?:as\s+of|on|from|is|of|the|this|date|shall|be|:))*"
    r"|(?:commenc\w+|begin\w*|start\w*|in\s+effect|in\s+force|effect)\s+(?:on|from|as\s+of)(?:\s+the)?)"
    r"|(?P<ending>(?:expir\w+|terminat\w+|end(?:s|ing)?|until|through|till)(?:\s+(?:on|at|the|as|of|date|is|and"
    r"|including))*)"
    r"|(?P<signed>(?:dated|made|entered\s+into|executed|signed|concluded)(?:[\s,]+(?:and|made|entered|into|executed|"
    r"delivered|effective|as|of|on|this|the|at|in|date|from|is|to|be))*))[\s,:]*\Z",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[,\s]*\(?(?:the|hereinafter)?[\s,]*[\"“'„](?:the )?(?P<effective>Effective|EFFECTIVE|Commencement|Start)",
    re.IGNORECASE,
)
_OTHER = re.compile(  # what is dated is another document than this one
    r"\b(?:that\s+certain|the\s+certain|those\s+certain|(?<!this )(?<!This )(?<!THIS )(?:pursuant\s+to|under"
    r"|in)\s+the)\b"
    r"[^.;\n]{0,150}\Z"
)
_UNPADDED = re.compile(r"[1-9]\d?\.[1-9]\d?\.\d{2}")
_NUMBERS = re.compile(r"[ \t\u00a0]+[A-Z\"“(]")
_NEAR: Final = 80  # characters before a date that say what it is the date of


def find_dates(text: str, reading: Reading) -> Iterator[Value]:
    """Every date of the calendar. A year of two digits is 1970 to 2069; 3/4/2025 is read as the document reads."""
    for match in _DATE.finditer(text):
        parts = _PART.findall(match[0])
        kind = str(match.lastgroup)
        parsed = _figures(match[0], parts, reading) if kind == "figures" else _words(kind, parts)
        if parsed and not (kind == "figures" and _is_heading(text, match.start(), match.end())):
            value, note = parsed
            sure = len(value) > len("2025-12")
            yield Value(match.start(), match.end(), value, note, sure, _cues(text, match.start(), match.end()))


def _is_heading(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is the number of a clause, such as 10.3.15: digits without a nought before them, behind
    which its first word stands, at the beginning of a line or of what follows a sentence."""
    return bool(_UNPADDED.fullmatch(text, start, end) and _NUMBERS.match(text, end)) and (
        text[max(0, start - 8) : start].rstrip(" ")[-1:] in "\n.;:"
    )


def _cues(text: str, start: int, end: int) -> tuple[str, ...]:
    """Return the cues that contracts give around a date: made as of it, effective from it, in force until it."""
    before, after = _BEFORE.search(text, max(0, start - _NEAR), start), _AFTER.match(text, end, end + _NEAR)
    cues: tuple[str, ...] = _EFFECTIVE if after else ()
    if before is None:
        return cues
    if before["signed"]:
        signed = not _OTHER.search(text, max(0, before.start() - 2 * _NEAR), before.start())
        cues += (_SIGNED if signed else ()) + (_EFFECTIVE if "effective" in before[0].lower() else ())
        return cues
    return cues + (_EFFECTIVE if before["effective"] else _INVOICED if before["invoiced"] else _ENDING)


def _words(kind: str, parts: list[str]) -> tuple[str, str | None] | None:
    numbers = [part for part in parts if part.isdecimal()]
    if kind == "iso":
        return _date(int(numbers[0]), int(numbers[1]), int(numbers[2]), None)
    month = next(MONTHS[part.lower()] for part in parts if part.lower() in MONTHS)
    if kind == "worded":
        return _date(int(numbers[0]), month, _DAYS[parts[0].lower()], None)
    if len(numbers) == 1:
        return f"{int(numbers[0]):04}-{month:02}", "no day given"
    if kind == "year_first":
        return _date(int(numbers[0]), month, int(numbers[1]), None)
    return _date(int(numbers[1]), month, int(numbers[0]), _century(numbers[1]))


def _figures(text: str, parts: list[str], reading: Reading) -> tuple[str, str | None] | None:
    """a.b.year is day first always; a/b/year and a-b-year as the document shows, unless only one order is a date."""
    a, b, year = map(int, parts)
    note = _century(parts[2])
    if "." in text:
        return _date(year, b, a, note)
    if a > 12 or b > 12:
        day, month = (a, b) if a > 12 else (b, a)
        return _date(year, month, day, note)
    day, month = (a, b) if reading.day_first else (b, a)
    if a != b and not reading.day_first_shown:
        order = "day/month" if reading.day_first else "month/day"
        note = "; ".join(filter(None, (f"ambiguous, read as {order}", note)))
    return _date(year, month, day, note)


def _century(year: str) -> str | None:
    return f"the year {year} was read as {_full(int(year))}" if len(year) <= 2 else None


def _full(year: int) -> int:
    """1970 to 2069, as POSIX nearly has it."""
    return year if year > 99 else year + (2000 if year < 70 else 1900)


def _date(year: int, month: int, day: int, note: str | None) -> tuple[str, str | None] | None:
    try:
        return date(_full(year), month, day).isoformat(), note
    except ValueError:  # not in the calendar: no date
        return None
