"""Any JSON object as a grammar in Lark's syntax: compact, in one spelling, bounded everywhere."""

from typing import Final

from engine.generate.constraint.leaves import CHARACTER, MOST_LENGTH

LEVELS: Final = 8
"""Of objects and lists in one another."""
NAME: Final = 200
"""Code points of a key, at most."""
MOST: Final = 1_000
"""Members of an object, and items of a list, at most."""


def grammar() -> str:
    """The levels are written out, so that there is no recursion that could go on for ever."""
    rules = [line for depth in range(LEVELS) for line in _level(depth)]
    return "\n".join(
        [
            "start: object0",
            f'STRING: /"{CHARACTER}{{0,{MOST_LENGTH}}}"/',
            f'KEY: /"{CHARACTER}{{0,{NAME}}}"/',
            r"NUMBER: /-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,10})?/",
            *rules,
            'scalar: STRING | NUMBER | "true" | "false" | "null"',
            "",
        ]
    )


def _level(depth: int) -> list[str]:
    inner = f"value{depth + 1}" if depth + 1 < LEVELS else "scalar"
    member, more = f'KEY ":" {inner}', f"{{0,{MOST - 1}}}"
    rules = [f'object{depth}: "{{" ({member} ("," {member}){more})? "}}"']
    if depth:
        rules.append(f'list{depth}: "[" ({inner} ("," {inner}){more})? "]"')
        rules.append(f"value{depth}: scalar | object{depth} | list{depth}")
    return rules
