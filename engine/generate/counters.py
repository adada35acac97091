"""Counters of the batch engine, for a report. They are no part of a result."""

from dataclasses import dataclass


@dataclass
class Counters:
    """requests: done, `failed` of them so. steps: calls of the decoder; rows: tokens it computed, `prompt_rows` of them
    of prompts. shared: prompt tokens that had been computed for another request. written: tokens of answers, `forced`
    of them without a choice. guessed: tokens that were tried ahead, `accepted` of them rightly. preempted: how often a
    request lost its pages. pages: in use, of all that there are."""

    requests: int = 0
    failed: int = 0
    steps: int = 0
    rows: int = 0
    prompt_rows: int = 0
    shared: int = 0
    written: int = 0
    forced: int = 0
    guessed: int = 0
    accepted: int = 0
    preempted: int = 0
    pages: int = 0
