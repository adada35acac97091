"""How the golden workspace was made: once, by the code of commit 7a543da of 2026-11-23.

    python -m tests.golden.workspace.make FOLDER

Never make it anew to make a failing test pass: what is in workspace.tar.xz is what that version wrote and said, and
later ones have to read it, replay it and go on with it. This script drives the command line in this process, with fixed
keys, clock, names and salts (fixed.py reaches into modules as they were called then). Only how long something took is
another number each time.
"""

import contextlib
import json
import os
import shutil
import signal
import sys
import tarfile
import threading
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import audit
from jobs.cli import main
from jobs.config.load import load_site
from tests.golden.workspace.fixed import Clock, fix, module
from tests.golden.workspace.job_files import job_file
from tests.golden.workspace.models import write_models
from tests.golden.workspace.said import ask_all
from tests.pdf_files import pdf, words
from tests.pipeline.test_containers import zipped

HERE = Path(__file__).parent
CLOCK = Clock()
LEASE = "The landlord leases the flat to the tenant. The rent is due on the first of the month.\n"
INVOICE = "Invoice 2026-17. Order PO-12345. Total due: EUR 120.00 by 12 May 2026. Please pay to the account below.\n"
LETTERS = {
    f"{number}.txt": f"Invoice {number}\n\nTotal due: {number}5.00 EUR by {number + 1} May 2026.\nAda Keller, Ulm.\n"
    for number in range(1, 4)
}
HIDDEN = "<html><body><p>The tenant pays the rent.</p><p hidden>zebra</p></body></html>"
LEFT_OUT = ("workspace/state/reserve", "workspace/jobs/job.schema.json")
CITY = {"type": "object", "properties": {"city": {"enum": ["Rome", "Ulm"]}}, "required": ["city"],
        "additionalProperties": False}  # fmt: skip
FORM = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": CITY}}


class KilledError(BaseException):
    """A run ends here as if it were killed."""


def cloister(*arguments: str | Path, code: int = 0) -> None:
    """Run the command a minute later; it has to end with this exit code."""
    CLOCK.sleep(timedelta(minutes=1))
    sys.argv = ["cloister", *map(str, arguments)]
    try:
        main()
    except SystemExit as end:
        print(f"    {int(end.code or 0)}  {' '.join(map(str, arguments))}", flush=True)
        if int(end.code or 0) != code:
            raise AssertionError(arguments) from end


def drop(job: str, files: Mapping[str, str | bytes]) -> None:
    for name, body in files.items():
        path = Path("inbox", job, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body.encode() if isinstance(body, str) else body)


def write_job(name: str, **settings: float) -> None:
    Path("inbox", name).mkdir(exist_ok=True)
    Path("jobs", f"{name}.yaml").write_text(job_file(name, **settings))


@contextlib.contextmanager
def held() -> Iterator[None]:
    """The log, held by somebody who takes nothing up."""
    log = load_site(Path("site.yaml")).log
    with audit.Log.open(Path("audit"), key_path=Path(log.key), public_key=log.public_key):
        yield


@contextlib.contextmanager
def replaced(place: str, name: str, value: Any) -> Iterator[None]:
    """Another value in a module, or in a class of it."""
    of = module(place)
    before = getattr(of, name)
    setattr(of, name, value)
    try:
        yield
    finally:
        setattr(of, name, before)


def killed(*arguments: object) -> None:
    raise KilledError


