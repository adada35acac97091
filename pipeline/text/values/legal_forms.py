"""Legal forms of companies and words that only names of organisations have, and the capitals with which names begin."""

# ruff: noqa: RUF001  letters of other scripts are meant
import re
from typing import Final

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
SHORT_FORMS: Final = frozenset("SE AS AD AB SA SL AG KG SPA SIA NV BV OOD LP PLC SCA SAS SNC eG mbH".split())  # noqa: SIM905
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
