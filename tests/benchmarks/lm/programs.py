"""llama.cpp's own programs, found in the folder CLOISTER_LLAMA: llama-bench, llama-batched-bench, llama-server.

Each is a new process for every question, with its own warm-up; the model file is in the system's cache by then.
"""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.lm.plan import BEFORE, PROMPT, TOKENS

FOLDER = "CLOISTER_LLAMA"
LONGEST = 900
"""Seconds after which a program is given up."""


def program(name: str) -> Path | None:
    """The program of this name, if it is there."""
    folder = os.environ.get(FOLDER)
    path = Path(folder, f"llama-{name}") if folder else None
    return path if path and path.is_file() else None


def missing(name: str) -> str:
    """Why there is no such program; empty if there is."""
    if FOLDER not in os.environ:
        return f"{FOLDER} does not name a folder of llama.cpp's programs"
    return "" if program(name) else f"no llama-{name} in {FOLDER}"


class Programs:
    """Answers as `ours.Cloister` does, as far as the programs can."""

    def __init__(self, path: Path, threads: int) -> None:
        self._path, self._threads = path, threads

    def single(self) -> dict[str, float]:
        found = self._run("bench", "-p", f"{PROMPT}", "-n", f"{TOKENS}", "-r", "1", "-o", "json", "-fa", "auto")
        return {("prompt" if row["n_prompt"] else "decode"): row["avg_ts"] for row in json.loads(found)}

    def batched(self, counts: tuple[int, ...]) -> dict[str, float]:
        found = self._run(
            "batched-bench", "-c", f"{max(counts) * (BEFORE + TOKENS)}", "-npp", f"{BEFORE}", "-ntg", f"{TOKENS}",
            "-npl", ",".join(map(str, counts)), "--output-format", "jsonl",
        )  # fmt: skip
        rows: list[dict[str, Any]] = [json.loads(line) for line in found.splitlines() if line.startswith("{")]
        return {f"decode {row['pl']}": row["speed_tg"] for row in rows}

    def first_token(self) -> float:
        """Seconds from the start of a process to its first token; its end is among them."""
        start = time.monotonic()
        self._run("bench", "-p", "0", "-n", "1", "-r", "1", "--no-warmup", "-o", "json")
        return time.monotonic() - start

    def _run(self, name: str, *arguments: str) -> str:
        """What it prints; nothing is known where it fails."""
        path = program(name)
        assert path is not None
        command = [str(path), "-m", str(self._path), "-t", str(self._threads), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=True).stdout
