"""Constraints by llguidance, for one vocabulary: what may follow, what must, and whether guesses hold."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from llguidance import LLExecutor, LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.generate.constraint import schema
from engine.generate.constraint.leaves import CHARACTER, MOST_LENGTH, check_size, literal
from engine.generate.constraint.quotes import SURROGATE
from engine.generate.constraint.spec import AnyObject, Choice, Pattern, Schema, Spec

LIMITS = LLParserLimits(initial_lexer_fuel=1_000_000_000, step_lexer_fuel=10_000_000, verbose_errors=False)
"""For texts of 262,144 code points, and of 20,000 different ones. Messages are without the document."""

Encode = Callable[[str], Sequence[int]]


class _Vocabulary(TokenizerWrapper):
    """The vocabulary in the form in which LLTokenizer reads it."""

    def __init__(self, token_bytes: Sequence[bytes], end_ids: Sequence[int], encode: Encode | None) -> None:
        # Not the base class's own: it wraps another tokenizer, and swallows what that raises.
        self.is_tokenizer_wrapper = True
        self.tokens = list(token_bytes)
        self.special_token_ids: list[int] = []
        self.bos_token_id = None
        self.eos_token_id = end_ids[0]
        self.encode = encode
        self.greedy: Callable[[str], list[int]] = lambda text: []

    def __call__(self, s: str) -> list[int]:
        """The model's own ids of a text, where they stand for exactly it; else the longest token at each place."""
        ids = list(self.encode(s)) if self.encode else []
        if ids and all(self.tokens[i] for i in ids) and b"".join(self.tokens[i] for i in ids) == s.encode():
            return ids
        return self.greedy(s)


class Matched:
    """The state of one answer in llguidance; it is a `spec.Constraint`."""

    def __init__(self, matcher: LLMatcher, words: int, ends: frozenset[int], *, forces: bool) -> None:
        self.matcher = matcher
        self._words = words
        self._ends = ends
        self._ended = False  # whether the last token was an end
        self._beyond = False  # whether an end came after llguidance had stopped, which does not know of it
        self._forces = forces
        self._count = 0

    @property
    def is_over(self) -> bool:
        return self.matcher.is_stopped()

    def mask(self) -> NDArray[np.uint32]:
        mask = np.zeros(self._words, np.uint32)
        self.matcher.unsafe_compute_mask_ptr(mask.ctypes.data, mask.nbytes)
        self.check_state()
        return mask

    def forced(self) -> list[int]:
        return self.matcher.compute_ff_tokens() if self._forces and not self.is_over else []

    def advance(self, ids: Sequence[int]) -> None:
        if (allowed := self.check(ids)) < len(ids):
            raise EngineError(f"constraint: token {ids[allowed]} is not allowed after {self._count + allowed} tokens")
        if not ids:
            return
        self._consume(ids[:-1])
        if not self.is_over:
            self._consume(ids[-1:])
        else:  # an end token, and llguidance has stopped and takes no more
            self._beyond = True
            self._count += 1

    def _consume(self, ids: Sequence[int]) -> None:
        self.matcher.consume_tokens(list(ids))
        self.check_state()
        self._count += len(ids)
        self._ended = bool(ids and ids[-1] in self._ends)

    def check(self, ids: Sequence[int]) -> int:
        if self.is_over:  # llguidance then allows no token at all
            return int(not self._ended and not self._beyond and bool(ids) and ids[0] in self._ends)
        allowed = self.matcher.validate_tokens(list(ids))
        self.check_state()
        return allowed

    def check_state(self) -> None:
        """Raise EngineError when llguidance gave up: the constraint is too much for its limits."""
        if self.matcher.is_error():
            reason = self.matcher.get_error().splitlines()[0]
            raise EngineError(f"constraint: too complex after {self._count} tokens ({reason:.80})")


class Grammars:
    """Makes constraints for one vocabulary, of which nothing is made before the first constraint is.

    token_bytes: what each id stands for, b"" for control tokens, which then no answer can hold. end_ids: what may stand
    after an answer. encode: the model's own tokenizer, `Tokenizer.encode_within`; tokens are forced only
    with it, see DECISIONS.md. threads: for `masks`."""

    def __init__(
        self, token_bytes: Sequence[bytes], end_ids: Sequence[int], encode: Encode | None = None, *, threads: int = 1
    ) -> None:
        self._token_bytes, self._end_ids, self._encode = token_bytes, end_ids, encode
        self._words, self._ends = (len(token_bytes) + 31) // 32, frozenset(end_ids)
        self._threads = threads

    @cached_property
    def _executor(self) -> LLExecutor:
        return LLExecutor(self._threads)

    @cached_property
    def _tokenizer(self) -> LLTokenizer:
        """llguidance's form of the vocabulary, which takes most of a second to make."""
        ends, size = list(self._end_ids), len(self._token_bytes)
        if not ends or not all(0 <= i < size for i in ends):
            raise EngineError(f"end tokens: found {ends}, expected ids below {size}")
        vocabulary = _Vocabulary(self._token_bytes, ends, self._encode)
        tokenizer = LLTokenizer(TokenizerWrapper(vocabulary), eos_token=ends, slices=LLTokenizer.json_slices())
        vocabulary.greedy = tokenizer.greedy_tokenize
        return tokenizer

    def make(self, spec: Spec) -> Matched:
        """The constraint at its start. Raises EngineError that names the JSON pointer and keyword, what was found and
        what is expected, when the spec is not supported, too large, or allows nothing."""
        matcher = _matcher(self._tokenizer, spec)
        return Matched(matcher, self._words, self._ends, forces=self._encode is not None)

    def masks(self, constraints: Sequence[Matched]) -> NDArray[np.uint32]:
        """`mask()` of many constraints at once, uint32 [constraints, words]."""
        masks = np.zeros((len(constraints), self._words), np.uint32)
        rows = [(one.matcher, at) for at, one in enumerate(constraints)]
        self._executor.unsafe_compute_mask_ptr(rows, masks.ctypes.data, self._words * 4, len(masks))
        for one in constraints:
            one.check_state()
        return masks


