"""`cloister learn`, what was learned from examples answers a job; and `cloister model admit`, `revoke`, `verify`,
`diff` and `rollback`, which models and heads may be used, and whether they answer as they did."""

from __future__ import annotations

import contextlib
import hashlib
import stat
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated

import audit
import pipeline
from jobs.cli.model import files_of
from jobs.cli.options import By, Reason, Wait, argument, check_text, job_names, option, person, refusing
from jobs.cli.printing import Answer, At, Table, counts_line, shortened
from jobs.config.amend import Values, amend
from jobs.config.load import LoadedJob, shown
from jobs.config.plan import make_plan
from jobs.config.workspace import Workspace, find_job, load_job_of, readable_jobs
from jobs.errors import ConfigError, ExitCode, Problem, StoppedError
from jobs.progress import saying, telling
from jobs.visible import counted, one_line

SHOWN = 20  # mistakes in examples


def learn(
    at: At,
    job: Annotated[str, argument("JOB", "The job: its name, or the path of its file.")],
    examples: Annotated[
        Path,
        option(
            "--examples",
            "A CSV or JSONL file with `text` or `document`, and `label`, `summary` or `fields` (CSV: a column for "
            "each); or a folder with a folder for each label; or the word review: the rows that people accepted or "
            "corrected.",
            "PATH",
        ),
    ],
    skip_missing: Annotated[
        bool, option("--skip-missing", "Leave out values of fields that do not stand in their document.")
    ] = False,
) -> Answer:
    """Learn from examples how to answer a job: on a model that gives embeddings, or labels on one that writes.

    Writes models/JOB.head and says what to write into the job for it to be used, and how good it is on examples that it
    had not seen. If it was stopped, the same command goes on where it was. Exit 2 if an example is not as it must be, 3
    for a refused model; the old head then stays.
    """
    place = at.workspace
    loaded = load_job_of(place, find_job(place, job))
    plan, task = make_plan(place, loaded), loaded.config.task.type
    if skip_missing and task != "extract":
        found = f"a job of the task {task}, whose examples have no values of fields"
        raise ConfigError(Problem("--skip-missing", found, "a job of the task extract"))
    try:
        with refused_examples(examples), telling("learn") as progress, examples_of(plan, examples, placed=True) as file:
            report = pipeline.learn_head(plan, file, progress, skip_missing=skip_missing)
    except KeyboardInterrupt as stopped:
        kept = getattr(stopped, "__notes__", ["Nothing is kept, and the same command begins anew."])
        raise StoppedError(f"models/{loaded.name}.head is as it was.", *kept) from None
    measured = asdict(report.measured)  # type: ignore[call-overload]  # a dataclass of each task's own
    own = {one.name: getattr(report, one.name) for one in fields(report) if one.name != "measured"}
    return Answer({**own, **measured}, _learned_lines(report))


def examples_of(plan: pipeline.RunPlan, given: Path, *, placed: bool) -> contextlib.AbstractContextManager[Path]:
    """The file or folder that was given; for the word review, a file of what people accepted and corrected."""
    if str(given) == pipeline.review.REVIEW:
        return pipeline.review.review_examples(plan, placed=placed)
    return contextlib.nullcontext(given)


@contextlib.contextmanager
def refused_examples(examples: Path) -> Iterator[None]:
    """ConfigError for examples that are refused, with their mistakes, each with its place."""
    try:
        yield
    except pipeline.tasks.ExamplesRefusedError as error:
        shown = [Problem(one.where, one.found, one.expected, one.remedy) for one in error.mistakes[:SHOWN]]
        if more := len(error.mistakes) - len(shown):
            shown.append(Problem(str(examples), f"{counted(more, 'further mistake')} like these"))
        raise ConfigError(*shown) from None


def _learned_lines(report: pipeline.learn.LearnReport) -> Iterator[str]:
    again = f", {report.again:,} of them given twice and learned once" if report.again else ""
    yield f"learned {report.name} from {counted(report.examples, 'example')} in {report.seconds:.1f} s{again}"
    if report.skipped:
        yield f"  left out  {counted(len(report.skipped), 'value')} of fields, which do not stand in their document:"
        yield from (f"            {each.where}: {one_line(each.found)}" for each in report.skipped[:SHOWN])
        if len(report.skipped) > SHOWN:
            yield f"            and {len(report.skipped) - SHOWN:,} more; --json names all of them"
    yield from (f"  {name:<9} {told}" for name, told in (*report.measured.told(), ("file", report.path)))
    yield "To use it, write into the job:"
    yield f"  model:\n    head:\n      name: {report.name}\n      sha256: {report.sha256}"


_ANSWER = 300  # characters of a line of an answer


