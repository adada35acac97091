"""Excel workbooks (SpreadsheetML, ISO/IEC 29500-1, 18): each sheet a page with its name as heading, then its rows.

Values are the stored ones: formulas' results, numbers at full precision, dates and times in ISO form. What is printed
above and below each page of a sheet follows its rows, then text boxes and charts, then comments.
"""

from lxml import etree

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.markup.reading import LXML
from pipeline.parse.office.drawing.scene import sheet_scene
from pipeline.parse.office.drawing.shapes import R, write_shapes
from pipeline.parse.office.embedded import add_embedded, refuse_pictures_alone
from pipeline.parse.office.package import Package
from pipeline.parse.office.sheets.cell_styles import CellStyles
from pipeline.parse.office.sheets.sheet import Rich, Strings, rich_runs, text_runs, write_sheet
from pipeline.parse.writer import TextWriter

PARSER = f"xlsx/3 {LXML}"
S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def parse(source: Source, media_type: str) -> Parsed:
    """The workbook; raises DocumentError."""
    package, writer = Package(source.data), source.writer()
    workbook = package.xml(package.main)
    book = _Workbook(package, workbook, source.limits.output_characters)
    before = 0
    for sheet in workbook.iterfind(f"{S}sheets/{S}sheet"):
        before += book.write(writer, sheet)
    if writer.length == before:  # names of sheets are no content
        writer = source.writer()
    notes = add_embedded(source.members, package)
    refuse_pictures_alone(source, writer, package, "its sheets hold")
    return finish(source, writer, media_type, PARSER, notes=notes)


class _Workbook:
    """A workbook: the texts, styles and persons that its sheets share."""

    def __init__(self, package: Package, workbook: etree._Element, characters: int) -> None:
        self._package = package
        self._relations = package.relations(package.main)
        styles, texts, rich = CellStyles(package, workbook), list[str](), dict[int, Rich]()
        for part in package.related(package.main, "sharedStrings"):
            for item in package.elements(part, S + "si"):
                if runs := rich_runs(item, styles):
                    rich[len(texts)] = runs
                texts.append("".join(text_runs(item)))
        self._strings = Strings(texts, rich, styles, characters // 2)
        self._persons = _persons(package)

    def write(self, writer: TextWriter, sheet: etree._Element) -> int:
        """Write a sheet as a page, empty if it is hidden, by the job's rule; the length of what is only its name."""
        relation = self._relations.get(sheet.get(R + "id", ""))
        if relation is None or not self._package.has(relation.target):
            raise DocumentError(Failure.CORRUPT, "one of its sheets is missing")
        name = sheet.get("name", "")
        if sheet.get("state", "visible") == "visible":
            before = writer.length
            writer.page(name, "sheet")
            writer.block(name)
            named = writer.length - before
            self._write(writer, relation.target)
            return named
        writer.page()
        writer.hidden("hidden_sheet", lambda unseen: self._write(unseen, relation.target, name))
        return 0

    def _write(self, writer: TextWriter, part: str, name: str = "") -> None:
        package = self._package
        writer.block(name)
        write_sheet(writer, package, part, self._strings)
        for drawing in package.related(part, "drawing"):
            tree = package.xml(drawing)
            scene = sheet_scene(package, drawing, tree, self._strings.styles.theme)
            write_shapes(writer, package, drawing, tree, scene)
        threads = [package.xml(one) for one in package.related(part, "threadedComment")]
        known = {"tc=" + one.get("id", "") for root in threads for one in root.iter("{*}threadedComment")}
        for comments in package.related(part, "comments"):
            _write_comments(writer, package.xml(comments), known)
        for root in threads:
            for comment in root.iter("{*}threadedComment"):
                author = self._persons.get(comment.get("personId", ""), "")
                writer.block(f"Comment ({comment.get('ref', '')}, {author}): {comment.findtext('{*}text', '')}")


def _write_comments(writer: TextWriter, root: etree._Element, threads: set[str]) -> None:
    """Write comments; not those that stand in for a thread, for programs that know none."""
    authors = {str(place): author.text or "" for place, author in enumerate(root.iter(S + "author"))}
    for comment in root.iter(S + "comment"):
        author = authors.get(comment.get("authorId", ""), "")
        if author not in threads:
            writer.block(
                f"Comment ({comment.get('ref', '')}, {author}): {''.join(text_runs(comment.find(S + 'text')))}"
            )


def _persons(package: Package) -> dict[str, str]:
    persons = [one for part in package.related(package.main, "person") for one in package.xml(part).iter("{*}person")]
    return {person.get("id", ""): person.get("displayName", "") for person in persons}
