"""The original model, CLOISTER_MINILM, in the forms that its peers read: of any number of texts and tokens.

Integer forms are made as a user makes them: by the quantizer that comes with the runtime, its defaults for
transformers, and the more exact of two settings where both are as fast.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.texts import read_set

FOLDER = "CLOISTER_BENCH_FOLDER"
"""Names the folder of a run: its texts, and the forms that one contender made and others need too."""


def bert() -> Any:
    """The module of transformers."""
    from transformers import BertModel

    return BertModel.from_pretrained(os.environ["CLOISTER_MINILM"]).eval()


def onnx(*, int8: bool) -> bytes:
    """With onnxruntime's dynamic quantization: a scale a column of weights, for one a matrix is far less exact."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        plain, small = Path(folder) / "plain.onnx", Path(folder) / "int8.onnx"
        axes = {0: "texts", 1: "tokens"}
        torch.onnx.export(
            *_to_export(), str(plain), input_names=["ids", "mask"], output_names=["states"],
            dynamic_axes={"ids": axes, "mask": axes, "states": axes}, opset_version=17, dynamo=False,
        )  # fmt: skip
        if int8:
            quantize_dynamic(plain, small, weight_type=QuantType.QInt8, per_channel=True)
        return (small if int8 else plain).read_bytes()


def openvino(*, int8: bool) -> Any:
    """An openvino.Model, with NNCF's post-training quantization for transformers: half a minute, so it is kept."""
    from openvino import Core, save_model

    file = Path(os.environ[FOLDER]) / ("openvino-int8.xml" if int8 else "openvino.xml")
    if not file.exists():
        save_model(_calibrated(openvino(int8=False)) if int8 else _converted(), file, compress_to_fp16=False)
    return Core().read_model(file)


def _converted() -> Any:
    import torch
    from openvino import convert_model

    module, example = _to_export()
    with torch.inference_mode():
        return convert_model(module, example_input=example)


def _calibrated(plain: Any) -> Any:
    import nncf

    texts = read_set(str(Path(os.environ[FOLDER]) / "sets.npz"), "calibration")
    batches = nncf.Dataset([(ids[None], np.ones_like(ids[None])) for ids in texts])
    return nncf.quantize(plain, batches, model_type=nncf.ModelType.TRANSFORMER, subset_size=len(texts))


def _to_export() -> tuple[Any, tuple[Any, Any]]:
    """A module whose arguments go by position, which BertModel's do not, and an example of them, with padding. It makes
    of the mask what attention adds, for what transformers makes of it is traced away or not at all by some versions."""
    import torch

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert()

        def forward(self, ids: Any, mask: Any) -> Any:
            added = (1.0 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
            return self.bert(input_ids=ids, attention_mask=added).last_hidden_state

    mask = torch.ones((2, 8), dtype=torch.int64)
    mask[1, 5:] = 0
    return States(), (torch.ones_like(mask), mask)
