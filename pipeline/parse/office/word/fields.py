"""Fields of a Word document (ISO/IEC 29500-1, 17.16.18): a code, which nobody sees, then the result that is shown."""

from lxml import etree

from pipeline.parse.office.word.looks import W

_LABELLED = ("MACROBUTTON", "GOTOBUTTON")  # their code ends in what is shown


class Fields:
    """How deep in fields the text is, as it is read from front to back."""

    def __init__(self) -> None:
        self._in_code: list[bool] = []  # of each field that is open, the outermost first
        self._codes: list[str] = []

    def read(self, mark: etree._Element) -> None:
        """Take up the beginning of a field or of its result, or its end (w:fldChar)."""
        kind = mark.get(W + "fldCharType")
        if kind == "begin":
            self._in_code.append(True)
            self._codes.append("")
        elif self._in_code and kind == "separate":
            self._in_code[-1] = False
        elif self._in_code and kind == "end":
            self._in_code.pop()
            self._codes.pop()

    def read_code(self, text: str) -> None:
        """Take up a piece of the code of the innermost field."""
        if self._codes:
            self._codes[-1] += text

    @property
    def hides(self) -> bool:
        """Whether text that comes now belongs to a code: also the result of a field within the code of another."""
        return any(
            in_code and not code.strip().upper().startswith(_LABELLED)
            for in_code, code in zip(self._in_code, self._codes, strict=True)
        )

    def end_paragraph(self) -> None:
        """Codes end with their paragraph at the latest, so that a field without an end hides no document."""
        self._in_code = [False] * len(self._in_code)
