"""A night over a folder of bad documents, and what must hold in the morning whatever they were.

    python -m tests.faults.night --files 10000                       generated ones
    python -m tests.faults.night --folder "$CLOISTER_DATA/documents"     those of a folder, copied twice by default

prints the classes in which they ended, the time of the slowest, and the memory that a path costs the parent; exit 1 and
a line for each thing that does not hold. It runs where nothing but its workspace and the engine's cache can be written
(confine.py), and says so; where the kernel has no Landlock, it says that, and looks at the folder for temporary files.
memory.py says how that is measured.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import audit
import engine
import pipeline
from engine.compiling import FOLDER, LASTING
from tests.faults.confine import can_write, run_confined
from tests.faults.expected import EXPECTED, READ
from tests.faults.hostile import ANY, hostile
from tests.faults.memory import AT_ONCE, PER_PATH, Memory
from tests.faults.stopwatch import Stopwatch
from tests.models import write_bert_folder

SECONDS = 10.0  # for one document
COPIES = ("first", "second")  # of the documents of a folder: what is done again is compared with itself
PART = 50  # rows, so that what waits for its part is as much early as late


@dataclass
class Watch:
    """An Observer that keeps the time between two documents and the memory of this process."""

    began: float = field(default_factory=time.monotonic)
    ended: int = 0
    total: int = 0
    memory: Memory = field(default_factory=Memory)

    def note(self, event: str, **facts: str | int | float | None) -> None:
        """Look at the memory when a part is committed; of several in a row the last one counts."""
        if event == "part committed":
            self.memory.look(self.ended)

    def found(self, total: int) -> None:
        self.total = total

    def finished(self, path: str, state: str, reason: str | None) -> None:
        self.ended += 1
        if self.ended % 100 == 0 and sys.stderr.isatty():
            print(f"\r{self.ended:,} of {self.total:,}", end="", file=sys.stderr)

    def expects(self, seconds_left: float | None) -> None:
        """Nothing is done with it."""


def make_plan(root: Path, seconds: float = SECONDS) -> pipeline.RunPlan:
    """A workspace at `root` with one classifying job and a model of random weights."""
    (root / "keys").mkdir(parents=True)
    key = root / "keys" / "log.key"
    public = audit.generate_key(key, "test.example/log")
    audit.Log.create(root / "audit", key_path=key, public_key=public)
    model, folder = root / "models" / "tiny.gguf", root / "inbox" / "night"
    model.parent.mkdir()
    folder.mkdir(parents=True)
    engine.import_model(write_bert_folder(root / "hf"), model, file_type="q8_0", name="tiny")
    limits = pipeline.Limits(seconds=seconds, memory_bytes=1 << 30)
    labels = (
        pipeline.tasks.Label("lease", "a lease of a flat"),
        pipeline.tasks.Label("invoice", "an invoice: total due"),
    )
    return pipeline.RunPlan(
        site=pipeline.Site(root, "test.example/log", key, public, limits, 256 << 20),
        job="night",
        job_file_sha256="0" * 64,
        input=pipeline.Input(folder, ("*",), 0.0, "archive", ocr=pipeline.plan.Ocr(enabled=False)),
        model=pipeline.ModelRef("tiny", model, None),
        task=pipeline.tasks.ClassifySettings(labels, threshold=0.0),
        formats=("parquet",),
        part_documents=PART,
    )


@dataclass(frozen=True)
class Morning:
    """What came of a night."""

    report: pipeline.RunReport
    rows: tuple[dict[str, Any], ...]
    seconds: float
    per_path: float
    at_once: int
    slowest: tuple[float, str]
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Ends:
    """How a path may end, and how those of which nothing is said, as of documents inside others; empty: anyhow."""

    paths: Mapping[str, frozenset[str]]
    others: frozenset[str] = ANY


def spend(plan: pipeline.RunPlan, allowed: Ends, outside: Path) -> Morning:
    """Run the job and look at everything; nothing may change in the folder `outside`."""
    before, watch, stopwatch = _tree(outside), Watch(), Stopwatch()
    with stopwatch.running():
        report = pipeline.run(plan, observer=watch)
    seconds = time.monotonic() - watch.began
    rows = tuple(pipeline.results(plan.site))
    per_path, at_once = watch.memory.per_path(), watch.memory.at_once()
    wrong = [*_ends(rows, allowed), *_counts(report, rows, plan), *_left(plan)]
    wrong += stopwatch.late(plan.site.limits.seconds)
    if per_path > PER_PATH:
        wrong.append(f"the parent grew by {per_path:.0f} bytes a path")
    if at_once > AT_ONCE:
        wrong.append(f"the parent held {at_once:,} bytes more than after its first part")
    wrong += [f"outside the workspace: {path}" for path in sorted(_tree(outside) ^ before)]
    if not (verified := pipeline.verify(plan.site)).ok or verified.absent:
        wrong += [str(each) for each in (*verified.integrity, *verified.altered, *verified.added, *verified.absent)]
    return Morning(report, rows, seconds, per_path, at_once, stopwatch.slowest, tuple(wrong))


def _tree(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


def _ends(rows: tuple[dict[str, Any], ...], allowed: Ends) -> list[str]:
    ended = {row["path"]: row["failure"] or row["state"] for row in rows}
    wrong = [f"{path}: has no row" for path in allowed.paths if path not in ended]
    for path, state in ended.items():
        if (right := allowed.paths.get(path, allowed.others)) and state not in right:
            wrong.append(f"{path}: ended as {state}, expected {', '.join(sorted(right))}")
    return wrong


def _counts(report: pipeline.RunReport, rows: tuple[dict[str, Any], ...], plan: pipeline.RunPlan) -> list[str]:
    """Every path in exactly one state, and each of them a row."""
    counts = Counter(row["state"] for row in rows)
    told = {state: report.counts[state] for state in counts}
    wrong = [] if told == counts else [f"the run says {told}, the rows {dict(counts)}"]
    paths = Counter(row["path"] for row in rows)
    wrong += [f"{path}: {number} rows" for path, number in paths.items() if number > 1]
    return wrong + ([f"{report.counts['pending']} pending"] if report.counts["pending"] else [])


def _left(plan: pipeline.RunPlan) -> list[str]:
    """What should be in its place by now."""
    left = [path for path in plan.input.folder.rglob("*") if path.is_file()] + list(plan.site.root.rglob(".staging"))
    return [f"left behind: {path}" for path in left]


def fill(folder: Path, files: int) -> Ends:
    """So many hostile files into `folder`; how each may end."""
    allowed = {}
    for one in hostile(files):
        (folder / one.name).write_bytes(one.data)
        allowed[one.name] = one.ends and one.ends | {"duplicate"}
    return Ends(allowed)


def copy(source: Path, folder: Path, copies: Sequence[str] = COPIES, every: int = 1) -> Ends:
    """The files below `source`, or every so-manieth, so often into `folder`; each of the real documents ends as
    expected.py says, others anyhow."""
    for name in copies:
        for path in sorted(path for path in source.rglob("*") if path.is_file())[::every]:
            target = folder / name / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    paths = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    data = os.environ.get("CLOISTER_DATA")
    if data is None or source.resolve() != (Path(data) / "documents").resolve():
        return Ends(dict.fromkeys(paths, ANY))
    failed = {f"{name}/{path}": frozenset({failure}) for name in copies for path, failure in EXPECTED.items()}
    failed = {path: ends for path, ends in failed.items() if path.partition("!/")[0] in paths}
    return Ends(dict.fromkeys(paths, READ) | failed, READ)


def main() -> None:
    """As said above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="documents to be read instead")
    parser.add_argument("--copies", type=int, default=2, choices=(1, 2), help="of them; memory is compared between two")
    parser.add_argument("--every", type=int, default=1, help="of them, only each so-manieth")
    parser.add_argument("--within", type=Path, help="an empty folder to work in, by this very process")
    asked = parser.parse_args()
    if asked.within is None:
        with tempfile.TemporaryDirectory() as name:
            sys.exit(start(Path(name)))
    morning = work(asked, asked.within)
    tell(morning)
    sys.exit(bool(morning.wrong))


