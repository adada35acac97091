"""OpenVINO for language models, in a process of its own: `python -m tests.benchmarks.lm.genai SHAPE MIX THREADS`.

It answers what `ours.Cloister` does of speeds: single, batched. The pipeline that serves many sequences gets token ids;
a step of it computes what waits, and chooses the likeliest token of each sequence, which the others do not do.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.lm.openvino_files import folder
from tests.benchmarks.lm.plan import BEFORE, PROMPT, TOKENS
from tests.benchmarks.process import serve

TOGETHER = 2048
"""Tokens of one step, as many as llama.cpp's batch."""
CACHE = 4
"""GiB of keys and values."""


class Genai:
    """A loaded model, with all that it chooses by itself but the threads."""

    def __init__(self, path: Path, threads: int) -> None:
        import openvino_genai

        self._genai, self._random, self._asked = openvino_genai, np.random.default_rng(0), 0
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.max_num_batched_tokens, scheduler.cache_size = TOGETHER, CACHE
        settings = {"INFERENCE_NUM_THREADS": threads}
        self._pipeline = openvino_genai.ContinuousBatchingPipeline(str(path), scheduler, "CPU", settings)

    def answer(self, request: dict[str, Any]) -> Any:
        """What is asked for."""
        do = request.pop("do")
        return getattr(self, do)(**request)

    def single(self) -> dict[str, float]:
        self._seconds(1, PROMPT, 2)  # what is compiled for a shape is compiled
        (prompt,) = self._seconds(1, PROMPT, 1)
        decode = self._seconds(1, 1, 1 + TOKENS)[1:]
        return {"prompt": PROMPT / prompt, "decode": TOKENS / sum(decode)}

    def batched(self, counts: list[int]) -> dict[str, float]:
        found = {}
        for count in counts:
            self._seconds(count, 1, 2)
            decode = self._seconds(count, BEFORE, 1 + TOKENS)[1:]
            found[f"decode {count}"] = count * TOKENS / sum(decode)
        return found

    def _seconds(self, sequences: int, before: int, tokens: int) -> list[float]:
        """Of each step: the first reads what is before, and each makes one token of every sequence."""
        import openvino

        wanted = self._genai.GenerationConfig(max_new_tokens=tokens, ignore_eos=True)
        held = []  # a request whose handle is gone is given up
        for _ in range(sequences):
            ids = openvino.Tensor(self._random.integers(2, 2000, (1, before)))
            held.append(self._pipeline.add_request(self._asked, ids, wanted))
            self._asked += 1
        found = []
        while self._pipeline.has_non_finished_requests():
            start = time.perf_counter()
            self._pipeline.step()
            found.append(time.perf_counter() - start)
        assert len(found) == tokens, found
        return found


if __name__ == "__main__":
    serve(lambda: Genai(folder(*sys.argv[1:3]), int(sys.argv[3])).answer)