def request(name: str, **body: Any) -> str:
    said = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Which city?"}], "response_format": FORM}
    whole = {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": said | body}
    return json.dumps(whole) + "\n"


def models(scratch: Path) -> None:
    """Models brought in, changed and quantized."""
    write_models(scratch / "models", scratch)
    cloister("model", "import", scratch / "tiny-before", "--name", "tiny")
    cloister("model", "import", scratch / "models" / "writer.gguf")
    cloister("model", "quantize", "models/writer.gguf", "--type", "q4_0", "--name", "small")
    cloister("model", "quantize", "models/writer.gguf", "--type", "q8_0", "--name", "small", "--force")


def sort() -> None:
    """Rows of every state; then other settings, another model, copies, retries, and nothing to do."""
    write_job("sort")
    limits = Path("site.yaml").read_text()
    Path("site.yaml").write_text(limits.replace("\nlimits:\n", "\nlimits:\n  text_characters: 1000\n"))
    batch = "0" * 64 + "  1.txt\n"
    drop("sort", {
        "lease.txt": LEASE, "copy/lease again.txt": LEASE, "invoice.txt": INVOICE, "vague.txt": "Nothing of that kind.",
        "empty.txt": "", "broken.pdf": b"%PDF-1.7\nbroken", "pages.pdf": pdf(words(LEASE), words(INVOICE)),
        "hidden.html": HIDDEN, "latin.txt": "Der Mieter zahlt die Miete für die Wohnung, schön und pünktlich.\n" * 3,
        "post.zip": zipped({"a.txt": b"The tenant is late.", "in/b.txt": b"", "c.txt": LEASE.encode()}),
        "image.png": b"\x89PNG", "huge.txt": b"x " * 600_000, "long.txt": LEASE * 15,
        "scans/manifest.sha256": batch, "scans/1.txt": "one",
    })  # fmt: skip
    Path("inbox/sort/latin.txt").write_bytes(Path("inbox/sort/latin.txt").read_text().encode("latin-1"))
    Path(os.fsdecode(b"inbox/sort/M\xfcller.txt")).write_bytes(b"The tenant leaves the flat.")
    cloister("run", "sort", code=1)
    Path("inbox/sort/huge.txt").unlink()
    Path("site.yaml").write_text(limits)
    cloister("run", "sort")
    CLOCK.sleep(timedelta(days=1))
    cloister("run", "sort")
    write_job("sort", threshold=0.0)
    drop("sort", {"lease.txt": LEASE, "vague.txt": "Nothing of that kind at all, but a lease."})
    cloister("run", "sort")
    cloister("retry", "sort", "--class", "corrupt", "--class", "too_large", code=1)


def model_changed(scratch: Path) -> None:
    """Another file under the name of the model, whose old one is kept under another."""
    Path("models/tiny.gguf").rename("models/tiny-before.gguf")
    shutil.copy(scratch / "models" / "tiny.gguf", "models/tiny.gguf")
    drop("sort", {"invoice.txt": INVOICE, "new.txt": "Another invoice: EUR 7.00"})
    cloister("run", "sort")
    cloister("model", "import", "models/tiny-before.gguf", "--name", "tiny", "--force")
    cloister("model", "import", scratch / "models" / "tiny.gguf", "--name", "tiny", "--force")


def quiet() -> None:
    """A private job: done, copied, failed, ignored and unpacked documents, one erased and one held."""
    write_job("quiet")
    drop("quiet", {
        "Anna.txt": "Anna leases a flat.", "Bernd.txt": "Bernd is due an invoice.", "Copy.txt": "Anna leases a flat.",
        "Dora.txt": b"%PDF-1.7\nDora", "Emil.doc": "not read",
        "post.zip": zipped({"Frida.txt": b"Frida leases a flat."}), "Long.txt": INVOICE * 2,
    })  # fmt: skip
    cloister("run", "quiet", code=1)
    cloister("audit", "hold", "Anna.txt", "--reason", "case 12")
    cloister("audit", "erase", "Bernd.txt", "--reason", "asked for", "--archive", "--rows")
    cloister(
        "audit", "erase", "post.zip!/Frida.txt", "--reason", "asked for, too", "--archive", "--rows", "--containers"
    )
    cloister("audit", "erase", "Dora.txt", "--reason", "asked for, again", "--archive", "--rows")
    CLOCK.sleep(timedelta(minutes=5))
    drop("quiet", {"Gustav.txt": "Gustav leases a flat, too."})
    cloister("run", "quiet")
    cloister("audit", "show", "Gustav.txt")


def others() -> None:
    """The other tasks on both kinds of models."""
    for job in ("fields", "choose", "quotes", "gist", "ask"):
        write_job(job)
        drop(job, LETTERS | {"lease.txt": LEASE})
    drop("gist", {"short.txt": "The tenant 20 pays the rent of 140 EUR. Landlord 20 is due.\n"})
    drop("fields", {"urgent/first.txt": INVOICE, "copy.txt": LEASE, "hidden.html": HIDDEN, "empty.txt": ""})
    cloister("run", "fields", code=1)
    cloister("run", "fields")
    cloister("run", "choose")
    cloister("run", "quotes", "gist", "ask", code=1)
    cloister("retry", "gist", "ask", code=1)


def batch() -> None:
    """A file of requests, and those of it that failed taken up again."""
    write_job("batch")
    lines = [request("first"), request("warm", temperature=1), "no JSON\n", request("last"), request("last")]
    drop("batch", {"night.jsonl": "".join([*lines, request("short", response_format=None, max_tokens=2)])})
    cloister("run", "batch", code=1)
    cloister("retry", "batch", "--class", "unanswered", code=1)


def kept_for_days() -> None:
    """What is deleted by rule; parts of one document each; a hold that ended."""
    write_job("digest")
    drop("digest", {"a.txt": LEASE + INVOICE, "b.txt": INVOICE + LEASE, "c.txt": LEASE * 3})
    cloister("run", "digest")
    cloister("audit", "hold", "c.txt", "--reason", "case 13")
    CLOCK.sleep(timedelta(days=40))
    drop("digest", {"b.txt": INVOICE + LEASE})
    cloister("run", "digest")
    CLOCK.sleep(timedelta(days=25))
    cloister("audit", "release", "c.txt", "--reason", "closed")
    cloister("audit", "hold", "b.txt", "--reason", "case 14")
    drop("digest", {"d.txt": "The landlord pays. " + LEASE})
    cloister("run", "digest")


def interrupted() -> None:
    """Runs that were killed, stopped, refused, or found no room; what they left is recovered by the next."""
    drop("sort", {"killed.txt": "A lease that was committed, and not put in place."})
    with contextlib.suppress(KilledError), replaced("pipeline.commit", "place", killed):
        cloister("run", "sort")
    torn = sorted(Path("audit/entries").iterdir())[-1]
    with torn.open("ab") as file:
        file.write(b'{"boot":"6ba7')
    for place in ("outbox/sort/.staging", "archive/sort/.staging"):
        Path(place).mkdir(exist_ok=True)
        Path(place, "left").write_bytes(b"never committed")
    cloister("run", "sort")
    drop("sort", {f"stopped {n}.txt": f"Lease number {n} of a flat." for n in range(3)})
    with replaced("jobs.stop", "Stop", StopsSoon):
        cloister("run", "sort", code=130)
    write_job("refused")
    drop("refused", {"a.txt": LEASE})
    cloister("run", "refused", code=3)
    no_room = SimpleNamespace(total=1, used=1, free=0)
    with replaced("shutil", "disk_usage", lambda place: no_room):
        cloister("run", "sort", code=2)
    with torn.open("ab") as file:
        file.write(b'{"boot":"6ba7')
    cloister("results", "sort", "--json")
    cloister("audit", "erase", "new.txt", "--reason", "by mistake", "--archive", "--rows")
    with contextlib.suppress(KilledError), replaced("pipeline.erasure", "delete", killed):
        cloister("audit", "erase", "latin.txt", "--reason", "asked for", "--archive", "--rows")
    cloister("audit", "hold", "invoice.txt", "--reason", "case 15")
    with contextlib.suppress(KilledError), replaced("pipeline.erasure", "delete", killed):
        cloister("audit", "erase", "pages.pdf", "--reason", "asked for", "--archive", "--rows")
    drop("sort", {"after.txt": "A lease after all that."})
    cloister("run", "sort")
    CLOCK.step(timedelta(hours=1))
    cloister("results", "--limit", "2", "--json")
    CLOCK.boot()
    CLOCK.step(timedelta(hours=-2))
    cloister("results", "--failed", "--json")


class StopsSoon:
    """Asks a run to stop when its first document is read."""

    def __init__(self) -> None:
        self.signal, self._looks = signal.SIGTERM, 0

    def __enter__(self) -> "StopsSoon":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self) -> bool:
        self._looks += 1
        return self._looks > 2


