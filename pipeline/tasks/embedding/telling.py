"""Words by which a text announces what it says as a whole: in this paper, we propose, in summary (Edmundson 1969)."""

import re

_WORK = r"(?:paper|work|article|report|study|letter|document|note|thesis|memo|survey|agreement|policy|notice)"
_TELLS = re.compile(
    rf"\b(?:(?:in|with) this {_WORK}|(?:this|the present) {_WORK} (?:\w+ )?(?:\w+s|aims|is about)\b"
    r"|we (?:\w+ly |also |here |then |therefore |first )?(?:propose|present|introduce|show|describe|develop|study|find"
    r"|demonstrate|investigate|report|explore|provide|analy[sz]e|establish|suggest|recommend|conclude)"
    r"|(?:is|are) (?:hereby )?(?:proposed|presented|introduced)|in (?:summary|conclusion|short|brief)"
    r"|to sum(?:marise|marize)? up"
    r"|in diese[mr] (?:arbeit|bericht|artikel|beitrag|studie|schreiben)|diese[rs]? (?:arbeit|bericht|artikel|beitrag"
    r"|studie)"
    r"|wir (?:zeigen|stellen|schlagen|untersuchen|empfehlen)|zusammenfassend|zusammengefasst|insgesamt|kurz gesagt"
    r"|dans (?:cet article|ce rapport|ce document|cette étude)|(?:cet article|ce rapport|cette étude)"
    r"|nous (?:proposons|présentons|montrons|étudions|recommandons)|en résumé|en conclusion|en bref"
    r"|in dit (?:artikel|rapport|onderzoek)|dit (?:artikel|rapport|onderzoek)|samenvattend|kortom"
    r"|en este (?:artículo|informe|trabajo)|en resumen|in questo (?:articolo|rapporto|lavoro)|in sintesi"
    r"|in conclusione)\b",
    re.IGNORECASE,
)


def announces(text: str) -> bool:
    """Whether a sentence says that it tells what the text is about or comes to."""
    return _TELLS.search(text) is not None
