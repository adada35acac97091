"""The sections of a Word document (ISO/IEC 29500-1, 17.6): their headers and footers; and what colours its pages.

They stand at the end of what they hold, so they are read in a pass of their own, before the text.
"""

from dataclasses import dataclass, field

from pipeline.parse.office.package import Package, stream

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_ON = {None, "1", "true", "on"}


@dataclass
class Sections:
    """`headers` and `footers`: the parts, and whether any section shows them. `coloured`: the pages may be."""

    headers: dict[str, bool] = field(default_factory=dict)
    footers: dict[str, bool] = field(default_factory=dict)
    coloured: bool = False


def read_sections(package: Package, data: bytes) -> Sections:
    """What the main part, given as its bytes, says of its sections. Raises DocumentError(CORRUPT).

    Headers for first or even pages are shown where the document has such pages; a section takes from the one before
    what it does not say, so that one section decides for all.
    """
    sections, used = Sections(), {"default"} | _even(package)
    references: list[tuple[str, str, str]] = []
    for element in stream(data, package.main, W + "p", W + "tr", W + "sectPr", W + "background", _WP + "anchor"):
        if element.tag == W + "sectPr":
            references += [(one.tag, one.get(_R_ID, ""), one.get(W + "type", "default")) for one in element]
            used |= (
                {"first"} if any(one.get(W + "val") in _ON for one in element.iterchildren(W + "titlePg")) else set()
            )
        elif element.tag == W + "background" or element.get("behindDoc") == "1":
            sections.coloured = True
    relations = package.relations(package.main)
    for tag, name, pages in references:
        parts = {W + "headerReference": sections.headers, W + "footerReference": sections.footers}.get(tag)
        relation = relations.get(name)
        if parts is not None and relation is not None and package.has(relation.target):
            parts[relation.target] = parts.get(relation.target, False) or pages in used
    return sections


def _even(package: Package) -> set[str]:
    settings = [package.xml(part) for part in package.related(package.main, "settings")]
    switches = [switch for one in settings for switch in one.iterchildren(W + "evenAndOddHeaders")]
    return {"even"} if any(switch.get(W + "val") in _ON for switch in switches) else set()
