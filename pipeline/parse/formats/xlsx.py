"""Excel workbooks (SpreadsheetML, ISO/IEC 29500-1, 18): each sheet a page with its name as heading, then its rows.

Values are what the cells show: numbers in their formats, dates and times in ISO form; formulas' results are the stored
ones, held against what the formulas give. What is printed above and below each page of a sheet follows its rows, then
text boxes and charts, then comments.
"""

from functools import partial

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish
from pipeline.parse.markup.reading import LXML, whole_number
from pipeline.parse.office.cells import unescaped
from pipeline.parse.office.drawing.scene import sheet_scene
from pipeline.parse.office.drawing.shapes import R, write_shapes
from pipeline.parse.office.embedded import add_embedded, refuse_pictures_alone
from pipeline.parse.office.package import Package
from pipeline.parse.office.sheets.cell_styles import CellStyles
from pipeline.parse.office.sheets.drawn import check_drawn
from pipeline.parse.office.sheets.grid import Grid, Table, read_tables
from pipeline.parse.office.sheets.results import Results
from pipeline.parse.office.sheets.sheet import Rich, Strings, read_grid, text_and_runs, write_sheet
from pipeline.parse.writer import TextWriter

PARSER = f"xlsx/6 {LXML}"
S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def parse(source: Source, media_type: str) -> Parsed:
    """The workbook; raises DocumentError."""
    package, writer = Package(source.data), source.writer()
    book = _Workbook(package, source.limits.output_characters)
    if book.write(writer) == writer.length:  # names of sheets are no content
        writer = source.writer()
    notes = [*book.results.finish(source.hidden), *add_embedded(source.members, package)]
    refuse_pictures_alone(source, writer, package, "its sheets hold")
    return finish(source, writer, media_type, PARSER, notes=notes)


class _Workbook:
    """A workbook: the texts, styles and persons that its sheets share."""

    def __init__(self, package: Package, characters: int) -> None:
        self._package = package
        workbook, relations = package.xml(package.main), package.relations(package.main)
        self._sheets = list[tuple[str, bool, str]]()  # name, whether it is shown, part ("": none)
        for sheet in workbook.iterfind(f"{S}sheets/{S}sheet"):
            relation = relations.get(sheet.get(R + "id", ""))
            is_shown = sheet.get("state", "visible") == "visible"
            self._sheets.append((unescaped(sheet.get("name", "")), is_shown, relation.target if relation else ""))
        self._parts = {name.lower(): part for name, _, part in self._sheets if part}
        styles, texts, rich = CellStyles(package, workbook), list[str](), dict[int, Rich]()
        for part in package.related(package.main, "sharedStrings"):
            for item in package.elements(part, S + "si"):
                text, runs = text_and_runs(item, styles)
                if runs:
                    rich[len(texts)] = runs
                texts.append(text)
        # Whether programs compute all results anew when they load the workbook (18.2.2).
        said = {} if (found := workbook.find(S + "calcPr")) is None else dict(found.attrib)
        anew = {said.get("fullCalcOnLoad"), said.get("forceFullCalc")}
        stale = said.get("calcCompleted") in {"0", "false"} or not anew.isdisjoint({"1", "true"})
        # Defined names (18.2.5) with what they mean, by the sheet on which they hold ("": all) in lower case.
        names, owners = {}, [*(name.lower() for name, _, _ in self._sheets), ""]
        for name in workbook.iterfind(f"{S}definedNames/{S}definedName"):
            place = min(whole_number(name.get("localSheetId"), len(owners) - 1), len(owners) - 1)
            names[owners[place], name.get("name", "").lower()] = name.text or ""
        self.results = Results(self._grid, names, stale, self._tables, styles.epoch)
        self._strings = Strings(texts, rich, styles, self.results, characters // 2)
        persons = [package.xml(part) for part in package.related(package.main, "person")]
        self._persons = {
            one.get("id", ""): one.get("displayName", "") for root in persons for one in root.iter("{*}person")
        }

    def write(self, writer: TextWriter) -> int:
        """Write each sheet as a page, empty if it is hidden, by the job's rule; the length of what is only names."""
        named = 0
        for name, is_shown, part in self._sheets:
            if not self._package.has(part):
                raise DocumentError(Failure.CORRUPT, "one of its sheets is missing")
            if is_shown:
                before = writer.length
                writer.page(name, "sheet")
                writer.block(name)
                named += writer.length - before
                self._write(part, name, writer)
            else:
                writer.page()
                writer.hidden("hidden_sheet", partial(self._write, part, name, is_hidden=True))
        return named

    def _grid(self, sheet: str) -> Grid | None:
        part = self._parts.get(sheet, "")
        return read_grid(self._package, part, self._strings) if self._package.has(part) else None

    def _tables(self) -> dict[str, Table]:
        return {
            name: table
            for sheet, part in self._parts.items()
            for name, table in read_tables(self._package, part, sheet)
        }

    def _write(self, part: str, name: str, writer: TextWriter, *, is_hidden: bool = False) -> None:
        package = self._package
        writer.block(name if is_hidden else "")
        write_sheet(writer, package, part, self._strings, name)
        for drawing in package.related(part, "drawing"):
            tree = package.xml(drawing)
            scene = sheet_scene(tree, self._strings.styles.theme)
            write_shapes(writer, package, drawing, tree, scene)
            check_drawn(self.results, package, drawing, tree, name)
        threads = [package.xml(one) for one in package.related(part, "threadedComment")]
        threaded = [comment for root in threads for comment in root.iter("{*}threadedComment")]
        stand_ins = {"tc=" + one.get("id", "") for one in threaded}  # for programs that know no threads
        for comments in package.related(part, "comments"):
            root = package.xml(comments)
            authors = {str(place): author.text or "" for place, author in enumerate(root.iter(S + "author"))}
            for comment in root.iter(S + "comment"):
                author = authors.get(comment.get("authorId", ""), "")
                if author not in stand_ins:
                    text, _ = text_and_runs(comment.find(S + "text"), self._strings.styles)
                    writer.block(f"Comment ({comment.get('ref', '')}, {author}): {text}")
        for comment in threaded:
            author = self._persons.get(comment.get("personId", ""), "")
            text = unescaped(comment.findtext("{*}text", ""))
            writer.block(f"Comment ({comment.get('ref', '')}, {author}): {text}")
