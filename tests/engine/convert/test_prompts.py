"""What a model was trained to read before queries and documents: from the folder into the file, and out of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.gguf import TensorSource, read, write

Folder = Callable[..., Path]
NAME = "config_sentence_transformers.json"


def imported(folder: Path, out: Path) -> Path:
    engine.import_model(folder, out, file_type="f32", name="m")
    return out


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ({"query": "query: ", "passage": "passage: "}, ("query: ", "passage: ")),
        ({"query": "query: ", "document": "text: ", "passage": "passage: "}, ("query: ", "text: ")),
        ({"corpus": "c: ", "clustering": "cluster: "}, ("", "c: ")),
        ({"query": "", "document": ""}, ("", "")),
        (None, ("", "")),
    ],
)
def test_prompts_of_a_folder(prompts: Any, expected: tuple[str, str], tiny_folder: Folder, tmp_path: Path) -> None:
    folder = tiny_folder(files={NAME: {"prompts": prompts, "default_prompt_name": None}})
    path = imported(folder, tmp_path / "m.gguf")
    head = engine.own_head_of(path)
    assert head
    assert (head.query, head.document) == expected
    keys = {key for key in read(path).metadata if key.startswith("cloister.prompt.")}
    roles = zip(("query", "document"), expected, strict=True)
    assert keys == {f"cloister.prompt.{role}" for role, text in roles if text}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({NAME: {"prompts": {"query": 3}}}, "prompts: found .* expected texts of at most 1000"),
        ({NAME: {"prompts": {"query": "q" * 1001}}}, "prompts: found .* expected texts of at most 1000"),
        (
            {
                NAME: {"prompts": {"query": "q: "}},
                "1_Pooling/config.json": {
                    "word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "include_prompt": False,
                },
            },
            "found include_prompt False, expected True",
        ),
    ],
)  # fmt: skip
def test_prompts_that_are_refused(files: dict[str, Any], message: str, tiny_folder: Folder, tmp_path: Path) -> None:
    with pytest.raises((engine.BadModelFile, engine.UnsupportedModel), match=message):
        imported(tiny_folder(files=files), tmp_path / "m.gguf")


@pytest.mark.parametrize(("value", "message"), [(3, "cloister.prompt.query"), ("q" * 1001, "found 1001 characters")])
def test_a_file_with_a_bad_prompt(value: Any, message: str, tiny_folder: Folder, tmp_path: Path) -> None:
    file = read(imported(tiny_folder(), tmp_path / "m.gguf"))
    tensors = [
        TensorSource(name, tensor.type, tensor.shape, lambda data=tensor.data: [data])  # type: ignore[misc]
        for name, tensor in file.tensors.items()
    ]
    write(tmp_path / "bad.gguf", dict(file.metadata) | {"cloister.prompt.query": value}, tensors)
    with pytest.raises(engine.BadModelFile, match=message):
        engine.head_of(tmp_path / "bad.gguf")
