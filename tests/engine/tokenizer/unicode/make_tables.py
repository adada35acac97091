"""Writes engine/tokenizer/unicode/tables.py and classes.py: `python -m tests.engine.tokenizer.unicode.make_tables`.

Every fact is asked of the `tokenizers` package, one code point at a time, because that package is what models are
trained and published with, and its Unicode facts come from several versions of the standard at once. So the tables
are neither of a Python version's `unicodedata` nor of one Unicode version; test_normalize.py and test_classes.py
compare them, over all code points, with the package that is installed.
"""

import textwrap
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from pathlib import Path

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

from tests.engine.tokenizer.charsmaps import charsmap

FOLDER = Path(__file__).parents[4] / "engine/tokenizer/unicode"
SURROGATES = range(0xD800, 0xE000)
HANGUL = range(0xAC00, 0xD7A4)
CODE_POINTS = [number for number in range(0x110000) if number not in SURROGATES]

TITLES = {
    "tables.py": "Tables of BERT's normalizer for all code points, and of those that NFC composes again",
    "classes.py": "Letters, numbers, white space, parts of words by case, and what belongs to one grapheme",
}
HEADER = '''"""{title}.

Made by tests/engine/tokenizer/unicode/make_tables.py of facts of the `tokenizers` package, version {version}. All
numbers are hexadecimal code points.
"""

'''
NOTES = {
    "REMOVED": "dropped: control, format, private use, U+FFFD, and lone surrogates, which that package is never given",
    "SPACE": "becomes a space",
    "CHINESE": "gets a space on either side",
    "PUNCTUATION": "a word of its own",
    "MARKS": "non-spacing, dropped where accents are stripped",
    "ORDER": "canonical order of marks: rank = marks; one that is not here has none",
    "DECOMPOSED": "canonical decompositions without Hangul: code point = its result, that of the next one, and so on",
    "LOWER": "first-last/step and the distance to lower case, or = the result",
    "EXCLUDED": "decomposed, and not composed again by NFC",
    "NUMBERS": "numbers of any kind: {N}",
    "CAPITALS": "capital letters, and two in one that begin with a capital: {Lu} {Lt}",
    "SMALL": "small letters: {Ll}",
    "CASELESS": "letters without case: {Lm} {Lo}",
    "ATTACHED": "marks, {M}, that belong to the grapheme before them",
    "UNATTACHED": "marks that do not",
    "WHITE_SPACE": "white space, which pre-tokenizers split at",
    "EXTENDING": "belongs to the grapheme before it, though it is no mark",
    "JOINING": "belongs to the grapheme after it",
    "APART": "nothing joins it",
}
FOOTERS = {
    "tables.py": "",
    "classes.py": '''
LETTERS = CAPITALS + SMALL + CASELESS
"""Letters, as regular expressions have them: {L}."""
HEADS = CAPITALS + CASELESS + ATTACHED + UNATTACHED
"""Capital letters, letters without case, marks: {Lu} {Lt} {Lm} {Lo} {M}."""
TAILS = SMALL + CASELESS + ATTACHED + UNATTACHED
"""Small letters, letters without case, marks: {Ll} {Lm} {Lo} {M}."""
JOINED = ATTACHED + EXTENDING
"""What belongs to the grapheme before it."""
''',
}
HEADS, TAILS = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
ACUTE = "\u0301"


def bert(**options: bool) -> Callable[[str], str]:
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**off | options).normalize_str


def ranges(numbers: Iterable[int], step: int = 1) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - step:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def show(first: int, last: int) -> str:
    return f"{first:x}" if first == last else f"{first:x}-{last:x}"


def show_all(numbers: Iterable[int]) -> str:
    return " ".join(show(*span) for span in ranges(numbers))


def show_cases(numbers: Iterable[int]) -> str:
    """As `show_all`, but what takes turns with something else is one range in steps of two: capitals do with small
    letters."""
    left, spans = set(numbers), []
    for first, last in ranges(left, 2):
        if last - first >= 6:
            left -= set(range(first, last + 1, 2))
            spans.append((first, f"{show(first, last)}/2"))
    spans += [(first, show(first, last)) for first, last in ranges(left)]
    return " ".join(text for _, text in sorted(spans))


def changed(function: Callable[[str], str]) -> dict[int, str]:
    results = {number: function("x" + chr(number) + "x")[1:-1] for number in CODE_POINTS}
    return {number: result for number, result in results.items() if result != chr(number)}


def show_lower(lower: dict[int, str]) -> str:
    groups: dict[int, list[int]] = {}
    for number, result in lower.items():
        if len(result) == 1:
            groups.setdefault(ord(result) - number, []).append(number)
    spans = []
    for delta, numbers in groups.items():
        for step in (1, 2):
            for first, last in ranges(numbers, step):
                if step == 2 or last - first >= 2:
                    numbers = [number for number in numbers if number not in range(first, last + 1, step)]
                    spans.append((first, last, step, delta))
    texts = [
        show(first, last) + ("/2" if step == 2 and last > first else "") + f"{delta:+x}"
        for first, last, step, delta in sorted(spans)
    ]
    return " ".join(texts + [f"{number:x}={points(text)}" for number, text in lower.items() if len(text) > 1])


