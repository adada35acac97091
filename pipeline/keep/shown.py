"""Reports of nights that show rows which are to be erased: they go, for a page cannot lose a row."""

from collections.abc import Collection

from pipeline.paths.names import file_sha256
from pipeline.plan import Site
from pipeline.records.entries import read_entries
from pipeline.records.types import Document, Reported


def reports_showing(site: Site, entries: Collection[Document], gone: Collection[int]) -> list[Reported]:
    """The last report of each night that shows one of the rows `gone`, as far as its files are still there. One whose
    entry cannot be opened does if it tells of a night in which one of `entries` came."""
    numbers = {entry.n for entry in entries if entry.n in gone}
    last: dict[tuple[str, str], Reported] = {}
    for entry in read_entries(site):
        if isinstance(entry, Reported):
            last[entry.job, entry.night] = entry
    return [report for report in last.values() if _shows(report, numbers) and _is_there(site, report)]


def _shows(report: Reported, numbers: set[int]) -> bool:
    if report.rows is None:
        return any(report.first <= number < report.n for number in numbers)
    return not numbers.isdisjoint(report.rows)


def _is_there(site: Site, report: Reported) -> bool:
    files = ((site.root / made.file, made.sha256) for made in report.made_files)
    return any(path.is_file() and file_sha256(path) == sha256 for path, sha256 in files)
