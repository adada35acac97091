"""`make bench-lm`: language models beside llama.cpp and OpenVINO; prints a report and writes it to a file.

CLOISTER_BENCH_FILES is the folder of the model files (random weights, made where they are missing; 9 GB, and as much
for the weights that the engine keeps of them), CLOISTER_LLAMA one of llama.cpp's programs (llama-bench,
llama-batched-bench, llama-server). Where it is not set, llama-cpp-python is asked if it is installed;
LLAMA_CPP_LIB_PATH gives it another folder of libraries. CLOISTER_IK_LLAMA is a folder of ik_llama.cpp's llama-bench
and llama-batched-bench. OpenVINO is measured where openvino-genai, optimum-intel and nncf are installed, with models of
its own in the shapes of up to 1B, made once (10 GB of memory). What is missing is named in the report.

python -m tests.benchmarks.lm                                                  everything
… --resume                                                                     goes on where a run was stopped
… --files qwen2.5-0.5b:q4_k_m --rounds 1 --rows single,batched --threads 2     a short run
… --rows night --night 200 --slots 8                                           only the night

On four idle cores everything takes three to four hours: the night and the night of free text one each, most of it
llama-server's; prompts and decoding one; logits half an hour, most of it the exact ones. With --rounds 1 and --night 20
it is one hour. Every measurement is written beside the report, as a line of a .jsonl file, as soon as it is known.
"""

import argparse
import os
import platform
import sys
import time
from datetime import date, timedelta
from pathlib import Path

from tests.benchmarks.lm.journal import Facts, Journal
from tests.benchmarks.lm.measure import measure
from tests.benchmarks.lm.plan import ROWS, Plan
from tests.benchmarks.lm.report import put_into, to_markdown
from tests.benchmarks.lm.shapes import SHAPES


def main() -> None:
    """Measure, write, say where."""
    asked = arguments()
    os.environ["CLOISTER_THREADS"] = str(max(asked.threads))  # of what writes files too
    os.environ["CLOISTER_ISA"] = asked.isa
    plan = Plan(
        files=asked.files, rounds=asked.rounds, threads=asked.threads, isa=asked.isa, night=asked.night,
        part=asked.part, night_file=asked.night_file, slots=asked.slots, positions=asked.positions,
        real=tuple(asked.real), rows=asked.rows, both=asked.both,
    )  # fmt: skip
    try:
        journal = Journal(asked.report.with_suffix(".jsonl"), facts(plan), asked.resume)
    except ValueError as error:
        sys.exit(f"{error}; without --resume it is replaced")
    start = time.monotonic()
    results = measure(plan, journal, lambda line: print(f"{since(start)} {line}", file=sys.stderr, flush=True))
    results.machine = machine(plan)
    text = to_markdown(results)
    asked.report.write_text(text)
    print(text)
    print(f"written to {asked.report.absolute()}")
    if asked.page:
        asked.page.write_text(put_into(asked.page.read_text(), results))


def since(start: float) -> str:
    """Hours, minutes and seconds."""
    return str(timedelta(seconds=round(time.monotonic() - start)))


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    from engine.cpu import isa

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path, default=Path("bench-lm.md"), help="the Markdown file")
    parser.add_argument("--files", type=models, default=Plan.files, help="as qwen2.5-0.5b:q8_0,llama-2-7b:q4_k_m")
    parser.add_argument("--rows", type=rows, default=ROWS, help=",".join(ROWS))
    parser.add_argument("--threads", type=threads, default=cpus(), help="of both programs, as 1,2")
    parser.add_argument("--isa", default=isa(), help="ours; llama.cpp's is that of its build")
    parser.add_argument("--rounds", type=int, default=Plan.rounds)
    parser.add_argument("--night", type=int, default=Plan.night, help="documents; 0 for no night")
    parser.add_argument(
        "--night-file", type=lambda text: models(text)[0], default=Plan.night_file, help="as in --files"
    )
    parser.add_argument("--part", type=int, default=Plan.part, help="documents of the night that each gets in turn")
    parser.add_argument("--slots", type=int, default=Plan.slots, help="of llama-server")
    parser.add_argument("--positions", type=int, default=Plan.positions, help="whose logits are compared")
    parser.add_argument("--real", type=Path, nargs="*", default=(), help="trained models whose logits are compared too")
    parser.add_argument("--both", action="store_true", help="llama-cpp-python beside the programs of CLOISTER_LLAMA")
    parser.add_argument("--page", type=Path, help="the page whose table of verdicts is replaced: engine/BENCHMARKS.md")
    parser.add_argument("--resume", action="store_true", help="what the .jsonl file knows is not measured again")
    return parser.parse_args()


def rows(text: str) -> tuple[str, ...]:
    """Some of ROWS."""
    found = tuple(text.split(","))
    if unknown := set(found) - set(ROWS):
        raise argparse.ArgumentTypeError(f"{min(unknown)}: expected some of {','.join(ROWS)}")
    return found


def threads(text: str) -> tuple[int, ...]:
    """`1,2`"""
    return tuple(int(word) for word in text.split(","))


def cpus() -> tuple[int, ...]:
    """One, and as many as there are."""
    return tuple(sorted({1, len(os.sched_getaffinity(0))}))


def facts(plan: Plan) -> Facts:
    """What measurements must have in common to stand in one report."""
    from engine.compiling import CODE
    from engine.cpu import cpu_name

    return {"cpu": cpu_name(), "isa": plan.isa, "code": CODE}


def models(text: str) -> tuple[tuple[str, str], ...]:
    """`shape:mix`, with commas between."""
    found = [tuple(word.split(":", 1)) for word in text.split(",")]
    if unknown := [word for word in found if len(word) != 2 or word[0] not in SHAPES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]}: expected a shape of {', '.join(SHAPES)}, a colon and a mix")
    return tuple((shape, mix) for shape, mix in found)


def machine(plan: Plan) -> str:
    """CPU, load, what both programs were told."""
    from engine.cpu import cpu_name

    load = os.getloadavg()[0]
    return (
        f"{date.today()}, {cpu_name()}, {len(os.sched_getaffinity(0))} CPUs, load {load:.1f} at the end, Python "
        f"{platform.python_version()}; Cloister on {plan.isa}, "
        f"llama.cpp: {library()}"
    )


def library() -> str:
    """What llama.cpp says of its build; it is what decides on its instruction set."""
    from tests.benchmarks.lm import binding

    if reason := binding.missing():
        return f"instruction set unknown, for {reason}."
    import llama_cpp

    flags = llama_cpp.llama_print_system_info().decode().split("|")
    return ", ".join(flag.split("=")[0].split(":")[-1].strip() for flag in flags if "= 1" in flag) + "."


main()
