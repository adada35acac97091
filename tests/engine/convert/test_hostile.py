"""Any part of any JSON file of the folder replaced by something else: a file comes of it, or one EngineError."""

import copy
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from engine.convert import import_model
from engine.errors import BadModelFile, EngineError

REPLACEMENTS: list[Any] = [None, True, -1, 2**70, 1.5, "x", "\0\ud800", [], ["x"], [[]], {}, {"x": 1}]
FILES = ["config.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "tokenizer_config.json"]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all parts of a JSON value, itself included; of a vocabulary only the first items."""
    yield at
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, item in items[:20]:
        yield from places(item, (*at, key))


def replaced(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    result = copy.deepcopy(value)
    part = result
    for key in at[:-1]:
        part = part[key]
    part[at[-1]] = new
    return result


def test_every_part_replaced(tiny_folder: Callable[..., Path], tmp_path: Path) -> None:
    folder = tiny_folder()
    tokens = (folder / "vocab.txt").read_text().split()
    tokenizer = Tokenizer(models.WordPiece({token: n for n, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.add_special_tokens(tokens[:5])
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    (folder / "tokenizer.json").write_text(tokenizer.to_str())
    for name in [*FILES, "tokenizer.json"]:
        whole = json.loads((folder / name).read_text())
        for number, at in enumerate(places(whole)):
            for new in (REPLACEMENTS[number % 12], REPLACEMENTS[(number + 5) % 12]):
                (folder / name).write_text(json.dumps(replaced(whole, at, new)))
                with suppress(EngineError):
                    import_model(folder, tmp_path / "f", name="tiny")
        (folder / name).write_text(json.dumps(whole))


@pytest.mark.parametrize("layers", [3, 38, 1_000_000])
def test_more_layers_than_the_file_holds_are_refused_before_they_are_listed(
    tiny_folder: Callable[..., Path], tmp_path: Path, layers: int
) -> None:
    folder = tiny_folder()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": layers}))
    tracemalloc.start()
    try:
        with pytest.raises(BadModelFile, match=f"num_hidden_layers: found {layers}, expected at most 2"):
            import_model(folder, tmp_path / "f", name="tiny")
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()
