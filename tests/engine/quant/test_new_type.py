"""A new quantization type is one file and one line in `quant.TYPES`: all that reads weights then computes with it."""

from pathlib import Path

import numpy as np
import pytest

import engine
from engine.errors import UnsupportedModel
from engine.gguf import GgmlType, read
from engine.models.decoders import load
from engine.quant import TYPES
from engine.quant.mixes import MIXES, Mix
from tests.decoders import pieces, write_decoder
from tests.engine.quant import ternary
from tests.engine.quant import test_types as meaning
from tests.engine.test_arithmetic import check
from tests.models import write_bert_folder
from tests.reference import decoders as truth

KIND = GgmlType.TQ2_0
SIZES = {"hidden_size": 256, "intermediate_size": 256}
COUNT = 40
"""Tokens, which take two pages."""


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TYPES, KIND, ternary)


@pytest.mark.usefixtures("known")
def test_the_tests_of_what_bytes_mean_hold_for_it() -> None:
    meaning.test_layout_is_the_tables(KIND)
    meaning.test_any_bytes_mean_what_they_mean_to_the_gguf_package(kind=KIND)
    meaning.test_random_blocks_mean_what_they_mean_to_the_gguf_package(KIND)
    meaning.test_every_half_as_a_scale(KIND)
    meaning.test_a_slice_of_rows_and_a_read_only_view(KIND)
    meaning.test_shapes(KIND)
    meaning.test_values_that_are_no_numbers_are_noticed(KIND, np.nan)
    meaning.test_same_bits_as_the_gguf_package(KIND, 0.02)


@pytest.mark.usefixtures("known")
def test_an_encoder_computes_with_it_by_the_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mix of the type, for whoever wants files of it, is one line more."""
    monkeypatch.setitem(MIXES, "tq2_0", Mix(KIND, 37))
    engine.import_model(write_bert_folder(tmp_path / "hf", width=256, inner=512, heads=4), tmp_path / "m", name="m")
    written = engine.quantize_model(tmp_path / "m", tmp_path / "q", mix="tq2_0")
    assert not written.fallbacks
    assert {each.type for each in read(tmp_path / "q").tensors.values()} >= {KIND}
    check(tmp_path / "q")


@pytest.mark.usefixtures("known")
def test_a_decoder_computes_with_it_near_the_reference(tmp_path: Path) -> None:
    path = write_decoder(tmp_path / "m", "llama", KIND, sizes=SIZES)
    model, slow = load(read(path), lambda make: make()), truth.Decoder(path)
    ids = np.random.default_rng(6).integers(3, len(pieces()), COUNT, dtype=np.int32)
    places, none, table = (
        np.arange(COUNT, dtype=np.int32),
        np.zeros(COUNT, np.int32),
        np.arange(2, dtype=np.int32)[None],
    )
    found = model.step(ids, places, none, table, model.pages(2), places)
    expected = slow.step(ids, places, none, table, slow.pages(2), places)
    assert expected.std() > 0.5
    assert np.abs(found - expected).max() < expected.std()


def test_a_file_of_an_unknown_type_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(TYPES, KIND, ternary)
        write_decoder(tmp_path / "m", "llama", KIND, sizes=SIZES)
    with pytest.raises(UnsupportedModel, match="found type TQ2_0, expected one of F32, F16"):
        load(read(tmp_path / "m"), lambda make: make())