def admit(
    at: At,
    name: Annotated[str, argument("NAME", "A model or head in models/; NAME.head where both have the name.")],
    licence: Annotated[
        str | None, option("--licence", "Its licence, where the file does not state one.", "TEXT")
    ] = None,
    origin: Annotated[str | None, option("--origin", "Where it comes from, if the file does not say.", "TEXT")] = None,
    golden: Annotated[
        Path | None,
        option(
            "--golden",
            "Texts that it is asked: a line each, or a CSV or JSONL file with `text`; else a few sentences.",
            "FILE",
        ),
    ] = None,
    again: Annotated[bool, option("--again", "Admit it although it was revoked.")] = False,
    by: By = None,
    wait: Wait = 0,
) -> Answer:
    """Admit a model or head: the bytes that its file has now, whatever it will be called.

    The file is read strictly, its licence and origin are noted, and it is asked golden texts, whose answers `model
    verify` asks for again. The admission is an entry of the log with the person's name. Where site.yaml says `models:
    {require_admission: true}`, jobs run with nothing else. Exit 2 for a licence or origin that nobody states.
    """
    for names, text in (("--licence", licence), ("--origin", origin)):
        if text is not None:
            check_text(names, text, "a text; it stands in the log")
    site, note = at.site, pipeline.control.Note(person(by), licence, origin, again)
    try:
        with refused_examples(golden or Path()), saying() as progress:
            texts = None if golden is None else [one.text or "" for one in pipeline.control.read_lines(golden)]
            admitted = pipeline.admit(site, name, note, texts, progress, wait=wait)
    except pipeline.control.NotStatedError as error:
        remedy = f"cloister model admit {name} --{error.what} TEXT"
        raise ConfigError(Problem(f"--{error.what}", str(error), f"the {error.what} of {name}", remedy)) from None
    answers = f"none were asked for: {admitted.unasked}"
    if admitted.answers_sha256 is not None:
        answers = f"to {counted(admitted.texts, 'text')}: sha256 {admitted.answers_sha256}"
    return Answer(admitted, [
        f"admitted models/{admitted.file} by entry {admitted.number}",
        f"  sha256   {admitted.sha256}",
        f"  by       {admitted.by}",
        f"  licence  {admitted.licence}",
        f"  origin   {admitted.origin}",
        f"  answers  {answers}",
    ])  # fmt: skip


def revoke(
    at: At,
    name: Annotated[str, argument("NAME", "A model or head in models/, or the sha256 of one that may be gone.")],
    reason: Reason,
    by: By = None,
    wait: Wait = 0,
) -> Answer:
    """Revoke a model or head, admitted or not: from now on runs with its bytes are refused, under any name.

    Rows that it made stay, and `audit recall --model` lists them; `audit replay` may still use it. A run that is on its
    way ends first: the revocation waits for the log. It is an entry of the log.
    """
    check_text("--reason", reason)
    revoked = pipeline.revoke(at.site, name, person(by), reason, wait=wait)
    file = f"models/{revoked.file}" if revoked.file else "a file"
    lines = [f"revoked {file} by entry {revoked.number}", f"  sha256  {revoked.sha256}"]
    if not revoked.file.endswith(".head"):
        lines.append(f"  rows    cloister audit recall --model {revoked.sha256[:12]} lists what it made")
    return Answer(revoked, lines)


def verify(
    at: At,
    name: Annotated[str | None, argument("NAME", "A model or head in models/; else all that are admitted.")] = None,
) -> Answer:
    """Verify admitted models and heads: their bytes, and their golden answers, bit for bit, on this machine.

    Exit 0: as they were admitted; 1: some could not be compared, as their golden texts are gone or this version
    computes otherwise; 3: one has other bytes, or answers otherwise, or is not admitted at all.
    """
    with saying() as progress:
        found = list(pipeline.control.verify_models(at.site, name, progress))
    at.record(*(each.to_record() for each in found))
    incomparable = any(each.answers == "incomparable" for each in found)
    code = ExitCode.DOCUMENTS_FAILED if incomparable else ExitCode.DONE
    code = ExitCode.MODEL_REFUSED if any(each.wrong for each in found) else code
    cells = [(each.file, each.bytes, each.answers, each.told, each.sha256) for each in found]
    table = Table(("file", "bytes", "answers", "", "sha256"), cells, whole=("file", "bytes", "answers"))
    none = "nothing is admitted; cloister model admit NAME admits a model or head"
    return Answer({"files": found, "exit_code": code}, [table if found else none], code)


