"""configs/README.md: every key of a job and of site.yaml, from the models that read them, with an example for each.

python -m tests.jobs.keys > configs/README.md
"""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jobs.config.job import job_config
from jobs.config.section import Section
from jobs.config.site import SiteConfig
from tests.jobs.examples import JOB, SITE

WIDTH = 120
JSON_TYPES = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
    "object": "a mapping", "array": "a list",
}  # fmt: skip
HEAD = """\
# Every key

A job is a YAML file in `jobs/` of a workspace, and `site.yaml` is what holds for all of its jobs. This page has their
keys, each with an example that stands as it is in such a file. `cloister check` tells what is wrong with a job, with
file, line and column. The files beside this page are whole jobs to copy: `cloister init --example NAME` does so.

An editor that knows JSON Schema completes and checks the keys by `job.schema.json`: `cloister init` puts it into
`jobs/`, and each example names it in its first line. Keys that are not known are errors. YAML is read as version 1.2
defines it: `no` is a text, and so is `"3"`. What has backslashes stands in single quotes: `'PO-\\d{5}'`. Where a
mapping must have its `name` and nothing else, the name alone stands for it: `model: minilm`, `labels: [nda, lease]`.

The page is made from the models that read the files: `python -m tests.jobs.keys > configs/README.md`.
"""
ENVIRONMENT = """\
# The environment

| | |
|---|---|
| `CLOISTER_WORKSPACE` | the workspace, when `--workspace` is not given |
| `CLOISTER_THREADS` | threads of the engine; otherwise as many as the CPUs that this process may use |
| `CLOISTER_ISA` | `amx`, `avx512_vnni`, `avx2` or `portable`; else the best of the CPU. All give the same results |
| `CLOISTER_CACHE` | folder of the compiled kernels and of weights as they are executed; otherwise `~/.cache/cloister` |
| `CLOISTER_TRACED` | set by `cloister doctor --egress` for what it traces, and by nobody else |
"""


@dataclass(frozen=True)
class Key:
    """A key: its path in the file (the member of a union in angle brackets), its JSON Schema, whether it must be there,
    and whether it is a mapping or a list of mappings, whose keys follow."""

    path: str
    schema: dict[str, Any]
    required: bool
    holds_keys: bool


def keys(model: type[Section]) -> list[Key]:
    """Every key of a file of this model, in the order of the model, each before those that are in it."""
    schema = model.model_json_schema()
    return list(_keys(schema, schema["$defs"], ""))


def _keys(section: dict[str, Any], named: dict[str, Any], path: str) -> Iterator[Key]:
    for name, schema in section["properties"].items():
        inner = _sections(schema, named)
        yield Key(f"{path}{name}", schema, name in section.get("required", ()), bool(inner))
        for member in inner:
            kind = member["properties"].get("type", {}).get("const")
            yield from _keys(member, named, f"{path}{name}<{kind}>." if kind else f"{path}{name}.")


def _sections(schema: dict[str, Any], named: dict[str, Any]) -> list[dict[str, Any]]:
    """The mappings that a value of this schema may be, or be a list of."""
    if "$ref" in schema:
        found: dict[str, Any] = named[schema["$ref"].rsplit("/", 1)[1]]
        return [found]
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *(each["then"] for each in schema.get("allOf", ()))]
    if isinstance(schema.get("items"), dict):
        branches.append(schema["items"])
    return [section for branch in branches for section in _sections(branch, named)]


def kind(schema: dict[str, Any]) -> str:
    """What a value of this schema is, in words."""
    if "enum" in schema:
        return _or([f"`{value}`" for value in schema["enum"]])
    if "const" in schema:
        return f"`{schema['const']}`"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return _or([kind(each) for each in choices if each.get("type") != "null"])
    if schema.get("type") == "array":
        items = schema.get("items", {})
        return f"a list of {kind(items).removeprefix('a ')}" + ("s" if "$ref" in items else "")
    return JSON_TYPES.get(schema.get("type", "object"), "a mapping") + _bounds(schema)


def _bounds(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    if low is None or high is None:
        return ""
    above = "above " if "exclusiveMinimum" in schema else ""
    return f" {above}{low:,} to {high:,}" if above else f" from {low:,} to {high:,}"


def _or(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def presence(key: Key) -> str:
    """Whether the key must be there, or what holds without it."""
    if key.required:
        return "required"
    default = key.schema.get("default")
    if default is None or default in ("", [], ()) or key.holds_keys:
        return "may be left out"
    if isinstance(default, bool):
        text = str(default).lower()
    elif isinstance(default, int | float):
        text = f"{default:.12g}"
    elif isinstance(default, list | tuple):
        text = "[" + ", ".join(f'"{item}"' if item == "*" else item for item in default) + "]"
    else:
        text = str(default)
    return f"`{text}` if left out"


def entry(key: Key, example: str) -> str:
    """The lines of a key: its name, what it is, what it means, an example."""
    name = key.path.rsplit(".", 1)[-1]
    description = key.schema["description"].replace("<", "\\<")
    said = f"- **`{name}`** ({kind(key.schema)}; {presence(key)}): {description}."
    lines = textwrap.wrap(said, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    shown = f"Example: `{example}`" if "\n" not in example else f"Example:\n\n```yaml\n{example}\n```"
    return "\n".join([*lines, textwrap.indent(shown, "  ")])


def page() -> str:
    """The whole page."""
    job, site = (_part(model, examples) for model, examples in ((job_config(), JOB), (SiteConfig, SITE)))
    return "\n".join([HEAD, "# A job\n", job, "# site.yaml\n", site, ENVIRONMENT])


def _part(model: type[Section], examples: dict[str, str]) -> str:
    sections: dict[str, list[str]] = {}
    for key in keys(model):
        sections.setdefault(key.path.rpartition(".")[0], []).append(entry(key, examples[key.path]))
    return "\n".join(line for name, lines in sections.items() for line in (*_heading(name), *lines)) + "\n"


def _heading(section: str) -> list[str]:
    """The heading of a section: `task<classify>.labels` is about the labels of the task classify."""
    if not section:
        return []
    name, _, rest = section.partition("<")
    if not rest:
        return [f"\n## {section}\n"]
    task, _, inner = rest.partition(">")
    return [f"\n## {name}, type: {task}{inner.replace('.', ', ')}\n"]


if __name__ == "__main__":
    print(page(), end="")
