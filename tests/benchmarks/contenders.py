"""Who embeds texts: our engine on each instruction set, and its peers where they are installed.

Each maker gets the number of threads and returns a function that embeds token ids, one int64 array a text, as one
batch: vectors of unit length, float32 [texts, width]. Peers pad a batch to its longest text and mask the padding, as
their users do. Models: CLOISTER_MODEL (our Q8_0 file) and CLOISTER_MINILM (the original folder).
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = Sequence[NDArray[np.int64]]
Embed = Callable[[Ids], NDArray[np.float32]]


def cloister(threads: int) -> Embed:
    """CLOISTER_ISA and CLOISTER_THREADS are set for this process."""
    import engine
    from engine.batches import Text

    model = engine.load(os.environ["CLOISTER_MODEL"])
    assert engine.threads() == threads

    def embed(ids: Ids) -> NDArray[np.float32]:
        return model._run([Text(each.astype(np.int32), np.zeros(each.size, np.int32)) for each in ids])[0]

    return embed


def padded(ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids and mask [texts, longest]."""
    mask = np.arange(max(each.size for each in ids)) < np.array([[each.size] for each in ids])
    out = np.zeros(mask.shape, np.int64)
    out[mask] = np.concatenate(ids)
    return out, mask.astype(np.int64)


def unit(vectors: Any) -> NDArray[np.float32]:
    """Rows of length 1."""
    vectors = np.asarray(vectors, np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def torch_float32(threads: int) -> Embed:
    return _torch(threads, "float32")


def torch_bfloat16(threads: int) -> Embed:
    return _torch(threads, "bfloat16")


def _torch(threads: int, dtype: str) -> Embed:
    import torch

    torch.set_num_threads(threads)
    model = _bert().to(getattr(torch, dtype))

    def embed(ids: Ids) -> NDArray[np.float32]:
        tokens, mask = map(torch.from_numpy, padded(ids))
        with torch.inference_mode():
            states = model(tokens, attention_mask=mask).last_hidden_state.float()
            return unit((states * mask[:, :, None]).sum(1))

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

    def embed(ids: Ids) -> NDArray[np.float32]:
        tokens, mask = padded(ids)
        (states,) = session.run(None, {"ids": tokens, "mask": mask})
        return unit((states * mask[:, :, None].astype(np.float32)).sum(1))

    return embed


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
    """With flash attention, and no more tokens at a time than one text has: four times as fast as its defaults."""
    import llama_cpp

    models: dict[int, Any] = {}

    def embed(ids: Ids) -> NDArray[np.float32]:
        most = 128 if max(each.size for each in ids) <= 128 else 512
        if most not in models:
            models[most] = llama_cpp.Llama(
                os.environ["CLOISTER_MODEL"], embedding=True, verbose=False, flash_attn=True, n_threads=threads,
                n_threads_batch=threads, n_ctx=512, n_batch=most, n_ubatch=most, n_seq_max=32,
            )  # fmt: skip
        model = models[most]
        model.tokenize = lambda text, **_: ids[int(text)].tolist()  # texts are numbers of ids
        return unit(model.embed([str(i) for i in range(len(ids))]))

    return embed


OURS = {
    "cloister amx": cloister,
    "cloister avx512_vnni": cloister,
    "cloister avx2": cloister,
    "cloister portable": cloister,
}
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
PEER_BATCH = 32


def usable(name: str) -> bool:
    """Whether this CPU has what ours needs, or what this peer needs is installed and the original model named."""
    if name in OURS:
        return _has_isa(name.split()[-1])
    return "CLOISTER_MINILM" in os.environ and all(find_spec(package) for package in NEEDS[name.split()[0]])


def _has_isa(isa: str) -> bool:
    from engine.cpu import ISAS, cpu_flags

    return ISAS[isa] <= cpu_flags()


def batches(name: str, ids: Ids) -> list[Ids]:
    """As texts of mixed lengths reach a contender: ours makes its own blocks, peers get PEER_BATCH at a time."""
    return [ids] if name in OURS else [ids[i : i + PEER_BATCH] for i in range(0, len(ids), PEER_BATCH)]
