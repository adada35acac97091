"""How each element of an HTML page looks, as far as that decides whether its text can be seen."""

from dataclasses import replace

from lxml import etree

from pipeline.parse.styles import Declared, Look, Sheet, hides_all

NO_TEXT = {
    "script", "style", "template", "head", "title", "noframes", "datalist", "iframe", "object", "audio", "video", "rp",
    "desc", "defs", "metadata", "annotation", "annotation-xml",
}  # fmt: skip
"""Elements whose content browsers do not draw, whatever the styles say."""
_OWN_COLOURS = {"button", "input", "mark", "select", "textarea"}  # that browsers give them
_WHITE = (255, 255, 255)


class PageStyles:
    """The styles of one page. `first` is the look of text outside all elements: the page is white if nothing else."""

    def __init__(self, root: etree._Element) -> None:
        self._sheet = Sheet()
        for style in root.iter("style"):
            if "print" not in style.get("media", ""):
                self._sheet.read(style.text or "")
        self._sheet.colours_unread |= any("stylesheet" in link.get("rel", "").lower() for link in root.iter("link"))
        self.first = Look(background=None if self._sheet.colours_unread else _WHITE)

    def look_of(self, element: etree._Element, outer: Look) -> tuple[Look, str | None]:
        """The look inside an element, and the kind of hidden text that it is with all that is in it."""
        declared = self._declared(element)
        kind = None if outer.counted else _hides(element, declared, outer.size)
        unknown = self._sheet.colours_unread and ("class" in element.attrib or "id" in element.attrib)
        look = outer.inside(declared, unknown=unknown)
        return (replace(look, counted=True), kind) if kind else (look, None)

    def _declared(self, element: etree._Element) -> Declared:
        attributes = element.attrib
        declared = self._sheet.declared(
            element.tag, attributes.get("id", ""), attributes.get("class", ""), attributes.get("style", "")
        )
        if "bgcolor" in attributes and "background" not in declared:
            declared.setdefault("background-color", attributes["bgcolor"].lower())
        if "color" in attributes or (element.tag == "body" and "text" in attributes):
            declared.setdefault("color", attributes.get("color", attributes.get("text", "")).lower())
        if element.tag in _OWN_COLOURS:
            return {"color": "var()", "background-color": "var()"} | declared
        return {"color": "var()"} | declared if element.tag == "a" else declared


def _hides(element: etree._Element, declared: Declared, size: float) -> str | None:
    shut = "hidden" in element.attrib or (element.tag == "dialog" and "open" not in element.attrib)
    if shut and "display" not in declared:
        return "marked_hidden"
    return hides_all(declared, size)


def all_text(element: etree._Element) -> str:
    """The text in an element, hidden or not, but no scripts."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag not in NO_TEXT:
            pieces.append(all_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
