"""`cloister audit hold`, `release`, `erase`, `export` and `witness`: what nothing may delete, what is erased on
request, and what is kept of the log where its keeper cannot change it."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import audit
import pipeline
from jobs.cli.options import (
    Document,
    OutFile,
    Passphrase,
    Reason,
    Wait,
    argument,
    check_text,
    day,
    option,
    read_key,
    read_note,
    refusing,
    write_given,
)
from jobs.cli.printing import Answer, Aside, At, Exact, refused
from jobs.config.workspace import CREDENTIAL, credential
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.visible import counted

if TYPE_CHECKING:
    import segno

_LISTED = 10


def hold(at: At, document: Document, reason: Reason, wait: Wait = 0) -> Answer:
    """Hold a document, and those that were in it, until it is released.

    No rule of a job's retention deletes it, in any job, and nobody erases it. The hold is an entry of the log.
    """
    check_text("--reason", reason)
    with refusing("DOC", LookupError):
        held = pipeline.hold(at.site, document, reason, wait=wait)
    told = f"held by entry {held.number}: {counted(len(held.documents), 'document')}"
    return Answer(held, [told, *(f"  {sha256}" for sha256 in held.documents)])


def release(
    at: At,
    document: Document,
    reason: Reason,
    number: Annotated[int | None, option("--hold", "Of several holds, the one of entry N.", "N")] = None,
    wait: Wait = 0,
) -> Answer:
    """Release a document that was held.

    The rules of its jobs count again, from the next run on. The release is an entry of the log.
    """
    check_text("--reason", reason)
    with refusing("DOC", LookupError):
        released = pipeline.release(at.site, document, number, reason, wait=wait)
    return Answer(released, [f"released the hold of entry {released.number} ({released.reason})"])


def erase(
    at: At,
    document: Document,
    reason: Annotated[str, option("--reason", "Why; it stands in the log, so name nobody.", "TEXT")],
    archive: Annotated[bool, option("--archive", "Also its bytes and text, in archive/ and failed/.")] = False,
    rows: Annotated[bool, option("--rows", "Also its rows and Markdown files in outbox/.")] = False,
    containers: Annotated[
        bool, option("--containers", "Also the mails and archives in which it came, with all that is in them.")
    ] = False,
    wait: Wait = 0,
) -> Answer:
    """Erase a document, and those that were in it: of any job its bytes, text and rows, as far as --archive and --rows
    say.

    Of private jobs, what opens its entries is removed too, so that the log says no more what it was called and which
    it was; entries of other jobs keep its names. The log's proofs stay right, and the erasure is an entry of it. What
    is held is not erased. A copy that still lies in the input folder is taken as a new document.
    """
    check_text("--reason", reason)
    site = at.site
    with refusing("DOC", LookupError, pipeline.keep.ErasureRefusedError):
        erased = pipeline.erase(site, document, reason, archive=archive, rows=rows, containers=containers, wait=wait)
    return Answer(erased, _erased_lines(erased, archive, rows, has_keys=site.at_rest.on))


def _erased_lines(erased: pipeline.keep.Erased, archive: bool, rows: bool, *, has_keys: bool) -> Iterator[str]:
    yield f"erased by entry {erased.number}"
    if erased.entries:
        yield f"  private  nothing opens {counted(len(erased.entries), 'entry')} any more"
    of_archive = "erased with its text"
    if erased.around:
        of_archive = "its own copy is erased with its text, BUT ITS BYTES REMAIN in what it came in. --containers "
        of_archive += "erases that too, with all that is in it; now that needs:"
    yield f"  archive  {of_archive if archive else 'kept; --archive erases it'}"
    for each in erased.around[:_LISTED]:
        command = f"cloister audit erase {each.document[:16]} --archive --rows"
        yield f"           {each.path} of job {each.job}: {command}"
    if (more := len(erased.around) - _LISTED) > 0:
        yield f"           and {more:,} more; --json names all"
    erased_rows = f"{counted(erased.rows, 'row')} erased"
    yield f"  rows     {erased_rows if rows else 'kept, with their names; --rows erases them'}"
    if erased.named:
        numbers = ", ".join(map(str, erased.named[:10])) + (", …" if len(erased.named) > 10 else "")
        yield f"  log      its names stay in entries of jobs that are not private: {numbers}"
    if has_keys and (archive or rows):
        yield "  keys     removed from private/; backups of private/ have them until `cloister encryption rewrap` wraps"
        yield "           the others with another key, and the one of today is destroyed"


def export(
    at: At,
    target: Annotated[Path, argument("DIR", "The folder to make; it may be there if it is empty.")],
    since: Annotated[
        str | None, option("--from", "The first day, as 2026-11-01; else the log's first.", "DATE")
    ] = None,
    until: Annotated[str | None, option("--to", "The last day, included; else the log's last.", "DATE")] = None,
    answers: Annotated[
        bool, option("--answers/--no-answers", "Whether the report shows the answers, which quote documents.")
    ] = True,
    wait: Wait = 0,
) -> Answer:
    """Write the log's records of some days to a folder that proves itself.

    Records, report, Parquet table, public keys, the log as C2SP tlog-tiles, and verify.py, which checks all of it with
    Python alone. The report shows the answers of documents, but of private jobs. Days are those of UTC. The log records
    the export, and that record proves it: exit 5, and no folder, if another process holds the log for as long as --wait
    says.
    """
    first, last = (day(*each, "a day as 2026-11-01") for each in (("--from", since or None), ("--to", until or None)))
    if first and last and last < first:
        raise ConfigError(Problem("--to", f"{until} lies before {since}", "the first day, or a later one"))
    site = at.site
    try:
        exported = pipeline.export(site, target, first, last, wait=wait, answers=answers)
    except (FileExistsError, NotADirectoryError) as error:
        found = "is there already, and is no empty folder"
        raise ConfigError(Problem(str(target), found, "a folder that is not there yet")) from error
    return Answer(exported, _exported_lines(exported, site.public_key))


def _exported_lines(exported: pipeline.proof.Exported, key: str) -> Iterator[str]:
    folder, records, others = exported.folder, exported.records, exported.others
    proved = "each proved by the signed checkpoint"
    proved = proved if records else "as the signed checkpoint proves: none is of these days"
    yield f"{folder}: {counted(records, 'record')}, {proved}."
    if others:
        yield f"Beside them its log bundles, which hold 256 entries each, have {counted(others, 'other entry')}."
    if exported.answers:
        shows = f"report.html shows {counted(exported.answers, 'answer')} from the documents"
        yield f"{shows}; --no-answers leaves them out."
    yield "It is checked, wherever there is Python, with the log's public key:"
    yield f"    python3 {folder}/verify.py --key {key}"
    if exported.recorded.n is None:
        why = f"it could not be written: {exported.recorded.why}"
        yield f"The log has no record of this export, so nothing proves the report and the table: {why}"


def witness(
    at: At,
    out: OutFile = None,
    sheet: Annotated[
        Path | None, option("--sheet", "Write a page for paper (HTML) with the checkpoint as QR code.", "FILE")
    ] = None,
    since: Annotated[
        Path | None,
        option("--since", "Add the proof that today's log extends this kept or cosigned checkpoint.", "FILE"),
    ] = None,
) -> Answer:
    """Write today's checkpoint as text and as QR code, to be kept where the log's keeper cannot change it.

    `cloister audit verify --against FILE` holds the log against it later. With `cosign`, a second person's machine
    signs it too; from the second time on it asks for `--since` with what it cosigned last. The log is not verified by
    this: `audit verify` does that.
    """
    site = at.site
    request = audit.request_witness(site.audit, site.public_key, read_note(since) if since else None)
    note = request.rpartition(b"\n\n")[0].rpartition(b"\n\n")[2] + b"\n\n" + request.rpartition(b"\n\n")[2]
    size = int(note.split(b"\n")[1])  # https://c2sp.org/tlog-checkpoint: the second line
    at.record(pipeline.records.ReadCheckpoint(size=size))
    write_given(out, request)
    write_given(sheet, format_sheet(note.decode(), site.public_key, datetime.now(UTC)).encode() if sheet else b"")
    told = {"checkpoint": note.decode(), "request": request.decode(), "file": out, "sheet": sheet}
    return Answer(told, _witness_lines(note, out, sheet))


def _witness_lines(note: bytes, out: Path | None, sheet: Path | None) -> Iterator[str]:
    yield note.decode()
    if not (out or sheet):
        yield terminal_code(note)
    for what, path in (("The checkpoint", out), ("The page for paper", sheet)):
        if path:
            yield f"{what} is in {path}."
    if out or sheet:
        yield "The log itself was not verified: cloister audit verify does that."


_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Checkpoint of {origin}</title>
<style>
  @page {{ size: A4; margin: 20mm }}
  body {{ font: 11pt/1.5 sans-serif; max-width: 170mm; margin: 10mm auto }}
  pre, td {{ font-family: monospace; font-size: 9pt; white-space: pre-wrap; overflow-wrap: anywhere }}
  pre {{ border: 1px solid; padding: 3mm }}
  th {{ text-align: left; vertical-align: top; padding-right: 5mm; font-weight: normal; white-space: nowrap }}
  svg {{ display: block; margin: 5mm 0; width: 80mm; height: 80mm }}
  .sign {{ margin-top: 15mm; border-top: 1px solid; width: 90mm }}
</style>
<h1>Checkpoint of an audit log</h1>
<table>
<tr><th>Log<td>{origin}
<tr><th>Entries<td>{size}
<tr><th>Root hash<td>{root}
<tr><th>Public key<td>{key}
<tr><th>Written<td>{written}
</table>
{code}
<pre>{note}</pre>
<p>This text, also in the code, was signed by the log. Keep it where the log's keeper cannot change it. Scanned or typed
into a file, it proves that the log has only grown since: <code>cloister audit verify --against FILE</code>. A log that
was put back to an earlier state, or rewritten, even with its key, fails.</p>
<p class="sign">Date, signature</p>
"""


