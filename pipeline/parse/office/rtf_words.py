"""The control words of RTF 1.9.1 that stand for characters, or begin a group with text or without any."""

CHARACTERS = {
    "tab": "\t", "line": "\n", "lbr": "\n", "emdash": "\u2014", "endash": "\u2013", "emspace": " ", "enspace": " ",
    "qmspace": " ", "bullet": "\u2022", "lquote": "\u2018", "rquote": "\u2019", "ldblquote": "\u201c",
    "rdblquote": "\u201d", "nestcell": " ", "nestrow": "\n",
}  # fmt: skip
SYMBOLS = {b"~": "\xa0", b"_": "-", b"-": "", b"\n": "\n", b"\r": "\n", b"\t": "\t"}
# Destinations without text of the document; one behind \* that is not known to have text is taken for one, too.
SILENT = {
    "fonttbl", "colortbl", "stylesheet", "info", "pict", "objdata", "fldinst", "filetbl", "listtable",
    "listoverridetable", "revtbl", "rsidtbl", "themedata", "colorschememapping", "datastore", "latentstyles",
    "generator", "xmlnstbl", "bkmkstart", "bkmkend", "sp", "sn", "sv", "nonesttables", "nonshppict", "upr",
    "pgdsctbl", "atnid", "atnauthor", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "tc", "tcn",
    "xe", "rxe", "txe", "do", "template", "formfield", "falt", "panose", "mmathPr", "private", "pntxta", "pntxtb",
    "objclass", "objname",
}  # fmt: skip
SPOKEN = {"shptxt", "ud", "shpinst", "dptxbxtext", "listtext", "pntext", "fldrslt", "result"}
ASIDE = {
    "header": "header", "headerl": "header", "headerr": "header", "headerf": "header",
    "footer": "footer", "footerl": "footer", "footerr": "footer", "footerf": "footer",
    "footnote": "footnote", "annotation": "annotation",
}  # fmt: skip
