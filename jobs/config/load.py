"""YAML to a checked job or site, with the digest of its bytes; every mistake as a Problem at file:line:column."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import audit
import pipeline
from jobs.config.asked import task_names
from jobs.config.job import InvalidError, JobConfig, is_form, job_config, section_at, sections_below, validate
from jobs.config.section import RefusedValueError, Section, is_named, keys_of
from jobs.config.site import SiteConfig
from jobs.config.source import Source, describe, parse_source, read_source
from jobs.errors import ConfigError, Problem, Steps

T = TypeVar("T", bound=Section)


@dataclass(frozen=True)
class LoadedJob:
    """A job file: what it says, its bytes' sha256 and the places of its values (`source`)."""

    path: Path
    config: JobConfig
    source: Source

    @property
    def name(self) -> str:
        """The job's name."""
        return self.config.job


def load_job(path: Path) -> LoadedJob:
    """The job in the file `path`. ConfigError with all problems of the file."""
    return _loaded(path, read_source(path, shown(path)))


def parse_job(data: bytes, path: Path) -> LoadedJob:
    """The job in the bytes of a file `path`. ConfigError."""
    return _loaded(path, parse_source(data, shown(path)))


def _loaded(path: Path, source: Source) -> LoadedJob:
    return LoadedJob(path, _checked(job_config(), source), source)


def load_site(path: Path) -> SiteConfig:
    """The site.yaml at `path`. ConfigError, also where the log's name and its public key do not fit each other."""
    source = read_source(path, shown(path))
    site = _checked(SiteConfig, source)
    try:
        signed = audit.parse_public_key(site.log.public_key).origin
    except audit.KeyRefused as error:
        expected = "a C2SP verifier key (origin+hash+base64)"
        raise ConfigError(source.problem(("log", "public_key"), f"'public_key' in log: {error}", expected)) from error
    if signed != site.log.origin:
        found = f"'origin' in log is {site.log.origin!r}, but 'public_key' is one of the log {signed!r}"
        raise ConfigError(source.problem(("log", "origin"), found, f"{signed!r}, or the public key of the other log"))
    try:
        has_keys = pipeline.atrest.store_of(path.parent).is_dir()
    except PermissionError:  # who may not read private/ reads no encrypted document either
        has_keys = False
    if site.encryption is None and has_keys:
        found = "no key 'encryption', but private/ has keys of encrypted documents"
        remedy = "to end encryption write encryption: {key_file: FILE, new_files: clear}, which keeps them readable"
        raise ConfigError(Problem(shown(path), found, "encryption, with the key that they have", remedy))
    return site


