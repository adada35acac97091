"""The styles of OpenDocument: whether their text is shown, on which kind of page, with which numbers."""

from collections.abc import Iterator

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.odf.document import attribute, full, name_of, named

_LEVELS = ("text:list-level-style-number", "text:list-level-style-bullet", "text:list-level-style-image",
           "text:outline-level-style")  # fmt: skip


class Styles:
    """The styles that hold in one part: the common ones of the document and the part's own automatic ones."""

    def __init__(self, common: etree._Element, part: etree._Element) -> None:
        self._styles: dict[tuple[str, str], etree._Element] = {}
        self._values: dict[tuple[str, str, str, str], str | None] = {}
        self._data: dict[str, etree._Element] = {}
        self._defaults: dict[str, etree._Element] = {}
        self._lists: dict[str, dict[int, etree._Element]] = {}
        self.outline: dict[int, etree._Element] = {}
        for holder in [
            *common.iterchildren(full("office:styles")),
            *part.iterchildren(full("office:automatic-styles")),
        ]:
            for style in holder.iterchildren(full("style:style")):
                self._styles[attribute(style, "style:family"), attribute(style, "style:name")] = style
            for style in holder.iterchildren(full("style:default-style")):
                self._defaults[attribute(style, "style:family")] = style
            for style in holder.iterchildren(full("text:list-style")):
                self._lists[attribute(style, "style:name")] = _by_level(style)
            for style in holder:
                if name_of(style.tag).startswith("number:"):
                    self._data[attribute(style, "style:name")] = style
            for style in holder.iterchildren(full("text:outline-style")):
                self.outline = _by_level(style)

    def value(self, family: str, name: str, properties: str, wanted: str) -> str | None:
        """An attribute of a style's properties (of the style itself for ""), its own or of those it is based on."""
        key = (family, name, properties, wanted)
        if key not in self._values:
            self._values[key] = next(self._found(*key), None)
        return self._values[key]

    def properties(self, family: str, name: str, properties: str) -> Iterator[dict[str, str]]:
        """The attributes of a style's properties by their usual names, its own, then those of what it is based on."""
        for style in self._chain(family, name):
            for holder in style.iterchildren(full(properties)):
                yield _said(holder)

    def default(self, family: str, properties: str) -> dict[str, str]:
        """The attributes of properties that hold for a family where no style says otherwise."""
        style = self._defaults.get(family)
        holder = None if style is None else next(style.iterchildren(full(properties)), None)
        return {} if holder is None else _said(holder)

    def shows_nothing(self, name: str, *, of_text: bool) -> bool:
        """Whether a format writes nothing, whatever the number is; of texts, whether it writes no texts either."""
        style = self._data.get(name)
        if style is None or (of_text and name_of(style.tag) != "number:text-style"):
            return False
        drawn = [
            one for one in style if name_of(one.tag).startswith("number:") and (one.attrib or one.text or len(one))
        ]
        others = [attribute(one, "style:apply-style-name") for one in style.iterchildren(full("style:map"))]
        return not drawn and all(other != name and self._is_empty(other) for other in others)

    def is_conditional(self, family: str, name: str) -> bool:
        """Whether a style gives way to others on conditions."""
        return any(style.find(full("style:map")) is not None for style in self._chain(family, name))

    def names(self, family: str, name: str) -> Iterator[str]:
        """A style's name, then those of the styles that it is based on."""
        return (attribute(style, "style:name") for style in self._chain(family, name))

    def levels(self, name: str) -> dict[int, etree._Element]:
        """The levels, from 1, of a list style."""
        return self._lists.get(name, {})

    def _is_empty(self, name: str) -> bool:
        style = self._data.get(name)
        return style is not None and not any(one.attrib or one.text or len(one) for one in style)

    def _found(self, family: str, name: str, properties: str, wanted: str) -> Iterator[str]:
        for style in self._chain(family, name):
            for holder in style.iterchildren(full(properties)) if properties else [style]:
                value = holder.get(full(wanted))
                if value is not None:
                    yield value

    def _chain(self, family: str, name: str) -> Iterator[etree._Element]:
        seen = set[str]()
        while name and name not in seen and (family, name) in self._styles:
            seen.add(name)
            style = self._styles[family, name]
            yield style
            name = attribute(style, "style:parent-style-name")


def master_pages(common: etree._Element) -> list[etree._Element]:
    """The pages that hold headers and footers, or stand behind slides."""
    return [
        page
        for holder in common.iterchildren(full("office:master-styles"))
        for page in named(holder, "style:master-page")
    ]


def _said(holder: etree._Element) -> dict[str, str]:
    return {name_of(str(name)): str(value) for name, value in holder.attrib.items()}


def _by_level(style: etree._Element) -> dict[int, etree._Element]:
    levels = [level for name in _LEVELS for level in style.iterchildren(full(name))]
    return {whole_number(attribute(level, "text:level"), 0): level for level in levels}
