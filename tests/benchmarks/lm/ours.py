"""Cloister in a process of its own: `python -m tests.benchmarks.lm.ours FILE`, one JSON line for each request.

{"do": "single"}: tokens a second of a prompt, and of one sequence decoding
{"do": "batched", "counts"}: tokens a second of so many sequences decoding together
{"do": "load"}: seconds to load the language model, and the most bytes that were resident meanwhile
{"do": "memory"}: the same, and after a prompt and some tokens resident bytes: of this process, of keys and values
{"do": "logits", "ids", "to"}: logits after each token, as an .npy file
{"do": "night", "file", "forced"}: `night.Night` of the prompts in this file
{"do": "bandwidth"}: bytes a second that all threads read

Speeds are of the decoder by itself, as llama-bench and llama-batched-bench measure theirs: random tokens, no choosing.
"""

import mmap
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from engine.compiling import CODE
from engine.gguf import read
from engine.kernels.matmul.decoder import LAYOUT
from engine.models.decoders import PAGE, Decoder, Pages, load
from engine.models.stored import Arrays, stored
from tests.benchmarks.lm.night import FREE, LIMIT, SCHEMA, Night
from tests.benchmarks.lm.plan import BEFORE, PROMPT, TOKENS
from tests.benchmarks.process import serve


class Cloister:
    """A model file. The decoder is loaded for steps, the whole language model for the night."""

    def __init__(self, path: Path) -> None:
        self.path, self.random = path, np.random.default_rng(0)

    def answer(self, request: dict[str, Any]) -> Any:
        """What is asked for."""
        do = request.pop("do")
        return getattr(self, do)(**request)

    @cached_property
    def decoder(self) -> Decoder:
        file = read(self.path)

        def keep(make: Callable[[], Arrays]) -> Arrays:
            return stored(file.sha256, f"{LAYOUT}-{CODE}", make)[0]

        return load(file, keep)

    def single(self) -> dict[str, float]:
        self._step(self._pages(1, 64), *self._rows(1, 0, 64))  # compiled, and mapped
        prompt = self._seconds(self._pages(1, PROMPT), 1, 0, PROMPT)
        pages = self._pages(1, TOKENS)
        decode = sum(self._seconds(pages, 1, at, 1) for at in range(TOKENS))
        return {"prompt": PROMPT / prompt, "decode": TOKENS / decode}

    def batched(self, counts: list[int]) -> dict[str, float]:
        found = {}
        for count in counts:
            pages = self._pages(count, BEFORE + TOKENS)
            self._seconds(pages, count, 0, BEFORE)
            seconds = sum(self._seconds(pages, count, BEFORE + at, 1) for at in range(TOKENS))
            found[f"decode {count}"] = count * TOKENS / seconds
        return found

    def load(self) -> dict[str, float]:
        start = time.perf_counter()
        assert self.model.context
        return {"seconds": time.perf_counter() - start, "most": status("VmHWM")}

    def memory(self) -> dict[str, float]:
        found = self.load()
        ids = self.random.integers(len(self.model._words.token_bytes), size=PROMPT, dtype=np.int32)
        list(self.model.generate([engine.Request(ids, TOKENS)]))
        whole = status("VmRSS")  # before it is asked which pages are there, which takes memory too
        pages, arrays = self.model._batch._cache.pages, self.model._batch._decoder._model  # type: ignore[attr-defined]
        kv = sum(map(resident, pages.arrays[:3]))
        return found | {"resident": whole, "kv": kv, "weights": sum(map(resident, arrays[:2]))}

    def logits(self, ids: list[int], to: str) -> bool:
        pages, found = self._pages(1, len(ids)), []
        rows, tables = np.array(ids, np.int32), self._tables(pages, 1)
        for at in range(0, len(ids), PAGE):
            part = rows[at : at + PAGE]
            own = np.arange(part.size, dtype=np.int32)
            found.append(self.decoder.step(part, own + np.int32(at), np.zeros_like(own), tables, pages, own).copy())
        np.save(to, np.concatenate(found))
        return True

    def night(self, file: str, forced: bool) -> dict[str, Any]:
        prompts = list(np.load(file).values())
        constraint = engine.Schema(SCHEMA) if forced else None
        requests = [engine.Request(ids, LIMIT if forced else FREE, constraint) for ids in prompts]
        list(self.model.generate([engine.Request(prompts[0][-99:], 4, constraint)]))
        start = time.perf_counter()
        done = [completion for _, completion in self.model.generate(requests)]
        seconds = time.perf_counter() - start
        ended = ("stopped",) if forced else ("stopped", "length")
        failed = sum(each.finish not in ended for each in done)
        computed = sum(each.prompt_tokens - each.shared_tokens for each in done)
        return asdict(Night(len(done), seconds, sum(each.ids.size for each in done), failed, computed))

    @cached_property
    def model(self) -> engine.LanguageModel:
        return engine.load_decoder(self.path)

    def bandwidth(self) -> float:
        works = [engine.bench.reading() for _ in range(engine.threads())]
        with ThreadPoolExecutor(len(works)) as pool:
            rates = []
            for _ in range(4):
                start = time.perf_counter()
                list(pool.map(lambda work: work.run(2), works))
                rates.append(2 * sum(work.read_bytes for work in works) / (time.perf_counter() - start))
        return max(rates)

    def _pages(self, sequences: int, tokens: int) -> Pages:
        return self.decoder.pages(sequences * -(-tokens // PAGE))

    def _tables(self, pages: Pages, sequences: int) -> Any:
        return np.arange(pages.count, dtype=np.int32).reshape(sequences, -1)

    def _rows(self, sequences: int, start: int, count: int) -> tuple[Any, Any, Any, int]:
        places = np.tile(np.arange(start, start + count, dtype=np.int32), sequences)
        ids = self.random.integers(self.decoder.shape.vocab, size=places.size, dtype=np.int32)
        return ids, places, np.repeat(np.arange(sequences, dtype=np.int32), count), sequences

    def _step(self, pages: Pages, ids: Any, places: Any, sequences: Any, count: int) -> None:
        wanted = np.arange(1, count + 1, dtype=np.int32) * np.int32(ids.size // count) - np.int32(1)
        self.decoder.step(ids, places, sequences, self._tables(pages, count), pages, wanted)

    def _seconds(self, pages: Pages, sequences: int, start: int, count: int) -> float:
        rows = self._rows(sequences, start, count)
        before = time.perf_counter()
        self._step(pages, *rows)
        return time.perf_counter() - before


def status(name: str, process: str = "self") -> int:
    """Bytes that /proc says of a process: VmRSS is what is in RAM, mapped files included, VmHWM the most of it."""
    return 1024 * int(Path(f"/proc/{process}/status").read_text().split(f"{name}:")[1].split()[0])


def resident(array: NDArray[Any]) -> int:
    """Bytes of an array that are in RAM."""
    first, page = array.ctypes.data, mmap.PAGESIZE
    with Path("/proc/self/pagemap").open("rb") as file:
        file.seek(first // page * 8)
        entries = np.frombuffer(file.read((-(-(first + array.nbytes) // page) - first // page) * 8), np.uint64)
    return int((entries >> np.uint64(63)).sum()) * page


if __name__ == "__main__":
    serve(lambda: Cloister(Path(sys.argv[1])).answer)
