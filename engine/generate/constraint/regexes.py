"""How large a regular expression is, before anything is built from it. Whether it is one is for llguidance to say."""

import re

from engine.errors import EngineError

LONGEST = 2_000
"""Code points of an expression, at most."""
LARGEST = 50_000
"""Characters and classes of an expression with all repetitions written out, at most: `(ab{3}){2}` has 8."""

TOKEN = re.compile(
    r"""(?P<escape>\\[pPxuU]\{[^}]*\}|\\.)          # one character or class, whatever stands in its braces
    |(?P<repeat>\{(?P<low>[0-9]+)(?P<open>,(?P<high>[0-9]*))?\})
    |(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])            # a set without sets in it
    |(?P<group>\((?:\?[A-Za-z-]*:|\?P?<[^>]*>)?) | (?P<end>\)) | (?P<mark>[*+?|^$]) | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)

_ESCAPED = re.compile(r"\\.", re.DOTALL)


def check_size(regex: str, where: str) -> None:
    """Raise EngineError, which begins with `where`, for an expression that is too large."""
    if len(regex) > LONGEST:
        raise EngineError(f"{where}: found {len(regex)} code points, expected at most {LONGEST}")
    if (found := size(regex, where)) > LARGEST:
        raise EngineError(f"{where}: found a size of {found:.3g} with its repetitions, expected at most {LARGEST}")


def size(regex: str, where: str) -> int:
    """Characters and classes with repetitions written out; alternatives are added up. Raises EngineError for flags that
    change how it is read, and for sets in sets."""
    sums, last = [0], 0
    for token in TOKEN.finditer(regex):
        if token["repeat"]:
            more = last * (max(int(token["low"]), int(token["high"] or 0), 1) - 1)
            sums[-1], last = sums[-1] + more, last + more
        elif token["group"]:
            _check_group(token["group"], regex[token.end() :], where)
            sums.append(0)
        elif token["end"]:
            last = sums.pop() if len(sums) > 1 else 0
            sums[-1] += last
        elif not token["mark"]:
            if token["set"] and "[" in _ESCAPED.sub("", token["set"][1:]):
                raise EngineError(
                    f"{where}: found a set in a set, expected sets such as [^a-z] (write \\[ for the sign)"
                )
            sums[-1], last = sums[-1] + 1, 1
    return sum(sums)


def _check_group(opening: str, after: str, where: str) -> None:
    if (opening == "(" and after.startswith("?")) or "x" in opening.split("<")[0].rstrip(":"):
        raise EngineError(f"{where}: found (?{after[1:9]!r}, expected groups (?: ), (?i: ) and (?s: ), no look-around")
