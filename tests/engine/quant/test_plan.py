"""Which type each tensor gets, against what llama.cpp chose."""

import json
from pathlib import Path

import pytest

from engine.gguf import GgmlType, read
from engine.quant.mixes import MIXES, Choice, plan
from tests.engine.quant.models import SHAPES, Shape, llama_types, summary, write_model

RECORDED = json.loads((Path(__file__).parents[2] / "golden" / "llama_mixes.json").read_text())


@pytest.mark.parametrize("name", SHAPES)
def test_the_types_that_llama_cpp_recorded(name: str, tmp_path: Path) -> None:
    file = read(write_model(tmp_path / "f", SHAPES[name]))
    for mix, recorded in RECORDED[name].items():
        assert summary({each: choice.type for each, choice in plan(file, MIXES[mix]).items()}) == recorded, mix


@pytest.mark.parametrize("name", SHAPES)
def test_the_types_that_llama_cpp_chooses(name: str, tmp_path: Path) -> None:
    path = write_model(tmp_path / "f", SHAPES[name])
    for mix, recorded in RECORDED[name].items():
        assert summary(llama_types(path, tmp_path / "out", MIXES[mix].number)) == recorded, mix


def test_every_mix_of_every_model_is_recorded() -> None:
    assert {name: set(mixes) for name, mixes in RECORDED.items()} == {name: set(MIXES) for name in SHAPES}


def test_what_fell_back_says_what_was_wanted(tmp_path: Path) -> None:
    file = read(write_model(tmp_path / "f", Shape(1, width=96)))
    chosen = plan(file, MIXES["q4_k_s"])
    assert chosen["blk.0.attn_q.weight"] == Choice(GgmlType.Q5_0, wanted=GgmlType.Q4_K)
    assert chosen["blk.0.ffn_down.weight"] == Choice(GgmlType.Q4_K, wanted=GgmlType.Q4_K)
    assert chosen["output.weight"] == Choice(GgmlType.Q8_0, wanted=GgmlType.Q6_K)
    assert chosen["output_norm.weight"] == Choice(GgmlType.F32, wanted=GgmlType.F32)
