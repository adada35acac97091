"""Licences by their SPDX names: what a wheel states, and whether it may be given on without further duties.

    Apache-2.0 OR (BSD-3-Clause AND MIT)        `AND` binds more than `OR`, `WITH` most

A licence counts as permissive if it stands in PERMISSIVE; of an `OR` one side suffices. Before a licence is added, a
person reads it.
"""

import re
from email.message import Message
from typing import Final

PERMISSIVE: Final = frozenset(
    {
        "0BSD", "AFL-2.1", "Apache-2.0", "BlueOak-1.0.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause",
        "BSD-4-Clause-UC", "BSL-1.0", "CC0-1.0", "CNRI-Python", "FTL", "HPND", "HPND-sell-variant", "ICU",
        "IJG", "ISC", "JasPer-2.0", "libpng-2.0", "Libpng", "libtiff", "MIT", "MIT-0", "MIT-CMU", "NCSA",
        "OpenSSL", "PostgreSQL", "PSF-2.0", "Python-2.0", "Python-2.0.1", "SSLeay", "Unicode-3.0",
        "Unicode-DFS-2016", "Unlicense", "W3C", "WTFPL", "X11", "Zlib", "ZPL-2.1",
    }
)  # fmt: skip
# a licence that is not in the list, with an exception that takes its duties away from what is linked with it
PERMISSIVE_PAIRS: Final = frozenset({("GPL-3.0-or-later", "GCC-exception-3.1"), ("GPL-3.0-only", "GCC-exception-3.1")})
_LESS: Final = frozenset(
    {"LLVM-exception", "Classpath-exception-2.0", "GCC-exception-3.1"}
)  # these only take duties away
# what is written in old metadata -> its name in SPDX, or a name of its own where SPDX has several for it
STATED: Final = {
    "MIT License": "MIT",
    "The MIT License": "MIT",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "BSD-3-Clause, Apache-2.0, dependency licenses": "BSD-3-Clause AND Apache-2.0",  # texts name what is built in
}
BSD: Final = "BSD License"  # says not which of them; all that Python packages use it for are permissive
_BSD_WORDS: Final = frozenset({"BSD", "BSD License", "New BSD License", "BSD license"})
_OLD: Final = "License :: "
_TOKENS: Final = re.compile(r"\s*([()]|[A-Za-z0-9.+-]+)")
_MOST = 200  # characters of a statement that is no whole text


def stated(metadata: Message) -> str:
    """The licence that a package states: an SPDX expression, BSD, or whatever stands there; empty for nothing."""
    if told := metadata.get("License-Expression"):
        return str(told).strip()
    field = str(metadata.get("License") or "").strip()
    classified = [line for line in metadata.get_all("Classifier", []) if line.startswith(_OLD)]
    names = [line.rpartition(" :: ")[2] for line in classified if line.count(" :: ") > 1]
    for told in (field, *([] if len(names) != 1 else names)):
        if told in _BSD_WORDS:
            return BSD
        if (known := STATED.get(told, told)) and is_expression(known):
            return known
    return " ".join((field[:_MOST] or ", ".join(names)).split())


def is_expression(text: str) -> bool:
    """Whether it is an SPDX expression of names that are known here: one of the list, or one that is plainly a name."""
    try:
        found = licences(text)
    except ValueError:
        return False
    return all(name in PERMISSIVE or re.search(r"-\d", name) for name in found)


def is_permissive(text: str) -> bool:
    """Whether a licence, as `stated` tells it, is permissive."""
    if text == BSD:
        return True
    try:
        tokens = _tokens(text)
        found = _either(tokens)
    except ValueError:
        return False
    return found and not tokens


def licences(text: str) -> set[str]:
    """The names of the licences in an expression. ValueError for what is none."""
    tokens = _tokens(text)
    names = {
        token
        for before, token in zip(["", *tokens], tokens, strict=False)
        if token not in ("(", ")", "AND", "OR", "WITH") and before != "WITH"
    }
    _either(tokens)
    if tokens:
        raise ValueError(f"no expression of licences: {text!r}")
    return names


def _tokens(text: str) -> list[str]:
    found, at, bare = list[str](), 0, text.rstrip()
    while at < len(bare):
        if (token := _TOKENS.match(bare, at)) is None:
            raise ValueError(f"no expression of licences: {text!r}")
        found.append(token[1])
        at = token.end()
    return found


def _either(tokens: list[str]) -> bool:
    found = _both(tokens)
    while tokens and tokens[0] == "OR":
        tokens.pop(0)
        found = _both(tokens) or found
    return found


def _both(tokens: list[str]) -> bool:
    found = _one(tokens)
    while tokens and tokens[0] == "AND":
        tokens.pop(0)
        found = _one(tokens) and found
    return found


def _one(tokens: list[str]) -> bool:
    name = tokens.pop(0) if tokens else ""
    if name == "(":
        found = _either(tokens)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError("a bracket is not closed")
        return found
    if name in ("", ")", "AND", "OR", "WITH"):
        raise ValueError(f"no licence: {name!r}")
    if tokens and tokens[0] == "WITH":
        del tokens[0]
        exception = tokens.pop(0) if tokens else ""
        if exception in ("", "(", ")", "AND", "OR", "WITH"):
            raise ValueError(f"no exception: {exception!r}")
        return (name in PERMISSIVE and exception in _LESS) or (name, exception) in PERMISSIVE_PAIRS
    return name in PERMISSIVE
