"""llama.cpp through llama-cpp-python, in a process of its own: `python -m tests.benchmarks.lm.binding FILE THREADS`.

It answers what `ours.Cloister` does: single, batched, logits. LLAMA_CPP_LIB_PATH names another folder of its library.
"""

import ctypes
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.lm.plan import BEFORE, PROMPT, TOKENS
from tests.benchmarks.process import serve

BATCH, TOGETHER = 2048, 512


def missing() -> str:
    """Why it cannot be asked; empty if it can."""
    return "" if find_spec("llama_cpp") else "llama-cpp-python is not installed"


class Binding:
    """A loaded model, with a context for each number of sequences."""

    def __init__(self, path: Path, threads: int) -> None:
        import llama_cpp

        self._llama, self._threads, self._random = llama_cpp, threads, np.random.default_rng(0)
        llama_cpp.llama_backend_init()
        self._silence = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self._silence, None)
        model = llama_cpp.llama_model_load_from_file(bytes(path), llama_cpp.llama_model_default_params())
        assert model is not None
        self._model = model
        self._vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))

    def answer(self, request: dict[str, Any]) -> Any:
        """What is asked for."""
        do = request.pop("do")
        return getattr(self, do)(**request)

    def info(self) -> str:
        """What its library was built for, and uses."""
        return str(self._llama.llama_print_system_info().decode())

    def single(self) -> dict[str, float]:
        context = self._context(1, PROMPT)
        self._seconds(context, 1, 0, 64)
        self._clear(context)
        prompt = self._seconds(context, 1, 0, PROMPT)
        self._clear(context)
        decode = sum(self._seconds(context, 1, at, 1) for at in range(TOKENS))
        self._llama.llama_free(context)
        return {"prompt": PROMPT / prompt, "decode": TOKENS / decode}

    def batched(self, counts: list[int]) -> dict[str, float]:
        found = {}
        for count in counts:
            context = self._context(count, BEFORE + TOKENS)
            self._seconds(context, count, 0, BEFORE)
            seconds = sum(self._seconds(context, count, BEFORE + at, 1) for at in range(TOKENS))
            found[f"decode {count}"] = count * TOKENS / seconds
            self._llama.llama_free(context)
        return found

    def logits(self, ids: list[int], to: str) -> bool:
        """After each token of one sequence, which goes through the model as one batch."""
        context = self._context(1, len(ids))
        self._decode(context, [(token, at, 0, True) for at, token in enumerate(ids)])
        found = self._llama.llama_get_logits(context)
        np.save(to, np.ctypeslib.as_array(found, (len(ids), self._vocab)).copy())
        self._llama.llama_free(context)
        return True

    def _context(self, sequences: int, tokens: int) -> Any:
        wanted = self._llama.llama_context_default_params()
        wanted.n_ctx, wanted.n_seq_max = sequences * -(-tokens // 256) * 256, sequences
        wanted.n_batch, wanted.n_ubatch = BATCH, TOGETHER
        wanted.n_threads = wanted.n_threads_batch = self._threads
        context = self._llama.llama_init_from_model(self._model, wanted)
        assert context is not None
        return context

    def _clear(self, context: Any) -> None:
        self._llama.llama_memory_clear(self._llama.llama_get_memory(context), True)

    def _seconds(self, context: Any, sequences: int, start: int, count: int) -> float:
        ids = self._random.integers(self._vocab, size=(sequences, count))
        rows = [
            (int(ids[one, at]), start + at, one, at == count - 1) for one in range(sequences) for at in range(count)
        ]
        before = time.perf_counter()
        for at in range(0, len(rows), BATCH):
            self._decode(context, rows[at : at + BATCH])
        self._llama.llama_synchronize(context)
        return time.perf_counter() - before

    def _decode(self, context: Any, rows: list[tuple[int, int, int, bool]]) -> None:
        batch = self._llama.llama_batch_init(len(rows), 0, 1)
        batch.n_tokens = len(rows)
        for i, (token, position, sequence, wanted) in enumerate(rows):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, position, 1
            batch.seq_id[i][0], batch.logits[i] = ctypes.c_int32(sequence), wanted
        failed = self._llama.llama_decode(context, batch)
        self._llama.llama_batch_free(batch)
        assert failed == 0, failed


if __name__ == "__main__":
    serve(lambda: Binding(Path(sys.argv[1]), int(sys.argv[2])).answer)
