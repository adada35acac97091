"""Chat templates as programs: Jinja in a sandbox, with few things in it, and an end to everything that grows.

A template comes with a model file, from anywhere. It reaches no attribute but those listed here, runs a limited number
of steps, and makes a limited number of characters. Its own text is marked (marked.py), so that what comes out says
which of its characters are content. The settings of the environment are those of transformers, which templates are
written for. This is the only file of the engine that imports jinja2.
"""

import json
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from jinja2 import TemplateError, nodes, pass_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import FILTERS
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from engine.tokenizer.chat.marked import between, glue, written

MAX_TEMPLATE = 1 << 18
"""Characters; the longest that is published has 17,000."""

MAX_STEPS = 100_000
"""Turns of loops and calls of macros."""

MAX_CHARS, CHARS_FOR_EACH = 1 << 22, 64
"""Characters made on the way, and more of them for each character of the messages."""

PIECE_CHARS = 32
"""What a part of a text costs by itself, where a text is replaced or joined."""

FILTERS_KEPT = (
    "abs capitalize count d default dictsort e escape first float int items last length list lower map max min reject "
    "rejectattr reverse round safe select selectattr sort string title trim unique upper"
)
ATTRIBUTES: dict[type, str] = {
    str: "capitalize count endswith find index isalnum isalpha isdigit isspace join lower lstrip replace rfind rstrip "
    "split splitlines startswith strip title upper",
    dict: "get items keys values",
    list: "count index",
    tuple: "count index",
    LoopContext: "changed cycle depth depth0 first index index0 last length nextitem previtem revindex revindex0",
}

FAILURES = (
    TemplateError, ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, SyntaxError, TypeError,
    ValueError,
)  # fmt: skip
"""What a template, or its compilation, can raise; and MemoryError."""


class TemplateFailure(Exception):  # noqa: N818
    """A template that cannot be compiled or rendered; the message says why."""


class Budget:
    """The steps and characters that a rendering may still use."""

    def __init__(self, chars: int) -> None:
        self.steps, self.chars = MAX_STEPS, MAX_CHARS + CHARS_FOR_EACH * chars

    def step(self, count: int = 1) -> None:
        self.steps -= count
        if self.steps < 0:
            raise SecurityError(f"more than {MAX_STEPS:,} steps")

    def make(self, count: int) -> None:
        self.chars -= count
        if self.chars < 0:
            raise SecurityError(f"more than {MAX_CHARS:,} characters and {CHARS_FOR_EACH} for each of the messages'")


_BUDGET: ContextVar[Budget] = ContextVar("budget")


class Program:
    """A compiled template. It may be rendered by several threads at once."""

    def __init__(self, source: str) -> None:
        """Compiles a template. Raises TemplateFailure for a template that is refused."""
        environment = _Environment(trim_blocks=True, lstrip_blocks=True, optimized=False, extensions=_EXTENSIONS)
        try:
            self._template = environment.from_string(source)
        except FAILURES as error:
            raise TemplateFailure(_reason(error)) from error

    def render(self, variables: dict[str, Any], chars: int) -> str:
        """Marked text; `chars` is how many characters the messages have. Raises TemplateFailure."""
        token = _BUDGET.set(Budget(chars))
        try:
            return self._template.render(variables)
        except FAILURES as error:
            raise TemplateFailure(_reason(error)) from error
        finally:
            _BUDGET.reset(token)


class _Generation(Extension):
    """`{% generation %}` says what a model is trained on; here its body stands for itself."""

    tags = frozenset({"generation"})  # type: ignore[assignment]

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


_EXTENSIONS: list[str | type[Extension]] = [_Generation, loopcontrols]


