"""llama.cpp's own programs, found in the folder CLOISTER_LLAMA: llama-bench, llama-batched-bench, llama-server.

ik_llama.cpp, which is made of an older llama.cpp, has the first two too, in the folder CLOISTER_IK_LLAMA. Each is a new
process for every question, with its own warm-up; the model file is in the system's cache by then.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from tests.benchmarks.lm.plan import BEFORE, PROMPT, TOKENS

FOLDER, IK_FOLDER = "CLOISTER_LLAMA", "CLOISTER_IK_LLAMA"
LONGEST = 900
"""Seconds after which a program is given up."""


def program(name: str, variable: str = FOLDER) -> Path | None:
    """The program of this name, if it is in the folder that the variable of the environment names."""
    folder = os.environ.get(variable)
    path = Path(folder, f"llama-{name}") if folder else None
    return path if path and path.is_file() else None


def missing(name: str, variable: str = FOLDER) -> str:
    """Why there is no such program; empty if there is."""
    if variable not in os.environ:
        return f"{variable} does not name a folder of llama.cpp's programs"
    return "" if program(name, variable) else f"no llama-{name} in {variable}"


def decoding(printed: str) -> dict[str, float]:
    """What llama-batched-bench says of many sequences, as lines of JSON, or as the table that is all an older one
    knows."""
    found = {}
    for line in printed.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            found[f"decode {row['pl']}"] = float(row["speed_tg"])
        elif line.startswith("|") and (cells := [cell.strip() for cell in line.split("|")])[1].isdigit():
            found[f"decode {cells[3]}"] = float(cells[8])
    return found


class Programs:
    """Answers as `ours.Cloister` does, as far as the programs can."""

    def __init__(self, path: Path, threads: int, variable: str = FOLDER) -> None:
        self._path, self._threads, self._variable = path, threads, variable

    def single(self) -> dict[str, float]:
        flash = ("-fa", "auto") if self._variable == FOLDER else ()  # the older ones have it on
        found = self._run("bench", "-p", f"{PROMPT}", "-n", f"{TOKENS}", "-r", "1", "-o", "json", *flash)
        return {("prompt" if row["n_prompt"] else "decode"): row["avg_ts"] for row in json.loads(found.stdout)}

    def batched(self, counts: tuple[int, ...]) -> dict[str, float]:
        found = self._run(
            "batched-bench", "-c", f"{max(counts) * (BEFORE + TOKENS)}", "-npp", f"{BEFORE}", "-ntg", f"{TOKENS}",
            "-npl", ",".join(map(str, counts)), "--output-format", "jsonl",
        )  # fmt: skip
        return decoding(found.stdout + found.stderr)

    def first_token(self) -> float:
        """Seconds from the start of a process to its first token; its end is among them."""
        start = time.monotonic()
        self._run("bench", "-p", "0", "-n", "1", "-r", "1", "--no-warmup", "-o", "json")
        return time.monotonic() - start

    def _run(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What it prints; nothing is known where it fails."""
        path = program(name, self._variable)
        assert path is not None
        command = [str(path.resolve()), "-m", str(self._path.resolve()), "-t", str(self._threads), *arguments]
        with tempfile.TemporaryDirectory() as here:  # ik_llama.cpp leaves a log where it is called
            return subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=LONGEST, check=True)
