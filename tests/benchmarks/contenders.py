"""Who embeds texts of a given length: our engine on each instruction set, and its peers where they are installed.

Each maker gets the number of threads and returns a function that embeds a batch of token ids, int64 [texts, tokens].
Models: CLOISTER_MODEL (our Q8_0 file) and CLOISTER_MINILM (the original folder).
"""

import os
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

Embed = Callable[[Any], Any]


def cloister(threads: int) -> Embed:
    """CLOISTER_ISA and CLOISTER_THREADS are set for this process."""
    import engine

    model = engine.load(os.environ["CLOISTER_MODEL"])
    network, size = model._network, threads
    assert engine.threads() == size
    return lambda ids: model._compute(list(ids.astype(np.int32)), np.zeros((len(ids), network.width), np.float32))


def torch_float32(threads: int) -> Embed:
    return _torch(threads, "float32")


def torch_bfloat16(threads: int) -> Embed:
    return _torch(threads, "bfloat16")


def _torch(threads: int, dtype: str) -> Embed:
    import torch

    torch.set_num_threads(threads)
    model = _bert().to(getattr(torch, dtype))

    def embed(ids: Any) -> Any:
        with torch.inference_mode():
            return model(torch.from_numpy(ids)).last_hidden_state.mean(1)

    return embed


def _bert() -> Any:
    from transformers import BertModel

    return BertModel.from_pretrained(os.environ["CLOISTER_MINILM"]).eval()


def onnx_float32(threads: int) -> Embed:
    return _onnx(threads, quantized=False)


def onnx_int8(threads: int) -> Embed:
    return _onnx(threads, quantized=True)


def _onnx(threads: int, *, quantized: bool) -> Embed:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(_export(quantized), options, providers=["CPUExecutionProvider"])
    return lambda ids: session.run(None, {"ids": ids, "mask": np.ones_like(ids)})


def _export(quantized: bool) -> bytes:
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    class States(torch.nn.Module):
        """The export passes arguments by position, which BertModel does not take."""

        def __init__(self) -> None:
            super().__init__()
            self.bert = _bert()

        def forward(self, ids: Any, mask: Any) -> Any:
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    with tempfile.TemporaryDirectory() as folder:
        plain, small = Path(folder) / "plain.onnx", Path(folder) / "int8.onnx"
        example = torch.ones((2, 8), dtype=torch.int64)
        axes = {0: "texts", 1: "tokens"}
        torch.onnx.export(
            States(), (example, example), str(plain), input_names=["ids", "mask"], output_names=["states"],
            dynamic_axes={"ids": axes, "mask": axes, "states": axes}, opset_version=17, dynamo=False,
        )  # fmt: skip
        if quantized:
            quantize_dynamic(plain, small, weight_type=QuantType.QInt8)
        return (small if quantized else plain).read_bytes()


def llama_cpp(threads: int) -> Embed:
    import llama_cpp

    model = llama_cpp.Llama(
        os.environ["CLOISTER_MODEL"], embedding=True, verbose=False, n_threads=threads, n_threads_batch=threads,
        n_ctx=512 * 32, n_batch=512 * 32, n_ubatch=512 * 4, n_seq_max=32,
    )  # fmt: skip
    words = "the "  # llama-cpp-python takes texts: one token a word

    def embed(ids: Any) -> Any:
        return model.embed([words * (ids.shape[1] - 2)] * len(ids))

    return embed


OURS = {"cloister avx512_vnni": cloister, "cloister avx2": cloister, "cloister portable": cloister}
PEERS = {
    "torch bfloat16": torch_bfloat16,
    "torch float32": torch_float32,
    "onnxruntime int8": onnx_int8,
    "onnxruntime float32": onnx_float32,
    "llama.cpp Q8_0": llama_cpp,
}
NEEDS = {
    "torch": ("torch", "transformers"),
    "onnxruntime": ("onnxruntime", "onnx", "torch", "transformers"),
    "llama.cpp": ("llama_cpp",),
}


def usable(peer: str) -> bool:
    """Whether what this peer needs is installed, and the models are named."""
    models = {"CLOISTER_MODEL", "CLOISTER_MINILM"} <= os.environ.keys()
    return models and all(find_spec(package) for package in NEEDS[peer.split()[0]])
