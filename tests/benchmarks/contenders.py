"""Who embeds texts: our engine on each instruction set, and its peers where they are installed.

Each maker gets the number of threads and returns a function that embeds token ids, one int64 array a text, as one
batch: vectors of unit length, float32 [texts, width]. Peers pad a batch to its longest text and mask the padding, as
their users do. Models: CLOISTER_MODEL (our Q8_0 file) and CLOISTER_MINILM (the original folder).
"""

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks import exports

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
    model = exports.bert().to(getattr(torch, dtype))

    def embed(ids: Ids) -> NDArray[np.float32]:
        tokens, mask = map(torch.from_numpy, padded(ids))
        with torch.inference_mode():
            states = model(tokens, attention_mask=mask).last_hidden_state.float()
            return unit((states * mask[:, :, None]).sum(1))

    return embed


def onnx_float32(threads: int) -> Embed:
    return _onnx(threads, int8=False)


def onnx_int8(threads: int) -> Embed:
    return _onnx(threads, int8=True)


def _onnx(threads: int, *, int8: bool) -> Embed:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(exports.onnx(int8=int8), options, providers=["CPUExecutionProvider"])

    def embed(ids: Ids) -> NDArray[np.float32]:
        tokens, mask = padded(ids)
        (states,) = session.run(None, {"ids": tokens, "mask": mask})
        return unit((states * mask[:, :, None].astype(np.float32)).sum(1))

    return embed


def openvino_int8(threads: int) -> Embed:
    return _openvino(threads, int8=True)


def openvino_bfloat16(threads: int) -> Embed:
    return _openvino(threads, int8=False)


def _openvino(threads: int, *, int8: bool) -> Embed:
    """One stream that all threads work for, and shapes as they come: every batch has another. What of the int8 model
    is no product of integers, OpenVINO computes in the precision that it chooses by itself."""
    import openvino

    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
    if not int8:
        settings["INFERENCE_PRECISION_HINT"] = "bf16"
    request = openvino.compile_model(exports.openvino(int8=int8), "CPU", settings).create_infer_request()

    def embed(ids: Ids) -> NDArray[np.float32]:
        tokens, mask = padded(ids)
        states = request.infer([tokens, mask])[0]
        return unit((states * mask[:, :, None].astype(np.float32)).sum(1))

    return embed


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
    "OpenVINO int8": openvino_int8,
    "OpenVINO bfloat16": openvino_bfloat16,
    "torch bfloat16": torch_bfloat16,
    "torch float32": torch_float32,
    "onnxruntime int8": onnx_int8,
    "onnxruntime float32": onnx_float32,
    "llama.cpp Q8_0": llama_cpp,
}
HELD = {
    "OpenVINO int8 (AVX2)": openvino_int8,
    "torch float32 (AVX2)": torch_float32,
}
"""Peers told to use no more than AVX2, on a CPU that has more. Others take what there is: onnxruntime, llama.cpp, and
in float32 OpenVINO, whose products are onnxruntime's."""
TO_AVX2 = {
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # of both
    "OV_CPU_MAX_ISA": "AVX2",  # OpenVINO's own kernels; wants the other to be the same
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
}
"""The environment of those."""
NEEDS = {
    "OpenVINO": ("openvino", "nncf", "torch", "transformers"),
    "torch": ("torch", "transformers"),
    "onnxruntime": ("onnxruntime", "onnx", "torch", "transformers"),
    "llama.cpp": ("llama_cpp",),
}
PEER_BATCH = 32


def usable(name: str) -> bool:
    """Whether this CPU has what ours needs, or what this peer needs is installed and the original model named; a peer
    is held to AVX2 where it would use more."""
    if name in OURS:
        return _has_isa(name.split()[-1])
    if name in HELD and not _has_isa("avx512_vnni"):
        return False
    return "CLOISTER_MINILM" in os.environ and all(find_spec(package) for package in NEEDS[name.split()[0]])


def _has_isa(isa: str) -> bool:
    from engine.cpu import ISAS, cpu_flags

    return ISAS[isa] <= cpu_flags()


def batches(name: str, ids: Ids) -> list[Ids]:
    """As texts of mixed lengths reach a contender: ours makes its own blocks, peers get PEER_BATCH at a time."""
    return [ids] if name in OURS else [ids[i : i + PEER_BATCH] for i in range(0, len(ids), PEER_BATCH)]
