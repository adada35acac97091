"""Content controls of Word (ISO/IEC 29500-1, 17.5.2): what each shows when Word opens the document.

A control that is bound to custom XML (w:dataBinding) shows what that XML says, whatever text is stored in it; one that
shows its prompt (w:showingPlcHdr) has no value; a box to tick is `[x]` or `[ ]`. Stored text that says something else
than what is shown is named, for a person to look at.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property

from lxml import etree

from pipeline.errors import DocumentError
from pipeline.parse.markup.reading import local_name, parse_xml
from pipeline.parse.office.drawing.shapes import A, relation_of
from pipeline.parse.office.package import Package
from pipeline.parse.office.word.looks import OFF, W, child, value
from pipeline.parse.sight.hidden import quoted
from pipeline.parse.sight.symbols import shown_in
from pipeline.parse.writer import one_line

_STEP = re.compile(r"/(?:([\w.-]+):)?([\w.-]+)(?:\[(\d{1,9})\])?|/@(?:([\w.-]+):)?([\w.-]+)|/text\(\)(?:\[1\])?")
_PREFIX = re.compile(r"""xmlns:([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_PROPERTIES = {  # the stores that a package has in parts of its own ([MS-OI29500] 2.1.374)
    "{6C3C8BC8-F283-45AE-878A-BAB7291924A1}": "core-properties",
    "{6668398D-A668-4E3E-A5EB-62B293D839F1}": "extended-properties",
}
_ACTING = {"dataBinding", "showingPlcHdr", "checkbox"}  # properties by which a control shows another text
_TICKED = {"1", "true", "on"}
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_DAY, _MONTH = re.compile(r"(?<!d)d{1,2}(?!d)"), re.compile(r"(?<!M)M{1,2}(?!M)")
_DECLARED = re.compile(r"\s*<\?xml[^>]*\?>")
_AMOUNT = re.compile(r"\d[.,\s]?\d")  # not the one digit of "Press 1"
_NUMBER = re.compile(r"\d{1,9}")


class Controls:
    """The content controls of one document, and how many prompts were left out of its text."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._prompts: dict[str, int] = {}

    @cached_property
    def renews_fields(self) -> bool:
        """Whether Word computes all fields anew when it opens the document."""
        settings = map(self._package.xml, self._package.related(self._package.main, "settings"))
        return any(
            one.get(W + "val", "1") not in OFF for root in settings for one in root.iterchildren(W + "updateFields")
        )

    def settle(self, control: etree._Element, part: str) -> Iterator[str]:
        """Make the text of a control (w:sdt) in a part what it shows; the reasons why that may not be so."""
        properties, content = control.find(W + "sdtPr"), control.find(W + "sdtContent")
        said = {} if properties is None else {local_name(str(one.tag)): one for one in properties}
        if content is None or _ACTING.isdisjoint(said):
            return
        stored = one_line(_text_of(content))
        prompts = "showingPlcHdr" in said and said["showingPlcHdr"].get(W + "val", "1") not in OFF
        binding, found = said.get("dataBinding"), None
        if binding is not None:
            found = next(self._found(binding), None)
            if not _is_path(binding.get(W + "xpath", "")):
                yield f'a content control is bound by a path that is not followed: "{quoted(stored)}" is stored in it'
        bound = found if found is None or isinstance(found, str) else "".join(map(str, found.itertext()))
        if "repeatingSection" in said:
            yield from self._sections(binding, content)
        elif "picture" in said:
            yield from self._picture(bound, content, part)
        elif "checkbox" in said:
            yield from _box(said["checkbox"], content, bound)
        elif bound and bound.strip():
            yield from _show(said, content, stored, one_line(_listed(said, _flat_text(bound))), prompts=prompts)
        elif prompts:
            if _AMOUNT.search(stored):
                yield f'a content control shows "{quoted(stored)}", which it says is a prompt and no value'
            self._prompts[stored] = self._prompts.get(stored, 0) + (1 if stored else 0)
            _fill(content, "")
        elif bound is not None and stored:
            yield f'a content control shows nothing by its bound XML, and "{quoted(stored)}" is stored'

    def notes(self) -> list[str]:
        """Notes for the row: the prompts that were left out."""
        if not self._prompts:
            return []
        first = ", ".join(f'"{quoted(prompt)}"' for prompt in list(self._prompts)[:3])
        return [f"prompts of content controls without a value, left out: {sum(self._prompts.values())} ({first})"]

    def _found(self, binding: etree._Element) -> Iterator[etree._Element | str]:
        """The elements or texts that a binding leads to; none where there is no such store or place in it."""
        path, wanted = binding.get(W + "xpath", "").strip(), binding.get(W + "storeItemID", "").upper()
        if not _is_path(path):
            return
        prefixes = {name: one or other for name, one, other in _PREFIX.findall(binding.get(W + "prefixMappings", ""))}
        for identifier, root in self._stores:
            if not wanted or identifier == wanted:
                yield from _at(root, path, prefixes)

    @cached_property
    def _stores(self) -> list[tuple[str, etree._Element]]:
        """The parts of custom XML and of properties, each with its name as a store."""
        package, named = self._package, list[tuple[str, str]]()
        for part in package.related(package.main, "customXml"):
            names = [package.xml(one) for one in package.related(part, "customXmlProps")]
            identifier = next((name for one in names for key, name in one.attrib.items() if "itemID" in str(key)), "")
            named.append((str(identifier).upper(), part))
        named += [(store, part) for store, kind in _PROPERTIES.items() for part in package.related("", kind)]
        stores = []
        for identifier, part in named:
            with suppress(DocumentError):  # Word binds nothing to XML that is not well-formed
                stores.append((identifier, package.xml(part)))
        return stores

    def _sections(self, binding: etree._Element | None, content: etree._Element) -> Iterator[str]:
        """Compare how often a section is stored with how many elements it is repeated for."""
        if binding is None:
            return
        wanted = re.sub(r"\[\d+\]$", "", binding.get(W + "xpath", ""))
        binding.set(W + "xpath", wanted)
        found = sum(1 for _ in self._found(binding))
        stored = sum(
            any(local_name(one.tag) == "repeatingSectionItem" for one in control.iterfind(f"{W}sdtPr/*"))
            for control in content.iterchildren(W + "sdt")
        )
        if found and found != stored:
            yield f"a repeated section is shown {found} times by its bound XML, and stored {stored} times"

    def _picture(self, bound: str | None, content: etree._Element, part: str) -> Iterator[str]:
        """Compare the picture of a control with the one that is bound to it, in base64."""
        if not bound or not bound.strip():
            return
        try:
            data = base64.b64decode("".join(bound.split()), validate=True)
        except (binascii.Error, ValueError):
            return
        for blip in content.iter(A + "blip"):
            relation = self._package.relations(part).get(relation_of(blip))
            if relation and self._package.has(relation.target) and self._package.bytes(relation.target) != data:
                yield "a content control shows another picture, by its bound XML, than the one stored in it"


def _is_path(path: str) -> bool:
    """Whether a path has only steps that are followed here: names with a place, an attribute, the text."""
    return bool(path) and not _STEP.sub("", path.strip())


def _at(root: etree._Element, path: str, prefixes: dict[str, str]) -> Iterator[etree._Element | str]:
    """The elements, or the attribute, to which a path leads from the root of a document."""
    found: list[etree._Element] = []
    for number, step in enumerate(_STEP.finditer(path)):
        prefix, name, place, of_attribute, attribute = step.groups()
        if attribute:
            key = f"{{{prefixes[of_attribute]}}}{attribute}" if of_attribute in prefixes else attribute
            yield from (str(one.get(key)) for one in found if one.get(key) is not None)
            return
        if name is None:
            continue
        tag = f"{{{prefixes[prefix]}}}{name}" if prefix in prefixes else name
        inside = [[root]] if number == 0 else [list(one) for one in found]
        named = [[one for one in each if one.tag == tag] for each in inside]
        found = [one for each in named for one in (each[int(place) - 1 : int(place)] if place else each)]
    yield from found


def _show(
    said: dict[str, etree._Element], content: etree._Element, stored: str, shown: str, *, prompts: bool
) -> Iterator[str]:
    """Write what is bound to a control; a reason where another text is stored in it."""
    if "".join(stored.split()) == "".join(shown.split()):
        return
    dated = _is_date(stored, shown, said.get("date"))
    if dated and "MMM" not in (value(said["date"], "dateFormat") or ""):
        return
    _fill(content, shown[:10] if dated else shown)
    if not dated and not prompts:
        yield f'a content control shows "{quoted(shown)}" by its bound XML, and "{quoted(stored)}" is stored in it'


def _box(checkbox: etree._Element, content: etree._Element, bound: str | None) -> Iterator[str]:
    """Write a box to tick; a reason where its mark, its state and what is bound to it do not agree."""
    states = {
        local_name(one.tag): {local_name(str(key)): str(said) for key, said in one.attrib.items()} for one in checkbox
    }
    ticked = states.get("checked", {}).get("val", "0") in _TICKED
    usual = ((True, "checkedState", "2612"), (False, "uncheckedState", "2610"))
    said = ((way, states.get(name, {}), code) for way, name, code in usual)
    signs = {way: _sign(one.get("font", ""), one.get("val", code)) for way, one, code in said}
    stored = _text_of(content).strip()
    if bound and bound.strip():
        ticked = bound.strip().lower() in _TICKED
    if stored not in {signs[ticked], "[x]" if ticked else "[ ]"}:
        shows = "a tick" if ticked else "no tick"
        yield f'a box to tick has {shows} by its state, and "{quoted(stored)}" is stored in it'
    _fill(content, "[x]" if ticked else "[ ]")


def _sign(font: str, code: str) -> str:
    try:
        return shown_in(font, chr(int(code, 16)))
    except (ValueError, OverflowError):
        return ""


def _listed(said: dict[str, etree._Element], bound: str) -> str:
    """The text that a list shows for the value that is bound to it."""
    for kind in ("dropDownList", "comboBox"):
        for item in said[kind].iter(W + "listItem") if kind in said else ():
            if item.get(W + "value") == bound:
                return str(item.get(W + "displayText") or bound)
    return bound


def _flat_text(bound: str) -> str:
    """The bound text; of a whole document in one file, which text with looks is bound as, the text of its body."""
    if "<pkg:package" not in bound[:1000]:
        return bound
    try:
        root = parse_xml(_DECLARED.sub("", bound).encode("utf-8", "replace"), "a bound text")
    except DocumentError:
        return bound
    bodies = root.iter(W + "body")
    return "".join(text.text or "" for body in bodies for text in body.iter(W + "t"))


def _is_date(stored: str, shown: str, date: etree._Element | None) -> bool:
    """Whether the numbers of a stored date are those of the one in ISO form that is bound to its control.

    A month in words is not compared: where a control has one, the date is written in ISO form.
    """
    iso = _DATE.match(shown)
    if date is None or iso is None:
        return False
    form = value(date, "dateFormat") or ""
    year, month, day = map(int, iso.groups())
    wanted = [year if "yyyy" in form else year % 100] * ("y" in form)
    wanted += [day] * bool(_DAY.search(form)) + [month] * bool(_MONTH.search(form))
    return sorted(map(int, _NUMBER.findall(stored))) == sorted(wanted)


def _text_of(content: etree._Element) -> str:
    """The text of a control as it is stored, without deletions."""
    pieces = []
    for one in content.iter(W + "t", W + "sym", W + "br", W + "tab", W + "p"):
        if one.tag == W + "sym":
            pieces.append(_sign(one.get(W + "font", ""), one.get(W + "char", "")))
        elif one.tag != W + "t":
            pieces.append(" ")
        elif next(one.iterancestors(W + "del", W + "moveFrom"), None) is None:
            fonts = child(one.getparent(), "rPr", "rFonts")
            font = "" if fonts is None else fonts.get(W + "hAnsi") or fonts.get(W + "ascii") or ""
            pieces.append(shown_in(font, one.text or ""))
    return "".join(pieces)


def _fill(content: etree._Element, text: str) -> None:
    """Put a text in place of all that a control holds, in the look of its first run, but for the font."""
    runs = list(content.iter(W + "r"))
    if not runs:  # a new one in its paragraph, or in one of its own where it stands between paragraphs
        paragraph = next(content.iter(W + "p"), None)
        if paragraph is None and next(content.iterancestors(W + "p"), None) is None:
            paragraph = etree.SubElement(next(content.iter(W + "tc"), content), W + "p")
        runs = [etree.SubElement(content if paragraph is None else paragraph, W + "r")]
    for run in runs:
        for one in list(run):
            if one.tag != W + "rPr" or run is not runs[0]:
                run.remove(one)
    properties = runs[0].find(W + "rPr")
    if properties is not None:
        for one in properties.findall(W + "rFonts") + properties.findall(W + "rStyle"):
            properties.remove(one)
    etree.SubElement(runs[0], W + "t").text = text
