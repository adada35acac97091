"""The parameters of a chat completion that only ask how it is made: what each may be here, and why nothing else."""

from collections.abc import Mapping
from typing import Any, Final

from pipeline.openai.refused import refuse, shown

READ: Final = frozenset({
    "model", "messages", "max_tokens", "max_completion_tokens", "response_format", "stop", "logprobs", "seed", "top_p",
})  # fmt: skip
LABELS: Final = frozenset({"user", "metadata", "safety_identifier", "prompt_cache_key"})
"""They tell somebody something, and no answer depends on them."""

_GREEDY: Final = "answers are always the most probable ones, so that anybody can compute them again bit for bit"
_NO_TOOLS: Final = "no tools are called here"
_ONLY: Final[Mapping[str, tuple[tuple[Any, ...], str]]] = {
    "temperature": ((0,), _GREEDY),
    "n": ((1,), "there is one most probable answer"),
    "frequency_penalty": ((0,), _GREEDY),
    "presence_penalty": ((0,), _GREEDY),
    "logit_bias": (({},), _GREEDY),
    "top_logprobs": ((0,), "the probabilities of other tokens are not kept"),
    "tools": (([],), _NO_TOOLS),
    "tool_choice": (("none", "auto"), _NO_TOOLS),
    "parallel_tool_calls": ((True, False), _NO_TOOLS),
    "functions": (([],), _NO_TOOLS),
    "function_call": (("none", "auto"), _NO_TOOLS),
    "modalities": ((["text"],), "the model reads and writes text alone"),
    "audio": ((), "the model reads and writes text alone"),
    "prediction": ((), "it could not make the answer another one; leave it out"),
    "reasoning_effort": ((), "how much a model reasons is not set here"),
    "verbosity": (("medium",), "say in a message how long the answer should be"),
    "service_tier": (("auto", "default"), "there is one service"),
    "store": ((False,), "answers are in the output file"),
    "stream": ((False,), "answers are in the output file"),
    "stream_options": ((), "answers are in the output file"),
    "web_search_options": ((), "nothing here has a network"),
}  # parameter -> what makes no difference, and why nothing else


def check(body: Mapping[str, Any]) -> None:
    """Each parameter of a body that is there and not null. RefusedError."""
    for name, value in body.items():
        if name in _ONLY:
            allowed, why = _ONLY[name]
            if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
                expected = " or ".join(
                    [*((str(one) if isinstance(one, dict | list) else shown(one)) for one in allowed), "nothing"]
                )
                refuse("unsupported_value", name, f"found {shown(value)}, expected {expected}: {why}")
        elif name not in READ | LABELS:
            refuse("unknown_parameter", f"{name:.80}", "it is no parameter that is known here; nothing is passed over")
    # Refuse values of a wrong type of parameters that are read elsewhere, or that make no difference, as a seed.
    if type(body.get("seed", 0)) is not int:
        refuse("invalid_type", "seed", f"found {shown(body['seed'])}, expected a whole number")
    if type(body.get("logprobs", False)) is not bool:
        refuse("invalid_type", "logprobs", f"found {shown(body['logprobs'])}, expected true or false")
    top = body.get("top_p", 1)
    if isinstance(top, bool) or not isinstance(top, int | float) or not 0 < top <= 1:
        refuse("invalid_value", "top_p", f"found {shown(top)}, expected a number over 0 and up to 1")
    if top != 1 and "temperature" not in body:
        refuse(
            "unsupported_value", "top_p", f"found {shown(top)} without temperature 0, expected 1 or nothing: {_GREEDY}"
        )