class _Generator(CodeGenerator):
    """Every text that stands in a template is marked, and nothing is computed when it is compiled."""

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:  # noqa: N802
        if isinstance(node.value, str):
            self.write(f"environment.literal({node.value!r})")
        else:
            super().visit_Const(node, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.concat((")
        for item in node.nodes:
            self.write("str(")
            self.visit(item, frame)
            self.write("), ")
        self.write("))")

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        if not isinstance(node, nodes.TemplateData):
            raise nodes.Impossible
        return node.data

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return f"environment.literal({''.join(group)!r})"


class _Environment(ImmutableSandboxedEnvironment):
    code_generator_class = _Generator
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.filters = {name: FILTERS[name] for name in FILTERS_KEPT.split()}
        self.filters |= {"tojson": _to_json, "join": _join, "replace": _replace, "indent": _indent}
        self.globals = {"range": _range, "namespace": Namespace, "dict": dict, "raise_exception": _raise}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            if loop.recursive:
                raise SecurityError("a recursive loop")
            loop.iter = nodes.Call(nodes.EnvironmentAttribute("counted"), [loop.iter], [], None, None)
        bodies = [m.body for m in tree.find_all(nodes.Macro)] + [c.body for c in tree.find_all(nodes.CallBlock)]
        for body in bodies:
            step = nodes.Call(nodes.EnvironmentAttribute("step"), [], [], None, None)
            body.insert(0, nodes.ExprStmt(step))
        tree.set_environment(self)
        return tree

    def literal(self, text: str) -> str:
        _BUDGET.get().make(len(text))
        return written(text)

    def concat(self, texts: Iterable[str]) -> str:
        items = list(texts)
        _BUDGET.get().make(sum(map(len, items)) + PIECE_CHARS * len(items))
        return glue(items)

    def step(self) -> None:
        _BUDGET.get().step()

    def counted(self, items: Any) -> Any:
        items = items if hasattr(items, "__len__") else list(items)
        _BUDGET.get().step(len(items))
        return items

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, Namespace):
            return not attr.startswith("_")
        return any(isinstance(obj, kind) and attr in names.split() for kind, names in ATTRIBUTES.items())

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        raise SecurityError(f"the attribute {attribute!r:.40} of a {_kind(obj)}")

    def wrap_str_format(self, value: Any) -> None:
        return None

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if operator == "+" and not numbers:
            _BUDGET.get().make(len(left) + len(right))
        elif operator != "+" and (operator == "**" or not numbers or abs(left * right) >= 1 << 63):
            raise SecurityError(f"the operation {_kind(left)} {operator} {_kind(right)}")
        return super().call_binop(context, operator, left, right)


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else type(value).__name__


def _range(*bounds: int) -> range:
    found = range(*bounds)
    _BUDGET.get().step(len(found))
    return found


def _raise(message: str) -> None:
    raise TemplateError(message)


@pass_context
def _to_json(_: Context, value: Any, ensure_ascii: bool = False, indent: int | None = None, **more: Any) -> str:
    if indent is not None and not 0 <= indent <= 16:
        raise SecurityError(f"an indent of {indent!r:.40}")
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **more)
    _BUDGET.get().make(len(text))
    return text


@pass_context
def _join(context: Context, value: Sequence[Any], d: str = "", attribute: str | None = None) -> str:
    items = list(value) if attribute is None else [context.environment.getitem(item, attribute) for item in value]
    texts = between([str(item) for item in items], str(d))
    _BUDGET.get().make(sum(map(len, texts)) + PIECE_CHARS * len(texts))
    return glue(texts)


@pass_context
def _replace(_: Context, text: Any, old: str, new: str, count: int = -1) -> str:
    text = str(text)
    _BUDGET.get().make(len(text) + text.count(old) * (len(new) + PIECE_CHARS))
    return glue([text.replace(old, new, count)])


@pass_context
def _indent(_: Context, text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    space = width if isinstance(width, str) else " " * min(width, 16)
    lines = str(text).split("\n")
    _BUDGET.get().make(len(text) + len(lines) * len(space))
    indented = [space + line if line or blank or (first and not at) else line for at, line in enumerate(lines)]
    return "\n".join([indented[0] if first else lines[0], *indented[1:]])


def _reason(error: BaseException) -> str:
    return " ".join(f"{error}".split())[:200] or type(error).__name__