def diff(
    at: At,
    a: Annotated[str, argument("A", "A model or head in models/; NAME.head where both are there.")],
    b: Annotated[str, argument("B", "Another one of the same kind.")],
    evaluation: Annotated[
        Path, option("--eval", "Documents: a folder, or a CSV or JSONL file with `text` or `document`.", "PATH")
    ],
    job: Annotated[
        str | None,
        option("--job", "The job that asks; else the one that names A or B.", "JOB", autocompletion=job_names),
    ] = None,
) -> Answer:
    """Show which answers of a job change from one model or head to another, on documents without labels.

    Everything else is as the job says; documents are read and answered as in a run, and nothing is kept. Models and
    heads need not be admitted. Of a mail or archive, what is in it is left out.
    """
    first, second = (pipeline.control.find_file(at.site.models, name) for name in (a, b))
    plan = make_plan(at.workspace, _job(at.workspace, job, {first.name, second.name}))
    with refused_examples(evaluation), telling("diff") as progress:
        found = pipeline.compare(plan, first, second, evaluation, progress)
    return Answer({"same": found.same, **vars(found)}, _diff_lines(found))


def _job(place: Workspace, name: str | None, files: set[str]) -> LoadedJob:
    """The job that is named, else the only one whose model or head is one of the files. ConfigError."""
    if name is not None:
        return load_job_of(place, find_job(place, name))
    using = [job for job in readable_jobs(place) if files & files_of(job)]
    if len(using) != 1:
        names = ", ".join(job.name for job in using)
        found = f"{counted(len(using), 'job')} with one of them ({names})" if using else "no job names one of them"
        raise ConfigError(Problem("--job", found, "the job that asks", "--job NAME"))
    return using[0]


def _diff_lines(found: pipeline.control.Comparison) -> Iterator[str | Table]:
    for name, side in (("A", found.a), ("B", found.b)):
        yield f"{name}  models/{side.file}, sha256 {side.sha256[:12]}: {counts_line(side.states)}"
    same = f"{found.same:,} of {counted(found.documents, 'document')} have the same answer"
    yield f"{found.job}: {same}, {found.rescored:,} of them with another score; {len(found.changed):,} changed"
    if found.changed:
        cells = [(each.place, _answer(each.a), _answer(each.b)) for each in found.changed]
        yield Table(("document", "A", "B"), cells)


def _answer(said: pipeline.control.Said) -> str:
    """The answer with its scores; the state and its reason where there is none."""
    lines = [
        f"{line.name}{shortened(line.text, _ANSWER)}" + ("" if line.score is None else f" ({line.score:.2f})")
        for line in said.lines
    ]
    if said.state == "done":
        return "\n".join(lines)
    return "\n".join([f"{said.state}: {said.reason}" if said.reason else said.state, *lines])


def rollback(
    at: At,
    job: Annotated[str, argument("JOB", "The job: its name, or its file's path.", autocompletion=job_names)],
    reason: Reason,
    to: Annotated[
        str | None, option("--to", "Another one that it used: its sha256, or six digits or more of it.", "SHA")
    ] = None,
    by: By = None,
    wait: Wait = 0,
) -> Answer:
    """Let a job go back to the model, and the head, that it used before, by the log.

    Writes `model.name`, `sha256` and `head` into the job's file and keeps every other byte of it. Files are found by
    their bytes: those that `model import` or `learn` replaced lie in models/ under another name. What was revoked is
    passed over. Exit 2 if there is nothing to go back to, 3 if the older file is gone.
    """
    check_text("--reason", reason)
    loaded = load_job_of(at.workspace, find_job(at.workspace, job))
    if to is not None and (len(to) < 6 or set(to) - set("0123456789abcdef")):
        raise ConfigError(Problem("--to", f"{to!r}", "six or more hexadecimal digits in lower case"))
    plan, file = make_plan(at.workspace, loaded), shown(loaded.path)
    with refusing(file, pipeline.control.NothingBeforeError, expected="a model that it used before"):
        done = pipeline.control.roll_back(plan, to, lambda after: _write(loaded, after), person(by), reason, wait=wait)
    return Answer(done, [
        *(f"passed over: {told}" for told in done.passed),
        f"{file} names what it used before, by entry {done.number}",
        f"  before  {_told(done.before)}",
        f"  now     {_told(done.after)}",
        "Documents that are done stay as they are; to have one answered again, put it into the folder again.",
    ])  # fmt: skip


def _write(job: LoadedJob, after: pipeline.records.ModelAndHead) -> None:
    """Write the model into the job's file. ConfigError if that is not the file that was read, or cannot be amended."""
    data = job.path.read_bytes()
    if hashlib.sha256(data).hexdigest() != job.source.sha256:
        raise ConfigError(Problem(shown(job.path), "it was changed meanwhile", None, "start again"))
    head: Values | None = None
    if after.head is not None:
        head = {"name": after.head, "sha256": after.head_sha256}
    amended = amend(data, shown(job.path), "model", {"name": after.model, "sha256": after.sha256, "head": head})
    audit.write_file_atomically(job.path, amended, stat.S_IMODE(job.path.stat().st_mode), exact=True)


def _told(used: pipeline.records.ModelAndHead) -> str:
    head = f", head {used.head} ({(used.head_sha256 or 'gone')[:12]})" if used.head else ""
    return f"{used.model} ({(used.sha256 or 'gone')[:12]}){head}"
