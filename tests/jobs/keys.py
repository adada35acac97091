"""configs/README.md: every key of a job and of site.yaml, from the models that read them, with an example for each.

python -m tests.jobs.keys > configs/README.md
"""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Any

from ruamel.yaml import YAML

from jobs.config.job import job_config
from jobs.config.section import Section
from jobs.config.site import SiteConfig
from tests.jobs.examples import JOB, SITE

WIDTH = 120
JSON_TYPES = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
    "object": "mapping", "array": "list",
}  # fmt: skip
HEAD = """\
# Every key

A job is a YAML file in `jobs/` of a workspace; `site.yaml` holds for all jobs. Each key stands here with its kind, what
it says, and an example of its value; the keys of a mapping follow in a section. A key may be left out unless it is
*required*; what holds then stands behind *else*. The files beside this page are whole jobs to copy: `cloister init
--example NAME`.

`cloister check` names mistakes by file, line and column; keys that are not known are mistakes. An editor completes and
checks keys by `job.schema.json`, which `cloister init` puts into `jobs/`. YAML is read as version 1.2: `no` is a text.
Backslashes stand in single quotes: `'PO-\\d{5}'`. Where a mapping needs its `name` alone, the name stands for it:
`model: minilm`, `labels: [nda, lease]`.

This page is made from the code that reads the files: `python -m tests.jobs.keys > configs/README.md`.
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
        return f"list of {kind(items)}" + ("s" if "$ref" in items else "")
    return _bounds(schema)


def _bounds(schema: dict[str, Any]) -> str:
    """The bounds of a number, and its kind where these do not say it."""
    word = JSON_TYPES.get(schema.get("type", "object"), "mapping")
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    if low is None or high is None:
        return word
    between = f"above {low:,} to {high:,}" if "exclusiveMinimum" in schema else f"{low:,} to {high:,}"
    return f"{between}, with fractions" if word == "a number" else between


def _or(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def presence(key: Key) -> str:
    """Whether the key must be there, or what holds without it; with what stands before it."""
    if key.required:
        return "; required"
    default = key.schema.get("default")
    if default is None or default in ("", [], ()) or key.holds_keys:
        return ""
    if isinstance(default, bool):
        text = str(default).lower()
    elif isinstance(default, int | float):
        text = f"{default:.12g}"
    elif isinstance(default, list | tuple):
        text = "[" + ", ".join(f'"{item}"' if item == "*" else item for item in default) + "]"
    else:
        text = str(default)
    return f"; else `{text}`"


def value_at(value: Any, path: str) -> Any:
    """The value of a key in what was read; of a list that of the last item."""
    for step in path.replace("<", ".<").split("."):
        if step.startswith("<"):
            assert value["type"] == step.strip("<>")
            continue
        value = value[-1] if isinstance(value, list) else value
        value = value[step]
    return value


def shown(key: Key, example: str) -> str:
    """The key with its value in an example, in one line of YAML."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style, yaml.width = True, 10_000
    yaml.representer.sort_base_mapping_type_on_output = False
    written = StringIO()
    yaml.dump({_name(key): value_at(yaml.load(example), key.path)}, written)
    return written.getvalue().strip()[1:-1]


def _name(key: Key) -> str:
    return key.path.rsplit(".", 1)[-1]


def entry(key: Key, example: str) -> str:
    """The lines of a key: its name, what it is, what it means, an example."""
    description = key.schema["description"].replace("<", "\\<")
    said = f"- **`{_name(key)}`** ({kind(key.schema)}{presence(key)}): {description}."
    lines = textwrap.wrap(said, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines if kind(key.schema) == "mapping" else [*lines, f"  `{shown(key, example)}`"])


def page() -> str:
    """The whole page."""
    job, site = (_part(model, examples) for model, examples in ((job_config(), JOB), (SiteConfig, SITE)))
    return "\n".join([HEAD, "# A job\n", job, "# site.yaml\n", site, ENVIRONMENT])


def _part(model: type[Section], examples: dict[str, str]) -> str:
    """Each section once: one that has the keys of an earlier one names that."""
    sections: dict[str, list[Key]] = {}
    for key in keys(model):
        sections.setdefault(key.path.rpartition(".")[0], []).append(key)
    lines: list[str] = []
    before: dict[tuple[str, str], str] = {}
    for section, here in sections.items():
        lines += _heading(section)
        for key in here:
            known = before.setdefault((_name(key), key.schema["description"]), section)
            lines.append(
                entry(key, examples[key.path]) if known == section else f"- `{_name(key)}`: as in {_title(known)}"
            )
    return "\n".join(lines) + "\n"


def _heading(section: str) -> list[str]:
    return [f"\n## {_title(section)}\n"] if section else []


def _title(section: str) -> str:
    """`task<classify>.labels` is about the labels of the task classify."""
    name, _, rest = section.partition("<")
    task, _, inner = rest.partition(">")
    return f"{name}, type: {task}{inner.replace('.', ', ')}" if rest else name


if __name__ == "__main__":
    print(page(), end="")
