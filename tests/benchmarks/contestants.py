"""Who takes part in the benchmark of encoders. Each runs in a process of its own, answering one line per request.

python -m tests.benchmarks.contestants NAME THREADS        reads {"texts": [...], "ids": [[...]]}, prints seconds
"""

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Batch = dict[str, Any]
Embed = Callable[[Batch], object]


def cloister(threads: int) -> Embed:
    import engine

    model = engine.load(os.environ["CLOISTER_MODEL"])
    return lambda batch: model.embed(batch["texts"])


def _torch_model(threads: int) -> Any:
    import torch
    from transformers import BertModel

    torch.set_num_threads(threads)
    return BertModel.from_pretrained(os.environ["CLOISTER_MINILM"]).eval()


def torch_float32(threads: int) -> Embed:
    import torch

    model = _torch_model(threads)

    def embed(batch: Batch) -> object:
        with torch.inference_mode():
            mean = model(torch.tensor(batch["ids"])).last_hidden_state.mean(1)
            return torch.nn.functional.normalize(mean.float())

    return embed


def torch_bfloat16(threads: int) -> Embed:
    import torch

    model = _torch_model(threads).to(torch.bfloat16)

    def embed(batch: Batch) -> object:
        with torch.inference_mode():
            mean = model(torch.tensor(batch["ids"])).last_hidden_state.mean(1)
            return torch.nn.functional.normalize(mean.float())

    return embed


def onnxruntime_int8(threads: int) -> Embed:
    import numpy as np
    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    folder = Path(os.environ["CLOISTER_BENCH_FOLDER"])
    plain, quantized = folder / f"{os.getpid()}.onnx", folder / f"{os.getpid()}-int8.onnx"
    torch.onnx.export(
        _torch_model(1), (torch.ones(1, 8, dtype=torch.int64),), plain, input_names=["ids"], output_names=["states"],
        dynamic_axes={"ids": {0: "n", 1: "t"}, "states": {0: "n", 1: "t"}}, dynamo=False,
    )  # fmt: skip
    quantize_dynamic(plain, quantized, weight_type=QuantType.QInt8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(quantized, options)

    def embed(batch: Batch) -> object:
        mean = session.run(["states"], {"ids": np.array(batch["ids"], np.int64)})[0].mean(1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    return embed


def llama_cpp_q8_0(threads: int) -> Embed:
    import llama_cpp

    model = llama_cpp.Llama(
        os.environ["CLOISTER_MODEL"], embedding=True, verbose=False, n_ctx=512, n_batch=512, n_ubatch=512,
        n_threads=threads, n_threads_batch=threads,
    )  # fmt: skip
    return lambda batch: model.embed(batch["texts"])


# name -> what makes it, the packages it needs
PEERS: dict[str, tuple[Callable[[int], Embed], tuple[str, ...]]] = {
    "torch float32": (torch_float32, ("torch", "transformers")),
    "torch bfloat16": (torch_bfloat16, ("torch", "transformers")),
    "onnxruntime int8": (onnxruntime_int8, ("onnxruntime", "onnx", "torch", "transformers")),
    "llama.cpp Q8_0": (llama_cpp_q8_0, ("llama_cpp",)),
}


def installed(name: str) -> bool:
    return all(find_spec(package) for package in PEERS[name][1])


def main(name: str, threads: int) -> None:
    """Make the contestant, say so, and then time what is asked for."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what the libraries print is no answer
    embed = PEERS[name][0](threads) if name in PEERS else cloister(threads)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        batch = json.loads(line)
        start = time.perf_counter()
        embed(batch)
        print(time.perf_counter() - start, file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
