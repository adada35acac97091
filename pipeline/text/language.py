"""The language of a text, by its script and its commonest words; None rather than a guess."""

import re
from collections import Counter

# The words that make up about a third of any running text in each language (ISO 639-1).
_WORDS = {
    "en": "the of and to in is that for it was on are as with be this by have from or at not your we you will which",
    "de": "der die und das ist nicht ein eine von mit den dem des im für auf wir sie sich zu werden auch oder als bei",
    "fr": "le la les et des est un une du que pour dans qui sur nous vous pas avec ce sont au par votre aux cette",
    "es": "el los las y que es un una del por con para se no su al como más este está son lo sus pero nos",
    "it": "il che di è un una per con non del della si sono gli nel alla dei da più anche le ha questo lo ed",
    "nl": "de het een en van is dat niet op te zijn met voor die wij aan er door als ook bij naar deze wordt uw",
    "pt": "o que e do da em um uma para com não os no na por se mais as dos como foi ao são sua pelo",
    "pl": "i w na nie się z do to jest że o jak po przez dla za od są oraz tym które być lub przy pan",
    "sv": "och att det som en på är av för med den till inte om har de ett vi kan från ska var eller vid",
    "da": "og at det er en af til på den for med ikke de som har et vi kan fra der om skal eller ved var",
    "cs": "a je se na v že to s z do o pro jako za jsou by nebo ve po od který při které aby podle",
    "tr": "ve bir bu için ile da de olarak daha olan çok gibi en sonra kadar veya her ne var ancak değil",
}
_LANGUAGES_OF = {
    word: [name for name, words in _WORDS.items() if word in words.split()]
    for text in _WORDS.values()
    for word in text.split()
}
# Letters by fixed ranges, not by Python's tables, which change with its version. Language of the script -> its letters.
_LETTERS = {
    name: re.compile(f"[{ranges}]")
    for name, ranges in {
        "ja": r"\u3040-\u30ff",  # Hiragana, Katakana
        "ko": r"\u1100-\u11ff\uac00-\ud7a3",
        "zh": r"\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff",
        "ru": r"\u0400-\u052f",
        "el": r"\u0370-\u03ff\u1f00-\u1fff",
        "ar": r"\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefe",  # U+FEFF is no letter
        "he": r"\u0590-\u05ff",
        "th": r"\u0e00-\u0e7f",
        "hi": r"\u0900-\u0963\u0966-\u097f",  # the stops U+0964 and U+0965 are those of Bengali, too
        None: r"A-Za-z\u00c0-\u024f\u1e00-\u1eff"  # Latin; then scripts that stand for no language here
        r"\u0530-\u058f\u0700-\u074f\u0780-\u089f\u0980-\u0dff\u0e80-\u10ff\u1200-\u1dff",
    }.items()
}
_SAMPLE = 20_000  # characters looked at


def language(text: str) -> str | None:
    """ISO 639-1 code of the language most of `text` (its beginning) is written in; None when that is not clear."""
    sample = text[:_SAMPLE]
    return _by_script(sample) or _by_words(sample)


def _by_script(sample: str) -> str | None:
    found = {name: len(letters.findall(sample[:2000])) for name, letters in _LETTERS.items()}
    total = sum(found.values())
    if found["ja"] > 0.1 * total:  # Japanese mixes kana with Chinese characters
        return "ja"
    best, count = max(found.items(), key=lambda item: item[1])
    return best if count > 0.5 * total else None


def _by_words(sample: str) -> str | None:
    votes: Counter[str] = Counter()
    for word in sample.lower().split():
        for name in _LANGUAGES_OF.get(word.strip(".,;:!?()\"'"), ()):
            votes[name] += 1
    ranked = votes.most_common(2)
    if not ranked or ranked[0][1] < 3:
        return None
    return ranked[0][0] if len(ranked) == 1 or ranked[0][1] >= 1.25 * ranked[1][1] else None
