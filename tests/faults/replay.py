"""Results made once, and again with each instruction set, number of threads and company: bit for bit the same.

    python -m tests.faults.replay --results 1000

makes a workspace with three jobs over generated documents, whole and damaged ones, archives and mails with documents in
them, and the real ones of CLOISTER_DATA where it is set; then so many of the rows, drawn by a seed, are replayed in
processes of their own: with each instruction set that this CPU has and with 1 and 2 threads, among other rows at a time
in each. A line for each process, and for each row that did not come out the same; exit 1 if there is one.
"""

import argparse
import base64
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pipeline
from engine.cpu import ISAS, cpu_flags
from tests.engine.digests import environment
from tests.faults.hostile import damaged
from tests.faults.night import Watch, make_plan
from tests.faults.samples import SAMPLES
from tests.pipeline.test_containers import zipped

ROOT = Path(__file__).parents[2]
ORIGIN, KEY = "test.example/log", "keys/log.key"
SECONDS = 120.0  # for one document: a busy machine must not make timeouts of them
LARGEST = 2_000_000  # bytes of a real document
TOGETHER = (1, 3, 17, 64, 200)
TASKS: dict[str, pipeline.tasks.Task] = {
    "sort": pipeline.tasks.ClassifySettings(
        (pipeline.tasks.Label("lease", "a lease of a flat"), pipeline.tasks.Label("invoice", "an invoice: total due")),
        0.3,
    ),
    "fields": pipeline.tasks.ExtractSettings(
        (
            pipeline.tasks.Field("total", "money", "the total that is due"),
            pipeline.tasks.Field("date", "date", "the date of the invoice"),
            pipeline.tasks.Field("number", "regex", "the number of the invoice", r"20\d\d-\d+"),
        )
    ),
    "short": pipeline.tasks.SummarizeSettings(words=40),
}
_SENTENCES = (
    "The landlord leases the flat {n} to the tenant.",
    "The rent of EUR {n}.00 is due on {d} March 2026.",
    "Invoice 2026-{n} of {d} May 2026: total due EUR {n}.50.",
    "Die Miete beträgt {n},00 Euro und ist am {d}.03.2026 fällig.",
    "The report of the committee has {d} parts; part {n} is about contracts.",
    "承租人应在{d}日前支付{n}元。",
)


@dataclass(frozen=True)
class Setting:
    """How a process makes the rows again."""

    isa: str
    threads: int
    together: int


def settings(wanted: list[str]) -> list[Setting]:
    """ISA:THREADS each; all that this CPU has, if none is given."""
    there = [isa for isa, needed in ISAS.items() if needed <= cpu_flags()]
    pairs = [(isa, int(threads)) for isa, threads in (one.split(":") for one in wanted)] or product(there, (1, 2))
    return [
        Setting(isa, threads, TOGETHER[i % len(TOGETHER)]) for i, (isa, threads) in enumerate(pairs) if isa in there
    ]


def documents(number: int, seed: int = 20261122) -> Iterator[tuple[str, bytes]]:
    """Generated ones: texts of many kinds and lengths, whole and damaged samples, documents in mails and archives."""
    rng = random.Random(seed)
    kinds = sorted(SAMPLES)
    for index in range(number):
        text = _text(rng)
        match index % 5:
            case 0:
                yield f"{index}.txt", text.encode(rng.choice(("utf-8", "utf-16", "utf-8-sig")))
            case 1:
                yield f"{index}.html", f"<h1>Part {index}</h1><p>{text}</p><p hidden>{_text(rng)}</p>".encode()
            case 2:
                yield f"{index}.zip", zipped({"a/letter.txt": text.encode(), "b.md": f"# Two\n\n{_text(rng)}".encode()})
            case 3:
                attached = base64.encodebytes(_text(rng).encode()).decode()
                yield f"{index}.eml", _mail(index, text, attached)
            case 4:
                kind = rng.choice(kinds)
                yield f"{index}.{kind}", damaged(SAMPLES[kind], rng)
    for kind in kinds:
        yield f"whole.{kind}", SAMPLES[kind]


def _text(rng: random.Random) -> str:
    parts = (rng.choice(_SENTENCES).format(n=rng.randrange(1, 9999), d=rng.randrange(1, 29)) for _ in iter(int, 1))
    return "".join(next(parts) + rng.choice(("\n", " ", "\n\n")) for _ in range(rng.randrange(1, 60)))