def reads(scratch: Path) -> None:
    """Everything that is read, checked, exported or served; some of it while somebody else holds the log."""
    cloister("audit", "show", "invoice.txt")
    cloister("audit", "show", "Anna.txt")
    cloister("audit", "show", "image.png")
    cloister("audit", "prove", "7", "--out", scratch / "7.proof")
    cloister("audit", "witness", "--out", scratch / "kept.checkpoint")
    cloister("audit", "search", "--name", "lease", "--job", "sort", "--outcome", "done", "--from", "2026-08-01")
    cloister("audit", "recall", "--model", module("tests.golden.workspace.models").SHA256["tiny-before"])
    cloister("audit", "key", "rotate")
    cloister("audit", "verify", "--against", scratch / "kept.checkpoint")
    cloister("audit", "replay", "--sample", "100%", code=0)
    cloister("audit", "replay", "invoice.txt")
    cloister("audit", "export", scratch / "export", "--from", "2026-08-01", "--to", "2026-08-02")
    with held():
        cloister("results", "sort", "--json")
        cloister("audit", "show", "invoice.txt")
        cloister("audit", "verify")
        cloister("audit", "search", "--document", "6ada7018")
        Path("state/handover/nobody.json").write_bytes(b"{}")
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    cloister("serve")
    timer.join()
    CLOCK.sleep(timedelta(days=1))


def pack(root: Path, said: Path, target: Path) -> None:
    """The workspace and what was said of it; without its models, which models.py makes anew, and without the room that
    state/ keeps free."""

    def plain(item: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if item.name.startswith("workspace/models/") or item.name in LEFT_OUT:
            return None
        item.uid = item.gid = 0
        item.uname = item.gname = ""
        item.mtime = 1_785_621_600
        return item

    with tarfile.open(target, "w:xz", format=tarfile.PAX_FORMAT, preset=9) as packed:
        for path in sorted([root, *root.rglob("*")]):
            packed.add(path, f"workspace/{path.relative_to(root)}".removesuffix("/."), recursive=False, filter=plain)
        packed.add(said, "said.json", filter=plain)


def make(folder: Path) -> None:
    """The whole story."""
    root, scratch = folder / "workspace", folder / "scratch"
    fix(CLOCK)
    scratch.mkdir(parents=True)
    cloister("init", root, "--origin", "test.example/log")
    os.chdir(root)
    site = Path("site.yaml").read_text().replace("document_mib: 256", "document_mib: 1")
    Path("site.yaml").write_text(site)
    models(scratch)
    sort()
    model_changed(scratch)
    quiet()
    others()
    batch()
    kept_for_days()
    interrupted()
    reads(scratch)
    shutil.copytree(root, scratch / "copy")
    said = scratch / "said.json"
    said.write_text(json.dumps(ask_all(scratch / "copy"), indent=1, sort_keys=True) + "\n")
    pack(root, said, HERE / "workspace.tar.xz")


if __name__ == "__main__":
    make(Path(sys.argv[1]).resolve())
