"""A whole job over documents: documents a second, parsing included, and the peak memory of the process tree.

    python -m tests.benchmarks.bench_job [documents ...]        short ones; needs CLOISTER_MODEL
    python -m tests.benchmarks.bench_job --contracts [contracts ...]        of CUAD from PDF, on two CPUs; CLOISTER_DATA

The short documents are sentences put together at random (seeded), about 120 tokens each, half of them text, the rest
HTML, Markdown and mail. Each size runs in a process of its own; its memory is the sum of the PSS of that process and
its children.
"""

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from itertools import cycle
from pathlib import Path

SUBJECTS = [
    "The tenant",
    "Our clinic",
    "The supplier",
    "Your account",
    "The committee",
    "The insured person",
    "A visitor",
]
VERBS = ["has asked for", "confirms", "rejects", "would like to change", "has paid", "reports", "complains about"]
OBJECTS = [
    "the invoice of last month",
    "a new contract",
    "the delivery",
    "an appointment",
    "the annual report",
    "the rent",
]
ENDS = [
    "and expects an answer within two weeks",
    "because of the strike",
    "in writing",
    "for the second time",
    "by telephone",
]
CONTRACTS = "extraction/cuad/pdf"
FORMATS = {
    ".txt": "{}",
    ".md": "# Letter\n\n{}\n",
    ".html": "<html><body><h1>Letter</h1><p>{}</p></body></html>",
    ".eml": "From: a@example.org\nTo: b@example.org\nSubject: Letter\nDate: Thu, 1 Oct 2026 10:00:00 +0200\n\n{}\n",
}


def write_documents(folder: Path, count: int) -> None:
    """`count` different documents of about 120 tokens."""
    rng = random.Random(7)
    for i in range(count):
        sentences = [
            f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)} {rng.choice(ENDS)}." for _ in range(8)
        ]
        suffix = [".txt", ".md", ".txt", ".html", ".txt", ".eml"][i % 6]
        (folder / f"{i:06d}{suffix}").write_text(FORMATS[suffix].format(f"Case {i}. " + " ".join(sentences)))


def write_contracts(folder: Path, count: int) -> None:
    """`count` contracts of CUAD, PDF files; what comes again is a file of its own by a last line."""
    paths = sorted(Path(os.environ["CLOISTER_DATA"], CONTRACTS).glob("*.pdf"))
    for i, path in zip(range(count), cycle(paths), strict=False):
        again = b"" if i < len(paths) else b"\n%% copy %d\n" % i
        (folder / f"{i:06d}.pdf").write_bytes(path.read_bytes() + again)


def hold_to_two_cpus() -> None:
    """This process and its children."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def tree_pss(pid: int) -> int:
    """Bytes of proportional memory of a process and all its descendants."""
    total, waiting = 0, [pid]
    while waiting:
        pid = waiting.pop()
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += 1024 * int(rollup.split("Pss:")[1].split()[0])
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except (OSError, IndexError):  # it has ended
            continue
    return total


def one_run(root: Path, model: Path, what: str, count: int) -> None:
    """In the child: make a workspace, run the job, print the seconds of the run."""
    if what == "contracts":
        hold_to_two_cpus()
    import pipeline
    from tests.pipeline.conftest import Witness, make_plan, make_site

    plan = make_plan(make_site(root / "workspace"), model)
    WRITE[what](plan.input.folder, count)
    report = pipeline.run(plan, observer=Witness())
    assert report.counts["done"] + report.counts["abstained"] == count, report.counts
    print(report.seconds, report.tokens)


WRITE = {"letters": write_documents, "contracts": write_contracts}


def measure(model: Path, count: int, what: str = "letters") -> tuple[float, float, int]:
    """Seconds of the run, tokens a document, peak bytes of the tree."""
    with tempfile.TemporaryDirectory() as root:
        command = [sys.executable, "-m", "tests.benchmarks.bench_job", "--child", root, str(model), what, str(count)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        peak = [0]

        def watch() -> None:
            while child.poll() is None:
                peak[0] = max(peak[0], tree_pss(child.pid))
                time.sleep(0.1)

        watcher = threading.Thread(target=watch)
        watcher.start()
        out, _ = child.communicate()
        watcher.join()
        seconds, tokens = out.split()
        return float(seconds), int(tokens) / count, peak[0]


def main(what: str, counts: list[int]) -> None:
    """Print one line a size."""
    model = Path(os.environ["CLOISTER_MODEL"])
    rates = f"{'documents/s':>12} {'an hour':>10}"
    print(f"{'documents':>10} {'tokens each':>12} {'seconds':>8} {rates} {'peak MiB (PSS, tree)':>22}")
    for count in counts:
        seconds, tokens, peak = measure(model, count, what)
        rates = f"{count / seconds:>12.1f} {3600 * count / seconds:>10,.0f}"
        print(f"{count:>10} {tokens:>12.0f} {seconds:>8.1f} {rates} {peak / 2**20:>22.0f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        one_run(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
    elif sys.argv[1:2] == ["--contracts"]:
        main("contracts", [int(word) for word in sys.argv[2:]] or [50])
    else:
        main("letters", [int(word) for word in sys.argv[1:]] or [100, 1000, 4000])