def start(within: Path) -> int:
    """This program once more, in a process that can write only to the workspace and the engine's cache."""
    for folder in ("elsewhere", "workspace"):
        (within / folder).mkdir()
    cache = FOLDER.parent if LASTING else within / "workspace" / "cache"
    os.environ |= {"TMPDIR": str(within / "elsewhere"), "CLOISTER_CACHE": str(cache)}
    command = [sys.executable, "-m", "tests.faults.night", *sys.argv[1:], "--within", str(within)]
    ended = run_confined(command, [within / "workspace", cache])
    return subprocess.run(command, check=False).returncode if ended is None else ended


def work(asked: argparse.Namespace, within: Path) -> Morning:
    """The night itself."""
    held = not can_write(within / "elsewhere")
    told = "only the workspace and the engine's cache can be written" if held else "NOT CONFINED: no Landlock here"
    print(told, flush=True)
    plan = make_plan(within / "workspace")
    folder = plan.input.folder
    if asked.folder:
        plan = replace(plan, input=replace(plan.input, duplicates="process"))
        allowed = copy(asked.folder, folder, COPIES[: asked.copies], asked.every)
    else:
        allowed = fill(folder, asked.files)
    return spend(plan, allowed, within / "elsewhere")


def tell(morning: Morning) -> None:
    """The figures."""
    ended = Counter(row["failure"] or row["state"] for row in morning.rows)
    for state, count in ended.most_common():
        print(f"{count:7,}  {state}")
    print(f"{morning.report.seen:7,}  in all, {morning.seconds:.0f} s")
    print(f"{morning.per_path:7.0f}  bytes by which the parent grew for each path")
    print(f"{morning.at_once >> 20:7,}  MiB that it held at most beyond what it held after its first part")
    print(f"{morning.slowest[0]:7.2f}  s for the slowest, {morning.slowest[1]}")
    for line in morning.wrong:
        print(f"WRONG: {line}")


if __name__ == "__main__":
    main()
