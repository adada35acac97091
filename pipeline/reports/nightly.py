"""The reports of a run are made when it ends: of its own night, and of a night whose last run was cut off.

They are staged, named by a record in the same commit as the end of the run, and then put in place; after a crash the
next start does that. A run does not fail because of a report: what kept it from being made is told.
"""

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pipeline.document import Row
from pipeline.errors import BadPartError
from pipeline.outbox.placement import move_reports, staged_name, sync
from pipeline.outbox.results import batches
from pipeline.paths.names import REPORTS, file_sha256
from pipeline.plan import RunPlan, Site
from pipeline.records.history import History
from pipeline.records.nights import night_of_run
from pipeline.records.settings import label
from pipeline.records.types import MadeFile, Part, Reported, Shares
from pipeline.report import RunReport
from pipeline.reports.markdown import markdown
from pipeline.reports.night import NIGHTS, Night
from pipeline.reports.page import page
from pipeline.reports.rows import rows_of
from pipeline.reports.shares import Tally, added, positive
from pipeline.tasks import name_of

_SALT: Final = 32  # bytes
ENCRYPTED: Final = "Results are encrypted, and this report is not: `cloister results` and the console show the rows."


@dataclass
class Nightly:
    """Gathers what a run commits, and makes the reports. `why_not`: why one could not be made; `made`: the records of
    those that wait for their place; `facts`: this run's night, as its report tells of it."""

    plan: RunPlan
    run: str
    history: History
    made: list[Reported] = field(default_factory=list)
    why_not: str | None = None
    facts: Night | None = None
    _tally: Tally = field(init=False)

    def __post_init__(self) -> None:
        self._tally = Tally(self.plan.job)

    @property
    def file(self) -> Path | None:
        """The report of this run's night, if one was made."""
        mine = (each for each in self.made if each.night == self._night)
        return next((self.plan.site.root / each.html.file for each in mine), None)

    @property
    def _night(self) -> str:
        night = night_of_run(self.run)
        assert night is not None  # run.py names it
        return night.isoformat()

    def take(self, rows: Iterable[Row]) -> None:
        """Take in rows that were committed."""
        for row in rows:
            self._tally.take(row)

    def make(self, report: RunReport) -> list[Reported]:
        """Stage the reports that are due at the end of a run; their records, which are to be committed with it."""
        try:
            self.made = list(self._made(report))
            if self.made:
                sync(self.plan.outbox / ".staging")
        except (OSError, BadPartError) as error:
            self.made, self.why_not = [], _told(error)
        return self.made

    def place(self) -> None:
        """Put the reports in place that were committed."""
        try:
            move_reports(self.plan.site.root, self.made)
            if self.made:
                (self.plan.outbox / ".staging").rmdir()
        except OSError as error:
            self.why_not = _told(error)

    def _made(self, report: RunReport) -> Iterator[Reported]:
        reports = dict(self.history.reports)
        before = self.history.unreported if reports else ()  # of a log without reports, this night is the first
        for night in sorted({*before, self._night}):
            mine = night == self._night
            tally = self._tally if mine else Tally(self.plan.job)
            parts = self.history.unreported.get(night, ())
            for row in _rows(self.plan.site, parts):
                tally.take(row)
            if tally.rows:
                runs, seconds = len({part.run for part in parts}) + mine, report.seconds if mine else 0.0
                told = self._told(night, tally, reports, report if mine else None, seconds, runs)
                reports[night] = told
                yield told

    def _told(
        self, night: str, tally: Tally, reports: Mapping[str, Reported], report: RunReport | None, seconds: float,
        runs: int,
    ) -> Reported:  # fmt: skip
        """The record of a night's report, which is staged; `report` of this run, if it is of its night."""
        site, before = self.plan.site, reports.get(night)
        assert tally.first is not None  # it has rows
        first = before.first if before else tally.first
        again = {number for number in tally.replaced if number >= first}
        for row in rows_of(site, again):
            tally.take_back(row)
        tally.lists.without(again)
        shares, digests = tally.shares(seconds, runs), set[str | None](tally.digests)
        if before:
            shares = added(before.shares or Shares(), shares)
            digests.add(before.job_digest)
            for row in rows_of(site, set(before.rows or ()) - again):
                tally.lists.add(row, self.plan.job)
        made = Reported(
            run=self.run, job=self.plan.job, night=night, first=first,
            job_digest=digests.pop() if len(digests) == 1 else None,
            html=MadeFile("", ""), markdown=MadeFile("", ""), shares=positive(shares), rows=tally.lists.numbers,
        )  # fmt: skip
        facts = self._facts(made, tally, reports, report)
        self.facts = facts if report else self.facts
        root, salt = site.root, f"\n<!-- {secrets.token_hex(_SALT)} -->\n" if self.plan.private else ""
        html = self._staged(f"report-{night}.html", page(facts, root) + salt)
        return replace(made, html=html, markdown=self._staged(f"report-{night}.md", markdown(facts, root) + salt))

    def _facts(self, made: Reported, tally: Tally, reports: Mapping[str, Reported], report: RunReport | None) -> Night:
        before = [each for night, each in sorted(reports.items()) if night < made.night and each.shares]
        alike = [each for each in before if each.job_digest and each.job_digest == made.job_digest][-NIGHTS:]
        told = report.isolation.told if report and report.isolation else None
        return Night(
            job=self.plan.job,
            task=name_of(self.plan.task),
            night=made.night,
            shares=made.shares or Shares(),
            **self._listed(tally),
            earlier={each.night: each.shares for each in alike if each.shares},
            others=len(before) - len(alike),
            waiting=report.counts["pending"] if report else None,
            ignored=report.counts["ignored"] if report else None,
            known=report.known if report else 0,
            stopped=report.interrupted if report else False,
            window_closed=report.window_closed if report else False,
            model=self.plan.model.name,
            software=label(),
            private=self.plan.private,
            notes=[*([f"Isolation of the parsers was {told}."] if told else []), *self._not_listed],
        )

    def _listed(self, tally: Tally) -> dict[str, Any]:
        """The rows that a report lists: none where rows are encrypted, for a report is in the clear."""
        if self._not_listed:
            return {"failed": (), "look": (), "uncertain": ()}
        return {"failed": tally.lists.failed, "look": tally.lists.look, "uncertain": tally.lists.least_certain}

    @property
    def _not_listed(self) -> list[str]:
        """The note that says why no row is listed."""
        return [ENCRYPTED] if self.plan.site.at_rest.writes else []

    def _staged(self, name: str, body: str) -> MadeFile:
        """Write a file into staging, where it waits for its place."""
        file, data = str((self.plan.outbox / REPORTS / name).relative_to(self.plan.site.root)), body.encode()
        staging = self.plan.outbox / ".staging"
        staging.mkdir(parents=True, exist_ok=True)
        (staging / staged_name(file)).write_bytes(data)
        return MadeFile(file, hashlib.sha256(data).hexdigest())


def _rows(site: Site, parts: Iterable[Part]) -> Iterator[Row]:
    """The rows of parts that are as the log says."""
    for part in parts:
        path = site.root / part.file
        if path.is_file() and file_sha256(path) == part.sha256:
            for batch in batches(site.at_rest, path):
                yield from map(Row, batch.to_pylist())


def _told(error: Exception) -> str:
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return str(error)
