"""What form fields show: the option of a drop-down list, what is typed into a field, what is ticked (HTML, 4.10)."""

from collections.abc import Callable

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.writer import one_line

_VALUELESS = {"hidden", "password", "file"}  # input fields whose value is not shown


def field_text(element: etree._Element) -> str:
    """What an input field shows."""
    kind = element.get("type", "text").lower()
    if kind in {"checkbox", "radio"}:
        return "[x] " if element.get("checked") is not None else "[ ] "
    if kind in _VALUELESS:
        return ""
    return f" {element.get('alt' if kind == 'image' else 'value', '')} "


def is_drop_down(select: etree._Element) -> bool:
    """Whether a list shows one option only, until it is opened."""
    return "multiple" not in select.attrib and whole_number(select.get("size"), 1) <= 1


def chosen(select: etree._Element) -> etree._Element | None:
    """The option that a drop-down list shows: the last that is selected, else the first that can be chosen."""
    options = list(select.iter("option"))
    selected = [one for one in options if "selected" in one.attrib]
    return selected[-1] if selected else next((one for one in options if not _is_disabled(one)), None)


def _is_disabled(option: etree._Element) -> bool:
    return "disabled" in option.attrib or any("disabled" in one.attrib for one in option.iterancestors("optgroup"))


def option_text(option: etree._Element, hide: Callable[[str, str], bool]) -> str:
    """The label that stands in place of an option's text, which is then hidden as `hide` says; else its text."""
    text, label = one_line("".join(map(str, option.itertext()))), one_line(option.get("label", ""))
    if not label or label == text:
        return text
    return label if not text or hide("marked_hidden", text) else f"{label} {text}"
