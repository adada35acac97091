"""Which template a model file has, and which one is assumed where it has none."""

from collections.abc import Collection

KEY = "tokenizer.chat_template"

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PLAIN = (
    "{% for message in messages %}{{ message.role | capitalize }}:\n{{ message.content }}\n\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:\n{% endif %}"
)
"""For files without a template: ChatML where the vocabulary has its tokens, else plain text."""

NAMES = {CHATML: "ChatML is assumed", PLAIN: "plain text with the names of the roles is assumed"}
"""What is said of a file without a template."""


def assumed(control: Collection[str]) -> str:
    """The template that is assumed for a vocabulary with these control tokens."""
    return CHATML if {"<|im_start|>", "<|im_end|>"} <= set(control) else PLAIN
