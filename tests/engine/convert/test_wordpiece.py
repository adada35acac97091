"""tokenizer.json beside vocab.txt: it must agree, and hold nothing that the engine does not do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from engine.convert import import_model
from engine.errors import EngineError
from engine.gguf import read
from engine.tokenizer import from_metadata

Folder = Callable[..., Path]


@pytest.fixture
def full(tiny_folder: Folder) -> dict[str, Any]:
    """The tokenizer.json of the tiny folder's vocabulary, as the `tokenizers` package writes it."""
    tokens = (tiny_folder("vocabulary") / "vocab.txt").read_text().split()
    tokenizer = Tokenizer(models.WordPiece({token: n for n, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.add_special_tokens(tokens[:5])
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    return dict(json.loads(tokenizer.to_str()))


def changed(full: dict[str, Any], part: str, **values: Any) -> dict[str, Any]:
    return full | {part: full[part] | values}


def test_agreement_and_either_file_alone(tiny_folder: Folder, tmp_path: Path, full: dict[str, Any]) -> None:
    digests = set()
    for name, files in {"both": {"tokenizer.json": full}, "vocab": {}, "json": {"tokenizer.json": full}}.items():
        folder = tiny_folder(name, files=files)
        if name == "json":
            (folder / "vocab.txt").unlink()
        import_model(folder, tmp_path / "f", name="tiny")
        digests.add(from_metadata(read(tmp_path / "f").metadata).sha256)
    assert len(digests) == 1


def test_bert_processing_is_the_same_template(tiny_folder: Folder, tmp_path: Path, full: dict[str, Any]) -> None:
    older = full | {"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}}
    import_model(tiny_folder(files={"tokenizer.json": older}), tmp_path / "f", name="tiny")


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("normalizer", {"type": "Lowercase"}, "normalizer.type: found 'Lowercase', expected 'BertNormalizer'"),
        ("normalizer", {"clean_text": False}, "clean_text: found False, expected True"),
        ("normalizer", {"lowercase": False}, "lowercase: found False, expected True"),
        ("normalizer", {"strip_accents": False}, "strip_accents: found False, expected True"),
        ("normalizer", {"handle_chinese_chars": False}, "handle_chinese_chars: found False, expected True"),
        ("pre_tokenizer", {"type": "Whitespace"}, "pre_tokenizer.type"),
        ("model", {"type": "BPE"}, "model.continuing_subword_prefix: found '##'"),
        ("model", {"type": "WordLevel"}, "model.type: found 'WordLevel', expected one of WordPiece, Unigram, BPE"),
        ("model", {"continuing_subword_prefix": "@@"}, "continuing_subword_prefix"),
        ("model", {"max_input_chars_per_word": 200}, "max_input_chars_per_word: found 200, expected 100"),
        ("model", {"vocab": {"a": 0}}, "vocab.txt unlike tokenizer.json"),
        ("model", {"vocab": [["a", 0.5]]}, "found no model.vocab"),
        ("post_processor", {"single": []}, "post_processor"),
        ("post_processor", {"single": [{"SpecialToken": {"id": "[CLS]"}}]}, "tokens of the vocabulary around one text"),
        ("post_processor", {"single": [{"SpecialToken": {"id": "[SEP]", "type_id": 0}}]}, "post_processor"),
        ("post_processor", {"type": "RobertaProcessing"}, "post_processor"),
    ],
)
def test_refused(
    tiny_folder: Folder, tmp_path: Path, full: dict[str, Any], part: str, values: dict[str, Any], message: str
) -> None:
    folder = tiny_folder(files={"tokenizer.json": changed(full, part, **values)})
    with pytest.raises(EngineError, match=message):
        import_model(folder, tmp_path / "f", name="tiny")


def test_added_tokens_are_refused(tiny_folder: Folder, tmp_path: Path, full: dict[str, Any]) -> None:
    more = full | {"added_tokens": [*full["added_tokens"], {"id": 71, "content": "<entity>"}]}
    with pytest.raises(EngineError, match=r"added_tokens: found .*<entity>"):
        import_model(tiny_folder(files={"tokenizer.json": more}), tmp_path / "f", name="tiny")


def test_settings_follow_the_configuration(tiny_folder: Folder, tmp_path: Path) -> None:
    config = {"do_lower_case": False, "strip_accents": None, "tokenize_chinese_chars": False}
    import_model(tiny_folder(files={"tokenizer_config.json": config}), tmp_path / "f", name="tiny")
    metadata = read(tmp_path / "f").metadata
    names = ("lower_case", "strip_accents", "chinese_chars")
    assert [metadata[f"cloister.tokenizer.{name}"] for name in names] == [False, False, False]


def test_half_characters_are_refused(tiny_folder: Folder, tmp_path: Path, full: dict[str, Any]) -> None:
    vocabulary = {token.replace("!", "\ud800"): number for token, number in full["model"]["vocab"].items()}
    folder = tiny_folder(files={"tokenizer.json": changed(full, "model", vocab=vocabulary)})
    (folder / "vocab.txt").unlink()
    with pytest.raises(EngineError, match="a surrogate"):
        import_model(folder, tmp_path / "f", name="tiny")
