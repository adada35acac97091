"""The language of a text, by its script and its commonest words; None rather than a guess."""

import unicodedata
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
_SCRIPTS = {
    "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CJK": "zh", "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar",
    "HEBREW": "he", "THAI": "th", "DEVANAGARI": "hi",
}  # fmt: skip
_SAMPLE = 20_000  # characters looked at


def language(text: str) -> str | None:
    """ISO 639-1 code of the language most of `text` (its beginning) is written in; None when that is not clear."""
    sample = text[:_SAMPLE]
    return _by_script(sample) or _by_words(sample)


def _by_script(sample: str) -> str | None:
    letters = [c for c in sample[:2000] if c.isalpha()]
    found = Counter(_SCRIPTS.get(unicodedata.name(c, "").split(" ")[0].split("-")[0]) for c in letters)
    if found["ja"] > 0.1 * len(letters):  # Japanese mixes kana with Chinese characters
        return "ja"
    best, count = max(found.items(), key=lambda item: item[1], default=(None, 0))
    return best if count > 0.5 * len(letters) else None


def _by_words(sample: str) -> str | None:
    votes: Counter[str] = Counter()
    for word in sample.lower().split():
        for name in _LANGUAGES_OF.get(word.strip(".,;:!?()\"'"), ()):
            votes[name] += 1
    ranked = votes.most_common(2)
    if not ranked or ranked[0][1] < 3:
        return None
    return ranked[0][0] if len(ranked) == 1 or ranked[0][1] >= 1.25 * ranked[1][1] else None
