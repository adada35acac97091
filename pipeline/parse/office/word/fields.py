"""Fields of Word (ISO/IEC 29500-1, 17.16): a code, which nobody sees, then the result that is stored for it.

Word shows the stored result, but for what it draws from the code (a list to choose from, a box to tick, SYMBOL, EQ),
and what it computes anew when it opens the document. A result that its own code contradicts is named.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator
from decimal import Decimal, DecimalException

from lxml import etree

from pipeline.parse.markup.reading import whole_number
from pipeline.parse.office.word.looks import OFF, W, child, value
from pipeline.parse.sight.hidden import quoted
from pipeline.parse.sight.raised import lowered, raised
from pipeline.parse.sight.symbols import shown_in

_LABELLED = ("MACROBUTTON", "GOTOBUTTON")  # fields whose code ends in what is shown
_CODE = re.compile(r"\s*([A-Za-z]+|=)\s*(.*)", re.DOTALL)
_PLACES = {"TOC", "PAGE", "PAGEREF", "NUMPAGES", "SECTIONPAGES", "SECTION", "SEQ", "INDEX", "HYPERLINK", "DATE", "TIME",
           "FILENAME", "PRINTDATE", "SAVEDATE", "EDITTIME", "FORMTEXT", "FORMCHECKBOX", "FORMDROPDOWN"}  # fmt: skip
"""Fields that are computed anew and say where and when, not what."""
_PAGES, _TODAY = {"PAGE", "NUMPAGES", "SECTIONPAGES", "SECTION"}, {"DATE", "TIME"}
_PAGE = re.compile(r"\W*(?:\d{1,3}|[ivxlc]{1,9}|[IVXLC]{1,9}|[a-zA-Z])?\W*")
_GROUPS, _YEAR = re.compile(r"\d+"), re.compile(r"(?:19|20)\d\d")
_MOST = 1000  # characters of a result that are compared
_ARGUMENT = re.compile(r'"([^"]*)"|(\S+)')
_SUM = re.compile(r"[\d.+\-*/() ]{1,100}")
_SIGN, _SIGN_FONT = re.compile(r"(0x[0-9A-Fa-f]{1,6}|\d{1,7})"), re.compile(r'\\f\s+(?:"([^"]*)"|(\S+))')
_EQUATION = (
    (re.compile(r"\\f\s*\(([^(),;]*)[,;]([^(),;]*)\)"), lambda found: f" {found[1].strip()}/{found[2].strip()} "),
    (re.compile(r"\\r\s*\(([^(),;]*)\)"), lambda found: f"√{found[1]}"),
    (re.compile(r"\\r\s*\(([^(),;]*)[,;]([^(),;]*)\)"), lambda found: f"{raised(found[1])}√{found[2]}"),
    (re.compile(r"\\s\s*\\up\d*\s*\(([^()]*)\)"), lambda found: raised(found[1])),
    (re.compile(r"\\s\s*\\do\d*\s*\(([^()]*)\)"), lambda found: lowered(found[1])),
    (re.compile(r"(?:\\[a-z]+\d*\s*)+\(([^()]*)\)"), lambda found: found[1]),
)
_DEEPEST = 10
_FEW = 8  # more numbers than a date with a time has


class Field:
    """One field: its code so far, whether that has ended, the result behind it; the entries of a list, the choice."""

    def __init__(self, *, renewed: bool = False) -> None:
        self.code, self.result = "", ""
        self.in_code = True
        self.entries: list[str] = []
        self.choice = 0
        self.renewed = renewed

    @property
    def name(self) -> str:
        """The kind of field, in capitals."""
        return found[1].upper() if (found := _CODE.match(self.code)) else ""

    @property
    def said(self) -> str:
        """The code behind the kind of field."""
        return found[2] if (found := _CODE.match(self.code)) else ""

    @property
    def chosen(self) -> str | None:
        """The entry that a list (FORMDROPDOWN) shows; None for other fields."""
        if not self.entries or self.name != "FORMDROPDOWN":
            return None
        return self.entries[self.choice] if self.choice < len(self.entries) else ""

    def add_result(self, text: str) -> None:
        """Take up a piece of the result, as much as is compared."""
        if len(self.result) < _MOST:
            self.result += text


class Fields:
    """How deep in fields the text is, from front to back. `renews`: whether Word computes all anew at opening."""

    def __init__(self, renews: Callable[[], bool]) -> None:
        self._open: list[Field] = []  # the outermost first
        self._renews = renews
        self.reasons: list[str] = []  # why what is stored may not be what is shown

    def read(self, mark: etree._Element) -> str:
        """Take up the beginning of a field or of its result, or its end (w:fldChar); what is drawn in its place."""
        kind, form = mark.get(W + "fldCharType"), mark.find(W + "ffData")
        if kind == "begin":
            self.begin(form, dirty=mark.get(W + "dirty", "0") not in OFF)
        elif self._open and kind == "separate":
            self._open[-1].in_code = False
        elif self._open and kind == "end":
            return self.end()
        if child(form, "checkBox") is None:
            return ""
        states = [one for name in ("checked", "default") if (one := child(form, "checkBox", name)) is not None]
        return "[x]" if states and states[0].get(W + "val", "1") in {"1", "true", "on"} else "[ ]"

    def begin(self, form: etree._Element | None = None, *, code: str = "", dirty: bool = False) -> None:
        """Begin a field, whose code follows or is given."""
        field = Field(renewed=dirty or self._renews())
        field.code, field.in_code = code, not code
        choice = child(form, "ddList")
        if choice is not None:
            field.choice = whole_number(value(choice, "result") or value(choice, "default"), 0)
            field.entries = [str(one.get(W + "val", "")) for one in choice.iterchildren(W + "listEntry")]
        self._open.append(field)

    def end(self) -> str:
        """End the innermost field; what is drawn behind its result."""
        field = self._open.pop()
        self.reasons += doubts(field)
        return drawn(field)

    def read_code(self, text: str) -> None:
        """Take up a piece of the code of the innermost field."""
        if self._open:
            self._open[-1].code += text

    def shown(self, text: str) -> str:
        """Take up a piece of text outside of codes; nothing of it is shown in the place of a chosen entry."""
        for field in self._open:
            field.add_result(text)
        return "" if any(field.chosen is not None for field in self._open) else text

    @property
    def hides(self) -> bool:
        """Whether text that comes now belongs to a code: also the result of a field within the code of another."""
        return any(one.in_code and not one.code.strip().upper().startswith(_LABELLED) for one in self._open)

    def end_paragraph(self) -> None:
        """Codes end with their paragraph at the latest, so that a field without an end hides no document."""
        for field in self._open:
            field.in_code = False


def doubts(field: Field) -> Iterator[str]:
    """Reasons why the stored result of a field is not to be believed."""
    name, result = field.name, field.result.strip()
    if field.chosen is not None and result and result != field.chosen.strip():
        yield f'a list shows "{quoted(field.chosen)}", and "{quoted(result)}" is stored in it'
    computed = _computed(re.split(r"\\[#*@]", field.said)[0]) if name == "=" else None
    if computed is not None and result and not says(result, computed):
        yield f'a formula comes to {computed.normalize():f}, and "{quoted(result)}" is stored as its result'
    said = _ARGUMENT.match(field.said) if name == "QUOTE" else None
    if said and result and (said[1] or said[2] or "").split() != result.split():
        yield f'a field shows "{quoted(said[1] or said[2] or "")}", and "{quoted(result)}" is stored as its result'
    if (name in _PAGES and not is_page(result)) or (name in _TODAY and not is_date(result)):
        yield f'a field ({name}) that is always computed anew has "{quoted(result)}" stored as its result'
    if field.renewed and name and name not in _PLACES and result and computed is None:
        yield f'a field ({name}) is computed anew at opening, and "{quoted(result)}" is stored as its result'


def _computed(expression: str) -> Decimal | None:
    """The value of a formula of numbers alone; None for any other."""
    if not _SUM.fullmatch(expression.strip()):
        return None
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, DecimalException, RecursionError, MemoryError):
        return None


_OPERATIONS: dict[type, Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


def _value(node: ast.expr) -> Decimal | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Decimal(repr(node.value))
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand)
        return -inner if inner is not None and isinstance(node.op, ast.USub) else inner
    if not isinstance(node, ast.BinOp):
        return None
    left, right, operation = _value(node.left), _value(node.right), _OPERATIONS.get(type(node.op))
    return None if left is None or right is None or operation is None else operation(left, right)


def is_page(result: str) -> bool:
    """Whether the result of a page's number, or of how many there are, is like one."""
    return _PAGE.fullmatch(result) is not None