def shown(path: Path) -> str:
    """A path as messages name it: from the working directory where it lies below that."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)


def did_you_mean(word: str, known: list[str]) -> str | None:
    """A remedy for a misspelt word, or for one that other programs use for a word that is known here."""
    meant = _MEANT.get(word.lower().replace("-", "_"))
    near = [each for said in (word, word.lower()) for each in difflib.get_close_matches(said, known, n=1)]
    close = [meant] if meant in known else near
    return f"did you mean {close[0]!r}?" if close else None


_MEANT = {
    other: ours
    for ours, others in {
        "money": "amount price sum total currency cost eur euro usd dollar",
        "number": "integer int float decimal numeric quantity count digits",
        "percent": "percentage rate ratio %",
        "date": "datetime timestamp day time",
        "text": "string str word words varchar name person address",
        "organisation": "organization company organisations firm vendor supplier customer party org",
        "reference": "id identifier code invoice_number order_number ref",
        "email": "e_mail mail email_address",
        "phone": "telephone tel mobile fax phone_number",
        "iban": "account bank_account bank",
        "title": "heading headline subject",
        "regex": "pattern regexp regular_expression",
        "classify": "classification class sort label labels category categorize triage",
        "extract": "extraction fields values find",
        "summarize": "summary summarise summarization abstract digest",
        "ask": "question questions qa answer prompt query",
        "batch": "openai jsonl requests",
        "parquet": "csv json jsonl xlsx table",
        "markdown": "md html txt",
    }.items()
    for other in others.split()
}
"""Words of other programs, each with the one that means it here: types of value, tasks, formats."""


def _checked(model: type[T], source: Source) -> T:
    try:
        return validate(model, source.value)
    except InvalidError as error:
        problems = [_problem(model, source, item) for item in error.errors if not _is_echo(item)]
        raise ConfigError(*sorted(problems, key=lambda problem: (problem.line, problem.column))) from None


def _problem(model: type[Section], source: Source, error: dict[str, Any]) -> Problem:
    location: Steps = error["loc"]
    # pydantic names the chosen member of the union `task` after it, and the form of a value that may have several
    named = location[:1] + location[2:] if location[:1] == ("task",) else location
    path = tuple(step for step in named if not is_form(step))
    context = error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            section = section_at(model, location[:-1])
            known, key = sorted(keys_of(section)) if section else [], str(path[-1])
            remedy = _belongs(model, key, source.value) or did_you_mean(key, known)
            return source.problem_with_key(path, f"unknown key {key!r}{_inside(path)}", _one_of(known), remedy)
        case "missing":
            return source.problem(path, f"no key {path[-1]!r}{_inside(path)}", f"the key {path[-1]!r}")
        case "union_tag_not_found":
            return source.problem(path, f"no key 'type'{_inside((*path, 'type'))}", _one_of(task_names()))
        case "union_tag_invalid":
            tags, tag = task_names(), context["tag"]
            return source.problem(
                (*path, "type"), f"'type' in task is {describe(tag)}", _one_of(tags), did_you_mean(str(tag), tags)
            )
        case "value_error":
            refusal: RefusedValueError = context["error"]
            return source.problem((*path, *refusal.at), refusal.found, refusal.expected, refusal.remedy)
    last = f"item {path[-1] + 1}" if isinstance(path[-1], int) else repr(path[-1])
    found = f"{last}{_inside(path)} is {describe(error['input'])}"
    return source.problem(path, found, *_wanted(model, location, error))


def _belongs(model: type[Section], key: str, said: dict[str, Any]) -> str | None:
    """Where a key belongs that stands in the wrong place: in this file, by the task that it asks for, else in the other
    kind of file."""
    task = said.get("task")
    chosen = task.get("type") if isinstance(task, dict) else None
    if places := _places(model, key, chosen):
        return f"it belongs {places}"
    other, file = (SiteConfig, "site.yaml") if model is not SiteConfig else (job_config(), "a job")
    places = _places(other, key, None)
    return f"it belongs into {file}, {places}" if places else None


def _places(model: type[Section], key: str, task: Any) -> str | None:
    """The mappings of a file that know the key, at most three, the outermost first; None where none does."""
    found = {path for path, section in sections_below(model, task) if key in keys_of(section)}
    ordered = sorted(found, key=lambda path: (len(path), path))
    told = [f"under {': '.join(path)}" if path else "at the top of the file" for path in ordered]
    return " or ".join(told[:3]) or None


def _is_echo(error: dict[str, Any]) -> bool:
    """Whether a list is only called too short because items of it are wrong, which is told of themselves."""
    return bool(error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"])


def _wanted(model: type[Section], location: Steps, error: dict[str, Any]) -> tuple[str, str | None]:
    """The pair (what was expected instead, the remedy)."""
    context, value = error.get("ctx", {}), error["input"]
    if value is None:
        return "a value", "write one, or remove the key"
    match error["type"]:
        case "string_type":
            if isinstance(value, float):
                return "a text", "put it in quotes"
            return "a text", f'put it in quotes: "{str(value).lower()}"' if isinstance(value, int) else None
        case "int_type" | "int_from_float":
            return "a whole number", "remove the quotes" if _is_number(value) else None
        case "float_type":
            return "a number", "remove the quotes" if _is_number(value) else None
        case "tuple_type":
            return "a list", f'put it in brackets: ["{value}"]' if isinstance(value, str) else None
        case "bool_type":
            meant = _YAML_1_1.get(str(value).lower())
            more = f", as YAML 1.2 does: {value} is a text" if isinstance(value, str) else ""
            return "true or false", f"write {meant}{more}" if meant else None
        case "model_type" | "model_attributes_type" | "dict_type":
            section = section_at(model, location)
            return "a mapping of keys to values" + (", or a name" if section and is_named(section) else ""), None
        case "too_short":
            return f"at least {context['min_length']} {location[-1]}", None
        case "literal_error":
            choices = [choice.strip("'") for choice in str(context["expected"]).replace(" or ", ", ").split(", ")]
            return _one_of(choices), did_you_mean(str(value), choices)
        case "string_pattern_mismatch":
            section = section_at(model, location[:-1])
            return (section and section.model_fields[str(location[-1])].description) or "", None
    return str(error["msg"]).removeprefix("Input should be "), None


_YAML_1_1 = {
    **dict.fromkeys(("yes", "on", "y", "true", "1"), "true"),
    **dict.fromkeys(("no", "off", "n", "false", "0"), "false"),
}


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value.replace(".", "", 1).isdigit()


def _inside(path: Steps) -> str:
    parents = [str(step + 1) if isinstance(step, int) else step for step in path[:-1]]
    return f" in {' '.join(parents)}" if parents else ""


def _one_of(choices: list[str]) -> str:
    return f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]
