"""A choice between texts as a grammar in Lark's syntax."""

from engine.errors import EngineError
from engine.generate.constraint.leaves import literal
from engine.generate.constraint.quotes import SURROGATE
from engine.generate.constraint.spec import Choice

MOST = 1_000
LONGEST = 1_000
"""Code points of an option, at most."""


def grammar(spec: Choice) -> str:
    """The grammar that matches one of the options exactly. Raises EngineError for no options, equal ones, or long
    ones."""
    if not 0 < len(spec.options) <= MOST or len(set(spec.options)) < len(spec.options):
        raise EngineError(f"choices: found {len(spec.options)}, expected 1 to {MOST} different ones")
    for option in spec.options:
        if not 0 < len(option) <= LONGEST or SURROGATE.search(option):
            raise EngineError(f"choices: found {option!r:.80}, expected Unicode text of 1 to {LONGEST} code points")
    return "start: " + " | ".join(literal(option) for option in spec.options) + "\n"
