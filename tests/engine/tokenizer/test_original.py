"""The imported all-MiniLM-L6-v2 against its original tokenizer.json in the `tokenizers` package.

Truncation and padding, which that file switches on, are off. Its special tokens are taken out, because the package
looks for them in the text before it normalizes, and here a document's text never becomes one: see test_wordpiece.py.
"""
# ruff: noqa: E501, RUF001

import json
import random
import re
import time
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Oracle

from engine.convert import import_model
from engine.gguf import read
from engine.tokenizer import Tokenizer, from_metadata

HARD = [
    "", " ", "\0", "\t\r\n", "a\0b", "a\x0cb\x0bc\x85d\x1ce", "\ufffd", "a\u200bb\u200db\ufeffc", "\ue000\U000f0000", "\u0378x\U000e0fff",
    "Straße ẞ ſtern İstanbul ISTANBUL ıi ΣΊΣΥΦΟΣ ς", "ﬁne ①② ½ ２０２６ Ⅷ", "naïve Ångström A\u030angstro\u0308m q\u0307\u0323 q\u0323\u0307",
    "The lease, dated 3rd of May—signed (in full) for €1.234,56; § 5 «oder» „nicht“?", "http://example.org/a_b?c=d&e=%20#f", "user@example.org",
    "我喜欢读书。東京都は日本の首都です。ｶﾀｶﾅ カタカナ 한국어 각각", "豈 \U0002f81a \U00020000 \U0002a700 \U0002b820", "مَرْحَبًا بالعالم ٠١٢٣", "שָׁלוֹם עוֹלָם",
    "สวัสดีครับ ภาษาไทยไม่มีช่องว่าง", "नमस्ते दुनिया हिन्दी", "Привет, мир! Ёлка ёж й", "Γειά σου Κόσμε", "ປະເທດລາວ", "မြန်မာ", "ኢትዮጵያ", "ᏣᎳᎩ ꭰ", "ქართული ᲐᲑᲒ",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️ ☃", "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘", "a" * 100, "a" * 101, "ab" * 5000, "é" * 60, "é" * 101, "漢" * 300,
    "-" * 50, "....!!!???", "$^`|~+<=>", "don't can't o'clock", "x\u2028y\u2029z\u3000w\u1680v\u180eu", "\u1d15e\U0001d15e\U0001d160 \u302e\u302f",
    "[UNK] [PAD] [CLS] x [SEP] [MASK]", "##ing ##s", "[unused5]", "\u2581the \u2581", "unaffable electroencephalographically",
]  # fmt: skip


@pytest.fixture(scope="module")
def ours(minilm: Path, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = tmp_path_factory.mktemp("model") / "minilm.gguf"
    import_model(minilm, path, name="minilm")
    return from_metadata(read(path).metadata)


@pytest.fixture(scope="module")
def oracle(minilm: Path) -> Oracle:
    settings = json.loads((minilm / "tokenizer.json").read_text())
    return Oracle.from_str(json.dumps(settings | {"truncation": None, "padding": None, "added_tokens": []}))


def check(ours: Tokenizer, oracle: Oracle, text: str) -> int:
    ids = ours.encode(text).tolist()
    expected = oracle.encode(text).ids
    assert ids == expected, ascii(text[:200])
    return len(ids)


def test_hard_texts(ours: Tokenizer, oracle: Oracle) -> None:
    for text in HARD:
        check(ours, oracle, text)


def test_mixtures_of_hard_texts(ours: Tokenizer, oracle: Oracle) -> None:
    draw = random.Random(7)
    letters = "".join(HARD)
    for _ in range(1500):
        check(ours, oracle, "".join(draw.choices(letters, k=draw.randint(1, 60))))


def test_naughty_strings(ours: Tokenizer, oracle: Oracle, data: Path) -> None:
    for text in json.loads((data / "vectors/naughty-strings/blns.json").read_text()):
        check(ours, oracle, text)


def test_texts_of_many_languages(ours: Tokenizer, oracle: Oracle, data: Path) -> None:
    """Also each file read as Latin-1, as a wrong guess of its encoding would give it."""
    total = 0
    for path in sorted((data / "documents/encodings").glob("*/*.txt")):
        named = re.match(r"(?:iso-8859|windows)-\d+|.*", path.parent.name)[0]
        for encoding in {"EUC-TW": "big5"}.get(named, named), "latin-1":
            total += check(ours, oracle, path.read_bytes().decode(encoding, "replace"))
    assert total > 50_000


def test_quick(ours: Tokenizer, data: Path) -> None:
    """The floor is far below the two million tokens a second that one core reaches: machines are busy."""
    text = (data / "vectors/naughty-strings/blns.txt").read_text()
    start = time.process_time()
    tokens = sum(ours.count(text) for _ in range(20))
    assert tokens / (time.process_time() - start) > 200_000