def format_sheet(note: str, public_key: str, written: datetime) -> str:
    """The page for a checkpoint with its signature."""
    origin, size, root = note.split("\n")[:3]
    told = {"origin": origin, "size": size, "root": root, "key": public_key, "note": note}
    moment = written.strftime("%Y-%m-%d %H:%M:%S UTC")
    code = _code(note.encode()).svg_inline(border=4, omitsize=True)
    return _PAGE.format(**{name: escape(text) for name, text in told.items()}, written=moment, code=code)


def terminal_code(note: bytes) -> str:
    """The code as blocks of half a line's height, for a terminal of 75 columns or more."""
    text = io.StringIO()
    _code(note).terminal(text, border=2, compact=True)
    return text.getvalue()


def _code(note: bytes) -> segno.QRCode:
    """A quarter of it may be unreadable (level Q), or as much as a long note leaves."""
    import segno  # which brings clients of networks

    for level in "qml":
        try:
            return segno.make_qr(note, error=level, mode="byte", boost_error=True)
        except segno.DataOverflowError:
            continue
    raise ValueError(f"{len(note)} bytes are more than a QR code holds")


def cosign(
    file: Annotated[Path, argument("FILE", "What `cloister audit witness -o FILE` wrote.")],
    key: Annotated[Path, option("--key", "This witness's private key (`cloister audit key new`).", "FILE")],
    state: Annotated[Path, option("--state", "The folder in which it remembers what it cosigned last.", "DIR")],
    log: Annotated[
        str | None,
        option("--log", "The log's public key, from its keeper; the first time, or when it changed.", "KEY"),
    ] = None,
    passphrase_file: Passphrase = None,
    out: OutFile = None,
) -> Answer:
    """Add this witness's signature to a log's checkpoint, if it extends what was cosigned last.

    A roll-back or a fork is refused, with exit 4. What was signed is remembered before the signature is given.
    """
    data = read_note(file, "a file that `cloister audit witness -o FILE` wrote", request=True)
    log_key = read_key("--log", log) if log is not None else None
    if state.exists() and not state.is_dir():
        raise ConfigError(Problem(f"--state {state}", "is no folder", "the folder of this witness"))
    secret, now = passphrase_file or credential(CREDENTIAL), int(time.time())
    try:
        with refusing("--key", audit.KeyRefused, expected="this witness's private key"):
            given = audit.cosign_checkpoint(
                data, state, key_path=key, passphrase_path=secret, log_key=log_key, seconds=now
            )
    except audit.ProofRefused as error:
        return refused(error, Aside(error), ExitCode.AUDIT_FAILED)
    write_given(out, given.note)
    told = {"ok": True, **vars(given), "note": given.note.decode(), "file": out}
    if out is None:
        return Answer(told, [Exact(given.note.decode())])
    before = f", which extend the {given.before.size:,} cosigned last" if given.before else ", the first time"
    entries = counted(given.checkpoint.size, "entry")
    first = f"Cosigned: {entries} of the log {given.checkpoint.origin}{before}."
    return Answer(told, [first, f"  file     {out}", f"  witness  {given.witness}"])