def _mail(index: int, text: str, attached: str) -> bytes:
    return (
        f"From: a@example.org\nSubject: Letter {index}\nMIME-Version: 1.0\n"
        "Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain; charset=utf-8\n\n"
        f"{text}\n--x\nContent-Type: text/plain; charset=utf-8\nContent-Disposition: attachment; filename=note.txt\n"
        f"Content-Transfer-Encoding: base64\n\n{attached}\n--x--\n"
    ).encode()


def fill(folder: Path, results: int) -> None:
    """Real documents where there are some, and generated ones: more than so many results will come of them."""
    data = os.environ.get("CLOISTER_DATA")
    real = sorted(path for path in Path(data, "documents").rglob("*") if path.is_file()) if data else []
    for index, path in enumerate(random.Random(results).sample(real, min(len(real), results // 2))):
        if path.stat().st_size <= LARGEST:
            shutil.copyfile(path, folder / f"real {index} {path.name}")
    for name, body in documents(results):
        (folder / name).write_bytes(body)


def make(root: Path, results: int) -> pipeline.Site:
    """The workspace, and its runs."""
    plan = replace(make_plan(root, SECONDS), part_documents=100)
    inbox = root / "all"
    inbox.mkdir()
    fill(inbox, results)
    jobs = list(TASKS)
    for index, path in enumerate(sorted(inbox.iterdir())):
        folder = root / "inbox" / jobs[index % len(jobs)]
        folder.mkdir(parents=True, exist_ok=True)
        path.rename(folder / path.name)
    for job, task in TASKS.items():
        hidden = "review" if job == "sort" else "drop"
        source = pipeline.Input(root / "inbox" / job, ("*",), 0.0, "archive", hidden=hidden)
        pipeline.run(replace(plan, job=job, task=task, input=source), observer=Watch())
    return plan.site


def again(site: pipeline.Site, results: int, seed: int, together: int) -> dict[str, object]:
    """In this process: what a replay of so many rows says."""
    of = pipeline.replay(site, pipeline.Choice(share=1e-9)).of
    if results > of:
        raise SystemExit(f"only {of} rows can be replayed")
    began = time.monotonic()
    done = pipeline.replay(site, pipeline.Choice(share=results / of, seed=seed), together=together)
    drawn = [row for row in done.rows if row.verdict != "unreplayable" or "nothing was computed" not in row.reason]
    wrong = [f"{row.verdict} {row.path}: {row.reason}" for row in drawn if row.verdict != "identical"]
    return {"rows": len(drawn), "wrong": wrong, "seconds": time.monotonic() - began}


def ask(root: Path, asked: argparse.Namespace, setting: Setting) -> bool:
    """In a process of its own; whether all came out the same."""
    command = [sys.executable, "-m", "tests.faults.replay", "--within", str(root), "--results", str(asked.results)]
    command += ["--key", asked.key, "--seed", str(asked.seed), "--together", str(setting.together)]
    forced = environment(CLOISTER_ISA=setting.isa, CLOISTER_THREADS=str(setting.threads))
    done = subprocess.run(command, env=forced, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(done.stdout)
    same, company = told["rows"] - len(told["wrong"]), f"{setting.together:>3} at a time"
    print(f"{setting.isa:<12} threads {setting.threads}  {company}  {same:,} of {told['rows']:,} identical", end="  ")
    print(f"{told['seconds']:.1f} s", *told["wrong"], sep="\n  " if told["wrong"] else "", flush=True)
    return same == told["rows"] == asked.results


def main() -> None:
    """As said above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--under", action="append", default=[], metavar="ISA:THREADS", help="only these")
    parser.add_argument("--within", type=Path, help="the workspace, to be replayed by this very process")
    parser.add_argument("--key", help="the public key of its log")
    parser.add_argument("--together", type=int, default=TOGETHER[-1])
    asked = parser.parse_args()
    if asked.within:
        site = pipeline.Site(asked.within, ORIGIN, asked.within / KEY, asked.key, pipeline.Limits(), 0)
        print(json.dumps(again(site, asked.results, asked.seed, asked.together)))
        return
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "workspace"
        began = time.monotonic()
        asked.key = make(root, asked.results).public_key
        made = f"made in {time.monotonic() - began:.1f} s"
        print(f"{asked.results:,} results drawn by the seed {asked.seed}, of those {made}", flush=True)
        same = [ask(root, asked, setting) for setting in settings(asked.under)]
        sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
