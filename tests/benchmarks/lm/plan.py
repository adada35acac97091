"""What is measured, and how often."""

from dataclasses import dataclass

from tests.benchmarks.lm.shapes import LARGE, MIXES, SMALL

PROMPT, TOKENS, BEFORE = 512, 32, 64
"""Tokens of a prompt; of what is decoded; and in each of many sequences before that."""


@dataclass(frozen=True)
class Plan:
    """files: shapes and mixes. counts: sequences that decode together. night: documents, 0 for none; slots: of
    llama-server. rows: which of ROWS."""

    files: tuple[tuple[str, str], ...] = (*((shape, mix) for shape in SMALL for mix in MIXES), (LARGE, "q4_k_m"))
    counts: tuple[int, ...] = (16, 32)
    rounds: int = 3
    threads: int = 1
    isa: str = ""
    night: int = 200
    slots: int = 8
    positions: int = 256  # whose logits are compared
    rows: tuple[str, ...] = ("single", "batched", "night", "memory", "start", "accuracy")
