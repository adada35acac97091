"""`make bench`: reading documents, the encoder beside its peers, whole jobs; prints a report and writes it to a file.

python -m tests.benchmarks --report bench.md         needs CLOISTER_MODEL; peers CLOISTER_MINILM, parsers CLOISTER_DATA
… --lengths 128 --rounds 2 --threads 1               a short run, while something is being changed
"""

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from tests.benchmarks import bench_encoder, bench_job, report
from tests.benchmarks.bench_encoder import Plan
from tests.benchmarks.results import Results

DOCUMENTS = {
    "Reading documents: word recall": "bench_recall",
    "Reading documents: two processes to the bare library in one": "bench_parse",
    "Finding documents: 100,000 files": "bench_scan",
    "The audit log: appending and verifying": "bench_audit",
}
CONTRACTS = 50
VERSIONED = ("numpy", "numba", "torch", "transformers", "onnxruntime", "openvino", "nncf", "llama_cpp_python")


def main() -> None:
    """Measure, write, say where."""
    asked = arguments()
    plan = Plan(asked.lengths, asked.threads, asked.rounds, asked.texts, asked.contenders or Plan.names)
    documents = [] if asked.encoder_only else list(measure_documents())
    results = Results() if asked.documents_only else bench_encoder.measure(plan, say)
    results.machine, results.documents = machine(), documents
    asked.report.write_text(report.to_markdown(results))  # what took half an hour outlives what comes after it
    if not asked.documents_only:
        measure_banking(results)
    if asked.jobs and not asked.documents_only and installed("cloister") and find_spec("pytest"):
        measure_jobs(asked.jobs, results)
    text = report.to_markdown(results)
    asked.report.write_text(text)
    print(text)
    print(f"written to {asked.report.absolute()}")


def installed(name: str) -> bool:
    """Whether a distribution is installed, not only found in the current folder."""
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path, default=Path("bench.md"), help="the Markdown file")
    parser.add_argument("--lengths", type=numbers, default=Plan.lengths, help="tokens, as 32,128")
    parser.add_argument("--threads", type=numbers, default=Plan.threads, help="as 1,2")
    parser.add_argument("--rounds", type=int, default=Plan.rounds)
    parser.add_argument("--texts", type=int, default=Plan.texts, help="of the mixed set")
    parser.add_argument("--jobs", type=numbers, default=(100, 1000), help="letters of whole jobs; 0 for no jobs")
    parser.add_argument("--documents-only", action="store_true", help="only the parsers of documents")
    parser.add_argument("--encoder-only", action="store_true", help="only the encoder and whole jobs")
    parser.add_argument("--contenders", type=lambda text: tuple(text.split(",")), help="names, with commas between")
    return parser.parse_args()


def numbers(text: str) -> tuple[int, ...]:
    """`1,2`; nothing of `0`."""
    return tuple(int(word) for word in text.split(",") if int(word))


def say(line: str) -> None:
    """Where it is."""
    print(line, file=sys.stderr, flush=True)


def machine() -> str:
    """CPU, and what was installed."""
    from engine.cpu import cpu_name

    known = [f"{name} {version(name)}" for name in VERSIONED if find_spec(name.replace("_python", ""))]
    return (
        f"{date.today()}, {cpu_name()}, {len(os.sched_getaffinity(0))} CPUs, Python {platform.python_version()}, "
        + ", ".join(known)
        + "."
    )


def measure_documents() -> Iterator[tuple[str, str]]:
    """Each in a process of its own: one of them holds itself to two CPUs."""
    for heading, module in DOCUMENTS.items():
        say(heading)
        command = [sys.executable, "-m", f"tests.benchmarks.{module}"]
        done = subprocess.run(command, capture_output=True, text=True)
        told = done.stdout.strip() or f"Not measured: {done.stderr.strip().splitlines()[-1]}"
        yield heading, told if told.startswith("|") or not done.stdout else f"```\n{told}\n```"


def measure_banking(results: Results) -> None:
    """What a learned head loses to float32 vectors."""
    original, data = os.environ.get("CLOISTER_MINILM"), os.environ.get("CLOISTER_DATA")
    if original and data:
        import engine
        from tests.benchmarks import bench_banking

        say("Banking77")
        model = engine.load(os.environ["CLOISTER_MODEL"])
        results.banking = bench_banking.measure(model, Path(original), Path(data))


def measure_jobs(counts: tuple[int, ...], results: Results) -> None:
    """Whole jobs of so many letters, and of contracts."""
    wanted = [("letters", count) for count in counts]
    if "CLOISTER_DATA" in os.environ:
        wanted.append(("contracts", CONTRACTS))
    for what, count in wanted:
        say(f"a job of {count} {what}")
        seconds, tokens, peak = bench_job.measure(Path(os.environ["CLOISTER_MODEL"]), count, what)
        results.jobs.append((what, count, tokens, seconds, peak))


main()
