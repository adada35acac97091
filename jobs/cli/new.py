"""`cloister new`: begins a job of one's own, in a file with comments that `cloister check` accepts."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, get_args

from typer import prompt

import pipeline
from jobs.cli.options import argument, check_one_of, option
from jobs.cli.printing import Answer, At
from jobs.config.asked import task_names
from jobs.config.job import job_config, section_at
from jobs.config.load import LoadedJob, parse_job, shown
from jobs.config.plan import make_plan, refusal_of
from jobs.config.workspace import SCHEMA, Workspace, readable_jobs
from jobs.errors import ConfigError, Problem
from jobs.nights.watch import Beside

_WIDTH: Final = 110
_ASKED: Final[Mapping[str, tuple[str, str]]] = {
    "labels": ("--label", "Which labels? (NAME, or NAME=WHAT IT IS)"),
    "fields": ("--field", "Which fields? (NAME, or NAME:TYPE, such as total:money)"),
    "question": ("--question", "Which question?"),
    "sentences": ("--sentences", ""),
}
"""A key that a task cannot do without -> the option that gives it, and what is asked for it on a terminal."""
_LEFT_OUT: Final = {"sentences": 5}
_EACH: Final = ("--label", "--field")
"""Options that are given once for each; at a terminal they have commas between them."""
_OF_ITEM: Final = ("type", "description")


def new(
    at: At,
    job: Annotated[str, argument("JOB", "The name of the new job.")],
    task: Annotated[str | None, option("--task", "What is asked of each document, such as extract.", "TASK")] = None,
    label: Annotated[list[str] | None, option("--label", "A label, and what it means.", "NAME[=TEXT]")] = None,
    field: Annotated[
        list[str] | None,
        option("--field", "A field, and what it means; of a regex, its pattern.", "NAME[:TYPE][=TEXT]"),
    ] = None,
    question: Annotated[str | None, option("--question", "A question.", "TEXT")] = None,
    sentences: Annotated[
        int | None, option("--sentences", "Sentences of a summary; 5 if left out.", "N", min=1)
    ] = None,
    model: Annotated[str | None, option("--model", "A model in models/; the only one that can do it.", "NAME")] = None,
    folder: Annotated[
        str | None, option("--folder", "Where documents come from; inbox/JOB if left out.", "DIR")
    ] = None,
) -> Answer:
    """Begin a job: write jobs/JOB.yaml, with comments, so that `cloister check` accepts it. No file is overwritten.

    On a terminal it asks for what the options leave out: the task, what the task needs, and the model if several can do
    it. Elsewhere it says which option is lacking.
    """
    place = at.workspace
    file, source = _new_file(place, job), place.root / (folder or f"inbox/{job}")
    asks = _asker(sys.stdin.isatty() and sys.stderr.isatty() and not at.as_json)
    chosen = task or asks("--task", f"Which task? ({', '.join(task_names())})")
    check_one_of("--task", chosen, task_names())
    given = {"labels": label, "fields": field, "question": question, "sentences": sentences}
    keys = dict(_keys(chosen, given, asks))
    was_there = source.exists()
    try:
        loaded = _model(place, job, model, lambda name: _text(job, folder, name, chosen, keys), asks)
    except ConfigError:
        if not was_there:
            with suppress(OSError):
                source.rmdir()
        raise
    with file.open("x", encoding="utf-8") as out:
        out.write(_text(job, folder, loaded.config.model.name, chosen, keys))
    into = f"{shown(make_plan(place, loaded).input.folder)}/"
    named = loaded.config.model.name
    return Answer({"job": job, "file": shown(file), "task": chosen, "model": named, "input": into}, [
        f"Made {shown(file)}, for the model {named}. Read it: its comments say what can be changed.",
        f"  put documents into {into}\n  cloister check {job} && cloister run {job}",
    ])  # fmt: skip


def _new_file(place: Workspace, job: str) -> Path:
    """The file of a job that there is not yet. ConfigError."""
    file = place.jobs / f"{job}.yaml"
    if job.endswith((".yaml", ".yml")):
        named = f"cloister new {job.rpartition('.')[0]}"
        raise ConfigError(Problem("JOB", repr(job), "the name of a job, without the ending of its file", named))
    if file.exists():
        raise ConfigError(Problem(shown(file), "there is a job of this name", "a new name", "choose another one"))
    return file


def _asker(is_terminal: bool) -> Callable[[str, str], str]:
    """Asks a person at a terminal; elsewhere ConfigError, with the option that gives the answer."""

    def ask(option: str, question: str) -> str:
        commas = "; with commas between them" if option in _EACH else ""
        said = prompt(question + commas, err=True, default="", show_default=False) if is_terminal else ""
        if answer := str(said).strip():
            return answer
        given = f"give it as {option}" + (", once for each" if option in _EACH else "")
        raise ConfigError(Problem("cloister new", f"no {option}", question, f"{given}, or on a terminal"))

    return ask


def _keys(task: str, given: Mapping[str, Any], asks: Callable[[str, str], str]) -> Iterator[tuple[str, Any]]:
    """The keys of the task that it cannot do without, as they stand in the file. ConfigError for those of others."""
    section = section_at(job_config(), ("task", task))
    assert section is not None
    for name in given:
        if given[name] and name not in section.model_fields:
            found = f"given with the task {task}, which has no {name}"
            raise ConfigError(Problem(_ASKED[name][0], found, None, f"leave out {_ASKED[name][0]}"))
    for name in _ASKED:
        if name in section.model_fields:
            said: Any = given[name] or _LEFT_OUT.get(name) or asks(*_ASKED[name])
            is_list = section_at(job_config(), ("task", task, name)) is not None
            yield name, [_item(each, _ASKED[name][0]) for each in _several(said)] if is_list else said


def _several(said: str | Sequence[str]) -> Sequence[str]:
    """The answers, which a person at a terminal typed into one line."""
    return [part for part in map(str.strip, re.split(r",(?![^{]*\})", said)) if part] if isinstance(said, str) else said


def _item(said: str, option: str) -> dict[str, str]:
    """NAME or NAME=TEXT as a mapping of the file; of --field also NAME:TYPE and NAME:TYPE=TEXT. ConfigError."""
    named, _, text = said.partition("=")
    name, _, kind = named.partition(":") if option == "--field" else (named, "", "")
    if "," in name:
        each = " ".join(f"{option} {part.strip()}" for part in name.split(","))
        raise ConfigError(Problem(option, f"the name {name!r}", "a name without a comma", f"once for each: {each}"))
    if kind.strip() == "regex" and not text.strip():
        expected = "NAME:regex=PATTERN, such as 'order:regex=PO-[0-9]{5}'"
        raise ConfigError(Problem(option, f"{said!r}, a regex without its pattern", expected))
    told = {"type": kind.strip(), "pattern" if kind.strip() == "regex" else "description": text.strip()}
    return {"name": name.strip(), **{key: value for key, value in told.items() if value}}


def _model(
    place: Workspace, job: str, named: str | None, text: Callable[[str], str], asks: Callable[[str, str], str]
) -> LoadedJob:
    """The job with the model that is named, or the only one that can do it, or the one that a person chose."""
    file = place.jobs / f"{job}.yaml"
    there = sorted(path.stem for path in (place.root / "models").glob("*.gguf"))
    fitting, why = [], "there is none"
    for name in [named] if named else there:
        refused = refusal_of(_tried(place, text(name), file)[1], None, thorough=True)
        fitting += [] if refused else [name]
        why = refused or why
    if not fitting:
        remedy = "cloister model import FILE.gguf --name NAME; a Hugging Face folder does in place of the file"
        raise ConfigError(Problem(shown(place.root / "models"), f"no model for this job: {why}", None, remedy))
    chosen = fitting[0] if len(fitting) == 1 else asks("--model", f"Which model? ({', '.join(fitting)})")
    check_one_of("--model", chosen, fitting)
    return _tried(place, text(chosen), file)[0]


def _tried(place: Workspace, text: str, file: Path) -> tuple[LoadedJob, pipeline.RunPlan]:
    """The job that the file would have, beside those that there are. ConfigError without lines: it is not there."""
    try:
        job = parse_job(text.encode(), file)
        Beside(place, [*readable_jobs(place), job], [path.stem for path in place.job_files()]).check(job)
        return job, make_plan(place, job, tells=False)
    except ConfigError as error:
        told = [Problem("cloister new", each.found, each.expected, each.remedy) for each in error.problems]
        raise ConfigError(*told) from None


def _text(job: str, folder: str | None, model: str, task: str, keys: Mapping[str, Any]) -> str:
    """The file, whose comments are the descriptions of the keys in `jobs/config/job.py` and in the task."""
    at = ("task", task)
    return "\n".join(
        [
            f"# yaml-language-server: $schema={SCHEMA}",
            f"# {_sentence(pipeline.TASKS[task].purpose)}",
            "# Lines that begin with # say nothing. An editor shows every key, as configs/README.md of Cloister does.",
            f"job: {_quoted(job)}",
            "",
            "input:",
            *_key("folder", _quoted(folder or f"inbox/{job}"), ("input",)),
            *_key("afterwards", "archive", ("input",)),
            "",
            *_key("schedule", '{cron: "0 22 * * 1-5", timezone: UTC}', (), indent="# "),
            "",
            "model:",
            *_key("name", _quoted(model), ("model",)),
            "",
            "task:",
            f"  type: {task}",
            *(line for name, value in keys.items() for line in _task_key(name, value, at)),
            "",
            "output:",
            *_key("formats", "[parquet]", ("output",)),
            "",
        ]
    )


def _task_key(name: str, value: Any, at: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(value, list):
        yield from _key(name, _quoted(value) if isinstance(value, str) else str(value), at)
        return
    yield from _key(name, "", at)
    for key in _OF_ITEM:
        if said := _said(key, (*at, name)):
            yield from _wrapped(f"{key}: {said}", "    # ")
    for item in value:
        yield "    - {" + ", ".join(f"{key}: {_quoted(each)}" for key, each in item.items()) + "}"


def _key(name: str, value: str, at: tuple[str, ...], indent: str = "  ") -> Iterator[str]:
    """A key with its comment above it; one that begins with # is there to be taken in."""
    yield from _wrapped(_sentence(_said(name, at)), indent if indent.startswith("#") else f"{indent}# ")
    yield f"{indent}{name}: {value}".rstrip()


def _said(name: str, at: tuple[str, ...]) -> str:
    """What the model of the file says of a key, and the words that it may be; nothing of a key that is not there."""
    section = section_at(job_config(), at)
    if section is None or name not in section.model_fields:
        return ""
    field = section.model_fields[name]
    words = [word for word in get_args(field.annotation) if isinstance(word, str)]
    return f"{field.description}" + (f" ({', '.join(words)})" if words else "")


def _wrapped(text: str, mark: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=mark, subsequent_indent=mark, break_on_hyphens=False)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _quoted(text: str) -> str:
    """A text as YAML takes it: as it is where that is plain, else in quotes."""
    plain = text.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum() and text[:1].isalpha()
    return text if plain and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
