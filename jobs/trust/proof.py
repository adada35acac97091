"""The proof on the user's own machine: a job runs under a tracer and without a route, and no call leads out.

The tracer proves itself first, by calls that it must see. Then either the job that was named runs as it is; or one of
the workspace's jobs, with its model, in a workspace for the proof alone, on documents that ask for a network.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import pipeline
from jobs.config.load import LoadedJob, shown
from jobs.config.plan import head_file, model_file
from jobs.config.workspace import Workspace, find_job, load_job_of, readable_jobs
from jobs.errors import ConfigError, Problem
from jobs.nights.follow import service_of
from jobs.silence.guard import SAID
from jobs.trust.deliberate import CALLS
from jobs.trust.finding import Found, ok, problem
from jobs.trust.isolated import NOT_ALLOWED
from jobs.trust.tracer import UNKNOWN, NoTracerError, Seen, Trace, trace
from jobs.visible import counted

_PYTHON: Final = (sys.executable, "-P")
# -P: what lies in the folder where a command runs is no code of ours.
_CLOISTER: Final = (*_PYTHON, "-c", "import jobs.cli; jobs.cli.main()")
_ISOLATED: Final = (*_PYTHON, "-m", "jobs.trust.isolated")
_FINE: Final = (0, 1)  # done; done, but some documents failed
_SHOWN: Final = 2_000  # characters of what a command said that failed


@dataclass(frozen=True)
class Ran:
    """A command of the proof, and its trace. `refused`: what its own guard said that it refused, so that the kernel was
    never asked; `answered`: how many documents a run answered, None for other commands."""

    name: str
    trace: Trace
    refused: tuple[str, ...]
    answered: int | None

    @property
    def is_silent(self) -> bool:
        """Whether nothing in it reached for a network."""
        return not self.refused and not self.trace.outside()


@dataclass(frozen=True)
class Proof:
    """What came of it. `caught`: the ways in which calls were made on purpose and seen; `isolated`: whether the
    commands ran in a namespace without a route, too; `ran`: the commands."""

    caught: tuple[str, ...]
    isolated: bool
    ran: tuple[Ran, ...]

    @property
    def finding(self) -> Found:
        """Whether nothing reached for a network, and what was looked at."""
        if not all(each.is_silent for each in self.ran):
            sentence = "Something reached for a network. Nothing was sent: it was refused."
            return problem(sentence, "report it, unless it was a command of `notify`")
        looked = sum(each.trace.looked for each in self.ran)
        answered = counted(sum(each.answered or 0 for each in self.ran), "document")
        where = "without a route" if self.isolated else "with the routes of this machine"
        told = f"Silent: {counted(len(self.ran), 'command')} ran {where}, {answered} answered"
        return ok(f"{told}, {looked:,} calls were looked at, 0 led out.")

    @property
    def outside(self) -> list[tuple[str, Seen, int]]:
        """The command, the call and how often, of each call that led out of the machine or resolved a name."""
        return [(each.name, *found) for each in self.ran for found in each.trace.outside()]


def prove(workspace: Workspace, job: str | None, note: Callable[[str], None]) -> Proof:
    """Prove it with this job as it is, or with a job of the workspace and documents of the proof.

    pipeline.MachineRefusedError where the machine gives no tracer, or the tracer does not see what it must; ConfigError
    for a job or a workspace with which it cannot be proved.
    """
    code = subprocess.run([*_ISOLATED, *_PYTHON, "-c", ""], stderr=subprocess.DEVNULL).returncode
    if code not in (0, NOT_ALLOWED):
        raise pipeline.MachineRefusedError(f"a command in a network namespace ended with exit code {code}")
    isolated = code == 0
    caught = _prove_tracer()
    note(f"the tracer sees calls of {', '.join(caught)}")
    if not isolated:
        note("this machine gives no network namespace: the tracer alone keeps calls from going out")
    if job is not None:
        load_job_of(workspace, find_job(workspace, job))
        if service_of(workspace) is not None:
            where = "cloister serve works on this workspace, and would run the job where nobody traces it"
            raise ConfigError(Problem(str(workspace.root), where, remedy="stop the service first"))
        return Proof(caught, isolated, tuple(_run(workspace.root, [("run", job, "--json")], isolated, note)))
    with _made_for_proof(workspace, note) as (root, name):
        night = [("run", name, "--json"), ("results", name), ("audit", "verify")]
        night.append(("audit", "replay", "--sample", "100%"))
        return Proof(caught, isolated, tuple(_run(root, night, isolated, note)))


def _run(root: Path, commands: Sequence[tuple[str, ...]], isolated: bool, note: Callable[[str], None]) -> Iterator[Ran]:
    for each in commands:
        ran = _ran(root, each, isolated)
        note(f"{ran.name}: {len(ran.trace.outside()) + len(ran.refused):,} calls led out")
        yield ran


def _ran(root: Path, words: tuple[str, ...], isolated: bool) -> Ran:
    """A command that did its work, or reached for a network. ConfigError, with its last words, for one that did
    neither."""
    name = f"cloister {' '.join(words)}"
    command = [*_CLOISTER, *words, "--workspace", str(root)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        traced = _trace(
            [*_ISOLATED, *command] if isolated else command, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        told, said = _text(out), _text(err)
    refused = tuple(line.removeprefix(SAID) for line in said.splitlines() if line.startswith(SAID))
    if traced.outside() or refused:
        return Ran(name, traced, refused, None)
    if traced.code not in _FINE:
        last = (said.strip() or told.strip())[-_SHOWN:]
        raise ConfigError(Problem(name, f"it ended with exit code {traced.code}, so that it proves nothing:\n{last}"))
    answered = sum(run["counts"]["done"] for run in json.loads(told)["runs"]) if words[0] == "run" else None
    if answered == 0:
        found = "it answered no document, so that it proves nothing"
        raise ConfigError(Problem(name, found, "a document that waits for the job, and is answered"))
    return Ran(name, traced, (), answered)


def _text(file: IO[bytes]) -> str:
    return os.pread(file.fileno(), file.seek(0, os.SEEK_END), 0).decode("utf-8", "replace")


def _trace(command: Sequence[str], **settings: Any) -> Trace:
    """The trace of a command. MachineRefusedError where there is no tracer."""
    try:
        return trace(command, **settings)
    except NoTracerError as error:
        raise pipeline.MachineRefusedError(f"it cannot be proved here that nothing goes out: {error}") from error


def _prove_tracer() -> tuple[str, ...]:
    """The ways in which calls were made on purpose, all of which the tracer saw. MachineRefusedError."""
    traced = _trace([*_PYTHON, "-m", "jobs.trust.deliberate"])
    seen = {(each.call, each.address) for each, _ in traced.outside()}
    missed = [who for who, call in CALLS.items() if call not in seen]
    if missed and UNKNOWN in {address for _, address in seen}:
        raise pipeline.MachineRefusedError(
            "it cannot be proved here that nothing goes out: a tracer reads the memory of what it starts, and this "
            "machine forbids it (kernel.yama.ptrace_scope is above 1, or a profile around this process)"
        )
    if missed or traced.code:
        raise pipeline.MachineRefusedError(
            f"the tracer does not see calls that were made on purpose, by {', '.join(missed) or 'nobody'} "
            f"(exit code {traced.code}), so it proves nothing"
        )
    return tuple(CALLS)


@contextmanager
def _made_for_proof(workspace: Workspace, note: Callable[[str], None]) -> Iterator[tuple[Path, str]]:
    """A workspace with one job of another one, its model and the samples; it is gone afterwards. ConfigError."""
    job = _a_job(workspace)
    with tempfile.TemporaryDirectory(prefix="cloister-egress-") as folder:
        root = Path(folder, "proof")
        made = subprocess.run([*_CLOISTER, "init", str(root)], capture_output=True, text=True, check=False)
        if made.returncode:
            raise ConfigError(Problem(str(root), f"no workspace could be made: {made.stderr.strip()}"))
        said = job.config.model_dump(mode="json", include={"job", "model", "task"}, exclude_unset=True, by_alias=True)
        text = json.dumps({**said, "input": {"settle_seconds": 0}}, ensure_ascii=False)
        (root / "jobs" / f"{job.name}.yaml").write_text(text, encoding="utf-8")
        _link(model_file(workspace, job), root / "models")
        if (head := head_file(workspace, job)) and head.is_relative_to(workspace.root):
            _link(head, root / "models" / head.parent.relative_to(workspace.root / "models"))
        inbox = root / "inbox" / job.name
        inbox.mkdir(parents=True)
        names = write_samples(inbox)
        note(f"the job {job.name} with the model {job.config.model.name} reads {', '.join(names)}")
        yield root, job.name


def _a_job(workspace: Workspace) -> LoadedJob:
    """The first job that reads documents and whose model is there. ConfigError."""
    jobs = [job for job in readable_jobs(workspace) if job.config.task.type != "batch"]
    for job in jobs:
        if model_file(workspace, job).is_file():
            return job
    found = f"none of its {len(jobs)} jobs that read documents has its model" if jobs else "no job that reads documents"
    remedy = "cloister init DIR --example NAME makes one, cloister model import brings its model"
    raise ConfigError(Problem(shown(workspace.root), found, "a job with its model, which the proof can run", remedy))


def _link(file: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, folder / file.name)
    except OSError:  # on another file system, or not ours
        shutil.copyfile(file, folder / file.name)


# real documents do: pictures and styles of other machines, entities, templates, links, things to do when it is opened.


_AWAY: Final = "http://192.0.2.80"  # TEST-NET-1 (RFC 5737), which belongs to nobody
_TEXT: Final = (
    "Lease agreement. The landlord leases the flat at 12 Harbour Street to the tenant from 1 March 2026. "
    "The rent of EUR 950.00 is due on the first day of each month. Either party may end the lease with three months' "
    "notice in writing."
)
_HTML: Final = f"""\
<!doctype html><html><head><title>Invoice 2026-17</title><base href="{_AWAY}/">
<link rel="stylesheet" href="{_AWAY}/style.css"><link rel="dns-prefetch" href="//cloister.invalid">
<style>@import url("{_AWAY}/more.css"); body {{ background: url("{_AWAY}/back.png") }}</style>
<script src="{_AWAY}/count.js"></script><meta http-equiv="refresh" content="0;url={_AWAY}/next"></head>
<body><img src="{_AWAY}/pixel.gif" alt=""><iframe src="{_AWAY}/frame"></iframe>
<h1>Invoice 2026-17</h1><p>Total due: EUR 120.00, payable to the account below until 30 April 2026.</p></body></html>
"""
_XML: Final = f"""\
<?xml version="1.0"?>
<!DOCTYPE order SYSTEM "{_AWAY}/order.dtd" [<!ENTITY more SYSTEM "{_AWAY}/more.xml">]>
<?xml-stylesheet href="{_AWAY}/order.xsl" type="text/xsl"?>
<order xmlns:xi="http://www.w3.org/2001/XInclude"><title>Order 7730</title>
<xi:include href="{_AWAY}/part.xml"><xi:fallback/></xi:include>
<text>We order 40 boxes of paper, to be delivered by 5 May 2026.</text></order>
"""
_MAIL: Final = f"""\
From: Ada <ada@cloister.invalid>
To: Office <office@cloister.invalid>
Subject: Notice of the lease
Date: Mon, 2 Mar 2026 09:30:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: text/html; charset=utf-8

