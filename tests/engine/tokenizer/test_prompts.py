"""Prompts of template and content, against the `tokenizers` package where a rendered string is read as a whole."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer

from engine.tokenizer import Piece, from_metadata
from tests.engine.tokenizer import spm_models, test_bpe
from tests.engine.tokenizer.texts import ANY_TEXT, HARD, LEARNED

CONTROL = ["<|start|>", "<|end|>", "<|end|>x", "[INST]"]
SPACES = ["  ", "   ", "\n\n"]


def byte_pairs() -> tuple[Tokenizer, dict[str, Any]]:
    oracle = test_bpe.trained()
    changed = json.loads(oracle.to_str())
    changed["added_tokens"] = []
    return Tokenizer.from_str(json.dumps(changed)), test_bpe.metadata(
        oracle, [], tokenizer__ggml__add_bos_token=False, tokenizer__ggml__add_eos_token=False
    )


def with_tokens(
    found: tuple[Tokenizer, dict[str, Any]], added: list[str], control: list[str] = CONTROL
) -> tuple[Tokenizer, dict[str, Any]]:
    """Both sides get control tokens, and user-defined ones."""
    oracle, metadata = found
    size = len(metadata["tokenizer.ggml.tokens"])
    kinds = [*metadata["tokenizer.ggml.token_type"], *[3] * len(control), *[4] * len(added)]
    names = [*control, *added]
    oracle.add_tokens([AddedToken(name, normalized=False) for name in names])
    assert [oracle.token_to_id(name) for name in names] == list(range(size, size + len(names)))
    more: dict[str, Any] = {
        "tokenizer.ggml.tokens": metadata["tokenizer.ggml.tokens"] + names,
        "tokenizer.ggml.token_type": np.array(kinds, np.int32),
    }
    if "tokenizer.ggml.scores" in metadata:
        scores = metadata["tokenizer.ggml.scores"]
        more["tokenizer.ggml.scores"] = np.concatenate([scores, np.zeros(len(names), np.float32)])
    return oracle, metadata | more


KINDS = {
    "byte pairs": lambda: with_tokens(byte_pairs(), SPACES),
    "piece pairs": lambda: with_tokens(spm_models.trained(False), []),
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[Tokenizer, Any]:
    oracle, metadata = KINDS[request.param]()
    return oracle, from_metadata(metadata | {"tokenizer.ggml.add_bos_token": False})


def pieces(*texts: str) -> list[Piece]:
    """Template, content, template …"""
    return [Piece(text, at % 2 == 1) for at, text in enumerate(texts)]


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(st.one_of(ANY_TEXT, st.sampled_from([*SPACES, "\n", " "])), min_size=1, max_size=5))
def test_ids_are_those_of_the_rendered_text(pair: tuple[Tokenizer, Any], texts: list[str]) -> None:
    parts = [*pieces("<|start|>", *texts), Piece("<|end|>", False)]
    rendered = "".join(piece.text for piece in parts)
    assert pair[1].encode_pieces(parts).tolist() == pair[0].encode(rendered, add_special_tokens=False).ids


def test_longest_name_first_and_names_written_in_parts(pair: tuple[Tokenizer, Any]) -> None:
    oracle, ours = pair
    for text in ["<|end|>x<|end|>", "a<|start|><|start|> b", "<|<|end|>|>", *CONTROL]:
        expected = oracle.encode(text, add_special_tokens=False).ids
        assert ours.encode_pieces([Piece(text, False)]).tolist() == expected
        assert ours.encode_pieces([Piece(c, False) for c in text]).tolist() == expected


@pytest.mark.parametrize("name", [*CONTROL, "<s>", "</s>"])
def test_content_is_never_a_control_token(pair: tuple[Tokenizer, Any], name: str) -> None:
    ours = pair[1]
    control = set(ours.specials.control.values())
    halves = [Piece(name[:2], False), Piece(name[2:], True)]
    for parts in pieces("", name), pieces("", f"a{name} b"), pieces(" ", name, "x"), halves, halves[::-1]:
        ids = ours.encode_pieces(parts).tolist()
        assert not control & set(ids)
        assert ours.decode(ids) == "".join(piece.text for piece in parts)


def test_user_defined_words_are_found_in_templates_only() -> None:
    metadata = with_tokens(byte_pairs(), ["<think>", "  "])[1]
    ours = from_metadata(metadata)
    number = ours.specials.added["<think>"]
    assert number in ours.encode_pieces([Piece("a<think>b", False)])
    assert number not in ours.encode_pieces([Piece("a<think>b", True)])
    assert ours.specials.added["  "] in ours.encode_pieces([Piece("a  b", True)])


def test_beginning_of_text_once() -> None:
    metadata = byte_pairs()[1] | {"tokenizer.ggml.add_bos_token": True}
    ours = from_metadata(metadata)
    with_it = ours.encode_pieces([Piece("<s>The rent", False)]).tolist()
    assert ours.encode_pieces([Piece("The rent", False)]).tolist() == with_it
    assert with_it.count(0) == 1
    assert ours.encode_pieces([]).tolist() == [0]
    assert ours.encode_pieces([Piece("<s>", True)]).tolist().count(0) == 1
    none = from_metadata(metadata | {"tokenizer.ggml.add_bos_token": False})
    assert none.encode_pieces([Piece("The rent", False)]).tolist() == with_it[1:]
    assert none.prompt_sha256 != ours.prompt_sha256


def test_a_space_before_each_text_or_the_first() -> None:
    """Llama 2 puts one after each control token; Mistral's later files, which have [INST], at the beginning only."""
    oracle, metadata = spm_models.trained(True)
    text = " ".join(LEARNED[:2])
    body = oracle.encode(text).ids
    parts = [Piece("<s>", False), Piece(text, True), Piece("</s>", False), Piece(text, True)]
    each = from_metadata(metadata)
    assert each.encode_pieces(parts).tolist() == [1, *body, 2, *body]
    later = from_metadata(with_tokens((oracle, metadata), [])[1])
    without = from_metadata(metadata | {"tokenizer.ggml.add_space_prefix": False}).encode(text)[1:].tolist()
    assert without != body
    assert later.encode_pieces(parts).tolist() == [1, *without, 2, *without]
    assert later.encode_pieces(parts[1:2]).tolist() == [1, *body]


def test_tokens_of_phi_3_take_the_white_space_after_them() -> None:
    metadata = with_tokens(spm_models.trained(True), [], CONTROL[:2])[1] | {"general.architecture": "phi3"}
    ours = from_metadata(metadata | {"tokenizer.ggml.add_bos_token": False})
    number = ours.specials.control["<|start|>"]
    expected = [number, *ours.encode_pieces([Piece("The rent", True)]).tolist()]
    for parts in (
        pieces("<|start|>\n", "The rent"),
        pieces("<|start|>", "\n\tThe rent"),
        pieces("<|start|> ", " ", "The rent"),
    ):
        assert ours.encode_pieces(parts).tolist() == expected
    kept = ours.encode_pieces(pieces("<s>\n", "The rent")).tolist()
    assert ours.decode(kept[1:]) == " \nThe rent"


def test_prompts_of_one_instruction_begin_with_the_same_ids(pair: tuple[Tokenizer, Any]) -> None:
    """All but the last part before the document, which the document may reach into."""
    instruction = "<|start|>" + " ".join(LEARNED)
    found = [pair[1].encode_pieces(pieces(instruction + "\n", text, "<|end|>")).tolist() for text in HARD if text]
    alone = pair[1].encode_pieces(pieces(instruction)).tolist()
    for ids in found:
        assert ids[: len(alone) - 20] == alone[:-20]
