"""Texts that are hard to cut into tokens, and some that tokenizers are trained on."""
# ruff: noqa: E501, RUF001

import json
import random
from pathlib import Path

from hypothesis import strategies as st

LEARNED = [
    "The tenant shall pay the rent on the first day of each month, in advance, to the landlord's account.",
    "This agreement is made between the parties named below; neither of them may disclose what it learns.",
    "Der Mieter zahlt die Miete am ersten Tag jedes Monats im Voraus. Die Kündigungsfrist beträgt drei Monate.",
    "Le locataire paie le loyer le premier jour de chaque mois; les charges sont à régler séparément, à l'échéance.",
    "Invoice no. 2026-0417: the total amount due is €1,234.56, payable within 30 days. Don't pay twice; we'll check.",
    "Договор аренды вступает в силу с момента подписания. 東京都は日本の首都です。契約書の写しを送ってください。",
    "한국어 문서도 읽습니다. नमस्ते दुनिया। مرحبا بالعالم. สวัสดีครับ",
    "def total(items):\n    return sum(item.price for item in items)\n\n\nprint(total([]))\t# nothing\n",
]

HARD = [
    "", " ", "  ", "\n", "\t\r\n", "a", " a", "a ", "  a  b   c ", "a\n\nb", "a \n b", "a\tb", "x\r\ny\rz", "\0", "a\0b", "\x0b\x0c\x85",
    "\x1c\x1d\x1e\x1f", "\xa0a\xa0\u2003b\u3000c\u200b", "\u2028x\u2029", "\ufeffBOM", "\u200d\u200c", "a\u00adb", "I'll we've don't it's he'd I'm they're",
    "I'LL WE'VE DON'T IT'S 'Sx '\u017fx", "l'échéance d’un", "naïve Ångström A\u030angstro\u0308m q\u0307\u0323 q\u0323\u0307", "e\u0301e\u0301\u0323", "\u0301a", "ﬁne ①② ½ ２０２６ Ⅷ ㎏",
    "ﬁ\u0301x ２\u0301 Ａ\u0300", "Straße ẞ ſtern İstanbul", "12345678 3.14 1,000,000 ٠١٢٣ ²³ ½", "東京都は日本の首都です。ｶﾀｶﾞﾅ", "가각힣 \u1100\u1161\u11a8 ㄱㅏ", "नमस्ते क्षत्रिय", "สวัสดีครับภาษาไทย",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️ ☃ 1️⃣", "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ab" * 300, "é" * 150, "漢" * 200, "-" * 70,
    "....!!!???", "$^`|~+<=>", "http://example.org/a_b?c=d&e=%20#f", "▁a ▁ ▁▁b a▁b", "Ġa Ċ", "豈\U0002f81a\U00020000", "\U000e0001\U000f0000\ue000\ufffd\uffff\u0378", "\u0600a \u06dd1", "م\u064eر\u0652ح", "שָׁלוֹם",
]  # fmt: skip

LETTERS = "".join(HARD) + "".join(LEARNED)

CONTROL = ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "<|endoftext|>"]

ANY_TEXT = st.lists(
    st.one_of(st.sampled_from(LETTERS), st.sampled_from(LETTERS), st.characters(exclude_categories=["Cs"])), max_size=40
).map("".join)


def mixtures(count: int) -> list[str]:
    """Characters of all these texts, drawn at random."""
    draw = random.Random(7)
    return ["".join(draw.choices(LETTERS, k=draw.randint(1, 60))) for _ in range(count)]


def naughty(data: Path) -> list[str]:
    return [
        text for text in json.loads((data / "vectors/naughty-strings/blns.json").read_text()) if text not in CONTROL
    ]
