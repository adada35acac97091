"""Office packages by hand, whole enough that any program opens them: the parts and, for each, what it relates to."""

import io
import zipfile
from collections.abc import Mapping

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OPEN_XML = "application/vnd.openxmlformats-officedocument"
_PLAIN = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
_FONT = '<a:latin typeface="Arial"/><a:ea typeface=""/><a:cs typeface=""/>'
_SCHEME = {"dk2": "1F497D", "lt2": "EEECE1", "accent1": "4F81BD", "accent2": "C0504D", "accent3": "9BBB59",
           "accent4": "8064A2", "accent5": "4BACC6", "accent6": "F79646", "hlink": "0000FF",
           "folHlink": "800080"}  # fmt: skip
THEME = f"""<a:theme xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" name="t"><a:themeElements>
<a:clrScheme name="c"><a:dk1><a:sysClr val="windowText" lastClr="000000"/></a:dk1>
<a:lt1><a:sysClr val="window" lastClr="FFFFFF"/></a:lt1>
{"".join(f'<a:{name}><a:srgbClr val="{value}"/></a:{name}>' for name, value in _SCHEME.items())}</a:clrScheme>
<a:fontScheme name="f"><a:majorFont>{_FONT}</a:majorFont><a:minorFont>{_FONT}</a:minorFont></a:fontScheme>
<a:fmtScheme name="o"><a:fillStyleLst>{3 * _PLAIN}</a:fillStyleLst>
<a:lnStyleLst>{3 * f'<a:ln w="9525">{_PLAIN}</a:ln>'}</a:lnStyleLst>
<a:effectStyleLst>{3 * "<a:effectStyle><a:effectLst/></a:effectStyle>"}</a:effectStyleLst>
<a:bgFillStyleLst>{3 * _PLAIN}</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>"""
"""The theme that Office had from 2007 to 2012."""


def relations(*targets: tuple[str, str]) -> str:
    """A part of relations rId1, rId2... of (type, target)."""
    entries = "".join(
        f'<Relationship Id="rId{place}" Type="{OFFICE}/relationships/{kind}" Target="{target}"/>'
        for place, (kind, target) in enumerate(targets, start=1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{entries}</Relationships>'


def package(kinds: Mapping[str, str], parts: Mapping[str, str | bytes]) -> bytes:
    """A package of `parts`, the first of `kinds` (part -> content type, without what all have) being the main one."""
    overrides = "".join(
        f'<Override PartName="/{part}" ContentType="{_OPEN_XML}.{kind}"/>' for part, kind in kinds.items()
    )
    types = (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="png" ContentType="image/png"/>{overrides}</Types>'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        whole = {"[Content_Types].xml": types, "_rels/.rels": relations(("officeDocument", next(iter(kinds)))), **parts}
        for name, data in whole.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()