def check_constraint(spec: Spec) -> None:
    """Check a constraint: raise the EngineError that `make` would for it, without a model: for when a job is read. A
    quote's text may be any text then, such as "text"."""
    _matcher(LLTokenizer("byte"), spec)


def _matcher(tokenizer: LLTokenizer, spec: Spec) -> LLMatcher:
    lark = LLMatcher.grammar_from_lark
    match spec:
        case Schema():
            grammar = schema.grammar(spec)
            for at, alone in grammar.patterns.items():
                _build(tokenizer, lark(alone), f"schema #{at:.300}: pattern")
            return _build(tokenizer, lark(grammar.lark), "schema", says=not (spec.quotes or spec.values))
        case Choice():
            return _build(tokenizer, lark(_choices(spec)), "choices")
        case AnyObject():
            return _build(tokenizer, lark(_objects()), "object")
        case Pattern(regex):
            check_size(regex, "pattern")
            return _build(tokenizer, LLMatcher.grammar_from_regex(regex), "pattern")


def _build(tokenizer: LLTokenizer, grammar: str, where: str, *, says: bool = True) -> LLMatcher:
    """says: whether a message may hold what llguidance says. Not where a document is part of the grammar."""
    matcher = LLMatcher(tokenizer, grammar, log_level=0, limits=LIMITS)
    if matcher.is_error():
        raise EngineError(f"{where}: {_reason(matcher.get_error()) if says else 'too large for its limits'}")
    return matcher


def _reason(error: str) -> str:
    """The line of llguidance's message that says what is wrong; its other lines repeat the grammar."""
    lines = [line.strip() for line in error.splitlines()]
    return next((line for line in lines if line.startswith("error:")), lines[0]).removeprefix("error: ")[:200]


MOST_CHOICES = 1_000
LONGEST_CHOICE = 1_000
"""Code points of an option, at most."""


def _choices(spec: Choice) -> str:
    """The grammar that matches one of the options exactly. Raises EngineError for no options, equal ones, or long
    ones."""
    if not 0 < len(spec.options) <= MOST_CHOICES or len(set(spec.options)) < len(spec.options):
        raise EngineError(f"choices: found {len(spec.options)}, expected 1 to {MOST_CHOICES} different ones")
    for option in spec.options:
        if not 0 < len(option) <= LONGEST_CHOICE or SURROGATE.search(option):
            raise EngineError(
                f"choices: found {option!r:.80}, expected Unicode text of 1 to {LONGEST_CHOICE} code points"
            )
    return "start: " + " | ".join(literal(option) for option in spec.options) + "\n"


LEVELS: Final = 8
"""Of objects and lists in one another."""
LONGEST_KEY: Final = 200
"""Code points of a key, at most."""
MOST_MEMBERS: Final = 1_000
"""Members of an object, and items of a list, at most."""


def _objects() -> str:
    """The levels are written out, so that there is no recursion that could go on for ever."""
    rules = [line for depth in range(LEVELS) for line in _level(depth)]
    return "\n".join(
        [
            "start: object0",
            f'STRING: /"{CHARACTER}{{0,{MOST_LENGTH}}}"/',
            f'KEY: /"{CHARACTER}{{0,{LONGEST_KEY}}}"/',
            r"NUMBER: /-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,10})?/",
            *rules,
            'scalar: STRING | NUMBER | "true" | "false" | "null"',
            "",
        ]
    )


def _level(depth: int) -> list[str]:
    inner = f"value{depth + 1}" if depth + 1 < LEVELS else "scalar"
    member, more = f'KEY ":" {inner}', f"{{0,{MOST_MEMBERS - 1}}}"
    rules = [f'object{depth}: "{{" ({member} ("," {member}){more})? "}}"']
    if depth:
        rules.append(f'list{depth}: "[" ({inner} ("," {inner}){more})? "]"')
        rules.append(f"value{depth}: scalar | object{depth} | list{depth}")
    return rules