def points(text: str) -> str:
    return ".".join(f"{ord(c):x}" for c in text)


def show_decomposed(decomposed: dict[int, str]) -> str:
    return " ".join(
        f"{first:x}= " + " ".join(points(decomposed[number]) for number in range(first, last + 1))
        for first, last in ranges(decomposed)
    )


def show_order(nfd: Callable[[str], str]) -> str:
    """Ranks by comparison: of two marks with different classes, the one of the lower class comes first after NFD."""
    low, high = "\u0316", "\u0301"  # classes 220 and 230: every class is below the one or above the other

    def has_rank(c: str) -> bool:
        return nfd(c) == c and (nfd(high + c)[0] != high or nfd(c + low)[0] == low)

    ranked = sorted({low, high, *filter(has_rank, map(chr, CODE_POINTS))})

    def compare(a: str, b: str) -> int:
        return 1 if nfd(a + b) == b + a != a + b else -1 if nfd(b + a) == a + b != b + a else 0

    classes: list[list[str]] = []
    for mark in sorted(ranked, key=cmp_to_key(compare)):
        if classes and compare(classes[-1][0], mark) == 0:
            classes[-1].append(mark)
        else:
            classes.append([mark])
    return " ".join(f"{rank:x}= {show_all(map(ord, members))}" for rank, members in enumerate(classes, 1))


def members(pattern: str) -> list[int]:
    """The code points that a regular expression matches."""
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    kept = {
        c for start in range(0, 0x110000, 1 << 14) for part in split.pre_tokenize_str(block(start)) for c in part[0]
    }
    return [number for number in CODE_POINTS if chr(number) not in kept]


def block(start: int) -> str:
    return "".join(map(chr, filter(lambda number: number not in SURROGATES, range(start, start + (1 << 14)))))


def replaces(key: str) -> Callable[[str], str]:
    """A map of one key to "!". A grapheme of less than six bytes that begins with the key becomes "!" as a whole."""
    return normalizers.Precompiled(charsmap({key: "!"})).normalize_str


def joined() -> list[int]:
    x = replaces("x")
    return [number for number in CODE_POINTS if x(f"x{chr(number)}") == "!"]


def joining() -> list[int]:
    return [number for number in CODE_POINTS if replaces(chr(number))(f"{chr(number)}x") == "!"]


def apart() -> list[int]:
    """Of those of up to three bytes: with a mark of two bytes, longer ones are never looked up as a whole."""
    return [n for n in CODE_POINTS if n < 0x10000 and replaces(chr(n))(chr(n) + ACUTE) == f"!{ACUTE}"]


def tables() -> dict[str, dict[str, str]]:
    clean = changed(bert(clean_text=True))
    nfd, nfc = normalizers.NFD().normalize_str, normalizers.NFC().normalize_str
    decomposed = {number: text for number, text in changed(nfd).items() if number not in HANGUL}
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    marks, extending = set(members(r"\p{M}")), set(joined())
    return {
        "tables.py": {
            "REMOVED": show_all([*SURROGATES, *(number for number, text in clean.items() if text == "")]),
            "SPACE": show_all(number for number, text in clean.items() if text == " "),
            "CHINESE": show_all(changed(bert(handle_chinese_chars=True))),
            "PUNCTUATION": show_all(number for number in CODE_POINTS if len(split(f"x{chr(number)}x")) == 3),
            "MARKS": show_all(number for number, text in changed(bert(strip_accents=True)).items() if text == ""),
            "ORDER": show_order(nfd),
            "DECOMPOSED": show_decomposed(decomposed),
            "EXCLUDED": show_all(number for number in decomposed if nfc(chr(number)) != chr(number)),
            "LOWER": show_lower(changed(bert(lowercase=True))),
        },
        "classes.py": {
            "CAPITALS": show_cases(members(r"[\p{Lu}\p{Lt}]")),
            "SMALL": show_cases(members(r"\p{Ll}")),
            "CASELESS": show_all(members(r"[\p{Lm}\p{Lo}]")),
            "ATTACHED": show_all(marks & extending),
            "UNATTACHED": show_all(marks - extending),
            "NUMBERS": show_all(members(r"\p{N}")),
            "WHITE_SPACE": show_all(members(r"\s")),
            "EXTENDING": show_all(extending - marks),
            "JOINING": show_all(joining()),
            "APART": show_all(apart()),
        },
    }


def format_module(name: str, found: dict[str, str]) -> str:
    parts = [HEADER.format(title=TITLES[name], version=tokenizers.__version__)]
    for table, text in found.items():
        lines = textwrap.wrap(text, 118, break_on_hyphens=False)
        body = "\n".join(lines)
        parts.append(f'# {NOTES[table]}\n{table} = """\n{body}\n"""\n\n')
    return "".join(parts).rstrip("\n") + "\n" + FOOTERS[name]


if __name__ == "__main__":
    for name, found in tables().items():
        (FOLDER / name).write_text(format_module(name, found))