def is_date(result: str) -> bool:
    """Whether the result of a date, or of a time, is like one, also in the words of Chinese."""
    groups = _GROUPS.findall(result)
    return not result or "\u5e74" in result or 1 < len(groups) < _FEW or bool(groups and _YEAR.fullmatch(groups[0]))


def says(result: str, computed: Decimal) -> bool:
    """Whether a result says a number, with either sign before its decimals, as exactly as it has decimals."""
    digits = re.sub(r"[^\d.,]", "", result).strip(".,")
    for groups, point in ((",", "."), (".", ",")):
        plain = digits.replace(groups, "").replace(point, ".")
        if plain.count(".") < 2 and plain:
            number = Decimal(plain)
            if number == round(abs(computed), max(0, -int(number.as_tuple().exponent))):
                return computed == 0 or (computed < 0) == any(sign in result for sign in "-\u2212(")
    return False


def drawn(field: Field) -> str:
    """What is drawn by the code of a field: a chosen entry; signs and formulas that have no result."""
    if field.chosen is not None or field.result.strip():
        return field.chosen or ""
    if field.name == "SYMBOL":
        number, font = _SIGN.match(field.said), _SIGN_FONT.search(field.said)
        if number is None:
            return ""
        code = int(number[1], 16 if number[1].startswith("0x") else 10)
        return shown_in(font[1] or font[2] if font else "", chr(code) if code < 0x110000 else "\ufffd")
    if field.name != "EQ":
        return ""
    text = field.said
    for _ in range(_DEEPEST):
        before = text
        for pattern, shown in _EQUATION:
            text = pattern.sub(shown, text)
        if text == before:
            break
    return text
