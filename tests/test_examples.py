"""The worked examples of the pages are run: a format and a quantization type, each one file and one line."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, quants

from engine import quant
from engine.gguf import BLOCKS, GgmlType
from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse import formats, sniff
from pipeline.parse.contract import Source
from pipeline.parse.limits import Limits
from tests.pages import ROOT, blocks


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Callable[[str, str], ModuleType]]:
    """example(page, name): the file that a page writes for a new member of a family"""
    made: list[str] = []

    def example(page: str, name: str) -> ModuleType:
        (code,) = (code for code in blocks(page, "python") if code.startswith(f'"""{name}'))
        path = tmp_path / f"example_{name.lower()}.py"
        path.write_text(code)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        made.append(path.stem)
        spec.loader.exec_module(module)
        return module

    yield example
    for name in made:
        del sys.modules[name]


def read(data: bytes, name: str) -> Parsed:
    """What a child does with a document."""
    source = Source(data, name, Limits())
    media_type = sniff.media_type_of(source)
    return formats.PARSERS[media_type].parse(source, media_type)


def test_a_format_is_one_file(example: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    page = "pipeline/parse/README.md"
    monkeypatch.setitem(formats.PARSERS, "text/x-ini", example(page, "INI"))
    (test,) = (code for code in blocks(page, "python") if code.startswith("def test_"))
    own: dict[str, Any] = {}
    exec(test, own)
    own["test_sections_are_headings"](read)
    with pytest.raises(DocumentError) as raised:
        read(b"no section = 1\n", "office.ini")
    assert raised.value.failure is Failure.CORRUPT


def test_a_quantization_type_is_one_file(example: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    kind, theirs = GgmlType.TQ2_0, GGMLQuantizationType.TQ2_0
    monkeypatch.setitem(quant.TYPES, kind, example("engine/README.md", "TQ2_0"))
    ours = quant.TYPES[kind]
    assert BLOCKS[kind] == (ours.BLOCK_VALUES, ours.BLOCK_BYTES)
    data = np.random.default_rng(0).integers(0, 256, (40, 5 * ours.BLOCK_BYTES), np.uint8)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = quants.dequantize(data, theirs)
    np.testing.assert_array_equal(ours.dequantize(data), expected)
    values = np.random.default_rng(1).standard_normal((7, 512)).astype(np.float32)
    values[3] = 0
    np.testing.assert_array_equal(ours.quantize(values), quants.quantize(values, theirs))


def test_the_architecture_that_is_shown_is_the_one_in_the_code() -> None:
    (shown,) = (each for each in blocks("engine/README.md", "python") if each.startswith('"qwen3"'))
    assert shown.strip() in (ROOT / "engine/models/decoders/architectures.py").read_text()
