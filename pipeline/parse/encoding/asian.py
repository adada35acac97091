"""Which of the encodings of East Asia bytes are in, by how many of their characters people write often.

The lists have the characters of letters, invoices and contracts, and of names of files; kana count as often written.
They tell even a name of two characters, on which statistics of a language fail.
"""

import json
import re
from pathlib import Path

_KANA = "\u3041-\u3096\u30a1-\u30fc"
_LISTS = json.loads(Path(__file__).with_name("asia.json").read_text("utf-8"))
_CANDIDATES = {  # the first of those that read the same is named
    "cp932": _LISTS["japanese"] + _KANA, "euc_jp": _LISTS["japanese"] + _KANA, "gb18030": _LISTS["simplified"],
    "big5": _LISTS["traditional"], "cp949": _LISTS["korean"],
}  # fmt: skip
_OFTEN = {name: re.compile(f"[{often}]") for name, often in _CANDIDATES.items()}
_LETTERS = re.compile(
    "[\u3041-\u3096\u30a1-\u30fc\u3131-\u318e\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff61-\uff9f\ue000-\uf8ff]"
)
_LEAST, _CLEARLY = 0.5, 0.25  # of the letters that must be often written, and more than in the next encoding
_SAMPLE = 1 << 16


def often_written(data: bytes, errors: dict[str, str]) -> tuple[str, float] | None:
    """The encoding in which the letters of bytes are those that people write often, and a confidence from 0 to 0.95;
    None where none is clearly better. `errors`: how Python decodes an encoding, "strict" where nothing is said.
    """
    shares = []
    for name, often in _OFTEN.items():
        try:
            text = data[:_SAMPLE].decode(name, errors.get(name, "strict") if len(data) <= _SAMPLE else "replace")
        except UnicodeError:
            continue
        letters = "".join(_LETTERS.findall(text))
        beyond = sum(one > "\u00ff" for one in text)
        if letters and 2 * len(letters) >= beyond:
            shares.append((len(often.findall(letters)) / len(letters), name))
    shares.sort(reverse=True)
    (share, name), second = shares[0] if shares else (0.0, ""), shares[1][0] if len(shares) > 1 else 0.0
    if share < _LEAST or share - second < _CLEARLY:
        return None
    return name, min(0.95, round(0.5 + (share - second) / 2, 3))
