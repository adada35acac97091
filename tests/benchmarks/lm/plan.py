"""What is measured, and how often."""

from dataclasses import dataclass

from tests.benchmarks.lm.shapes import LARGE, MIXES, SMALL

PROMPT, TOKENS, BEFORE = 512, 32, 64
"""Tokens of a prompt; of what is decoded; and in each of many sequences before that."""

ROWS = ("single", "batched", "night", "memory", "start", "accuracy")


@dataclass(frozen=True)
class Plan:
    """files: shapes and mixes. counts: sequences that decode together. night: documents, and the model that reads
    them; slots: of llama-server. positions: whose logits are compared. rows: which of ROWS."""

    files: tuple[tuple[str, str], ...] = (*((shape, mix) for shape in SMALL for mix in MIXES), (LARGE, "q4_k_m"))
    counts: tuple[int, ...] = (16, 32)
    rounds: int = 3
    threads: int = 1
    isa: str = ""
    night: int = 200
    night_file: tuple[str, str] = ("llama-3.2-1b", "q4_k_m")
    slots: int = 8
    positions: int = 256
    rows: tuple[str, ...] = ROWS
