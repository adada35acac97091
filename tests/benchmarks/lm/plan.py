"""What is measured, and how often."""

from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.lm.shapes import LARGE, MIXES, SMALL

PROMPT, TOKENS, BEFORE = 512, 32, 64
"""Tokens of a prompt; of what is decoded; and in each of many sequences before that."""

ROWS = ("single", "batched", "memory", "accuracy", "start", "night", "free")
"""`free`: the night with free text instead of JSON."""


@dataclass(frozen=True)
class Plan:
    """files: shapes and mixes. counts: sequences that decode together. threads: each of them for `single` and
    `batched`, the most for the rest. night: documents, so many in a `part`, and the model that reads them; slots: of
    llama-server. positions: whose logits are compared; real: model files that are compared besides. rows: of ROWS.
    both: llama.cpp's programs and llama-cpp-python, not just the first that is there."""

    files: tuple[tuple[str, str], ...] = (*((shape, mix) for shape in SMALL for mix in MIXES), (LARGE, "q4_k_m"))
    counts: tuple[int, ...] = (16, 32)
    rounds: int = 3
    threads: tuple[int, ...] = (1,)
    isa: str = ""
    night: int = 200
    part: int = 50
    night_file: tuple[str, str] = ("llama-3.2-1b", "q4_k_m")
    slots: int = 8
    positions: int = 128
    real: tuple[Path, ...] = ()
    rows: tuple[str, ...] = ROWS
    both: bool = False

    @property
    def most(self) -> int:
        """Threads of what is measured once."""
        return max(self.threads)