<p>I end the lease with effect from 30 June 2026.</p><img src="{_AWAY}/read?by=office">
--b
Content-Type: message/external-body; access-type=URL; URL="{_AWAY}/body"

Content-Type: text/plain

--b--
"""
_WORD: Final = {
    "[Content_Types].xml": """\
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml"
 ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>""",
    "_rels/.rels": """\
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
 Target="word/document.xml"/></Relationships>""",
    "word/_rels/document.xml.rels": f"""\
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate"
 Target="{_AWAY}/template.dotm" TargetMode="External"/><Relationship Id="r2"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
 Target="{_AWAY}/logo.png" TargetMode="External"/></Relationships>""",
    "word/document.xml": f"""\
<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>{_TEXT}\
</w:t></w:r></w:p></w:body></w:document>""",
}


def write_samples(folder: Path) -> list[str]:
    """Write the documents into a folder; returns their names."""
    samples: dict[str, bytes] = {
        "letter.txt": _TEXT.encode(),
        "note.md": f"# Lease\n\n{_TEXT}\n\n![logo]({_AWAY}/logo.png)\n".encode(),
        "invoice.html": _HTML.encode(),
        "order.xml": _XML.encode(),
        "notice.eml": _MAIL.replace("\n", "\r\n").encode(),
        "lease.docx": _zipped(_WORD),
        "lease.pdf": _pdf(),
    }
    for name, data in samples.items():
        (folder / name).write_bytes(data)
    return sorted(samples)


def _zipped(members: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in members.items():
            package.writestr(name, text)
    return packed.getvalue()


def _pdf() -> bytes:
    """A page with text, a link, and actions for when it is opened."""
    text = b"BT /F 11 Tf 40 700 Td (Lease agreement. The rent of EUR 950.00 is due on the first of March 2026.) Tj ET"
    away = f"<< /S /URI /URI ({_AWAY}/opened) >>"
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /OpenAction {away} >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >>"
        f" /Annots [<< /Type /Annot /Subtype /Link /Rect [40 690 200 720] /A {away} >>]"
        f" /AA << /O << /S /SubmitForm /F ({_AWAY}/form) >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text.decode()}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    made, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n"
    return made + f"{end}<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n".encode()
