"""configs/README.md has every key of a job and of site.yaml, and the example of each is what the reader takes."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import audit
from jobs.config.job import job_config
from jobs.config.load import load_job, load_site
from jobs.config.site import SiteConfig
from jobs.errors import ConfigError
from tests.jobs.examples import JOB, SITE
from tests.jobs.keys import ENVIRONMENT, Key, keys, page, shown, value_at
from tests.pages import ROOT

REST = ("job: example", "model: {name: small}", "task: {type: summarize, sentences: 3}")


def whole(line: str, rest: tuple[str, ...]) -> str:
    """A file of this line or these, and of those of `rest` whose key they do not have."""
    said = {each.split(":")[0] for each in line.splitlines()}
    return "\n".join([line, *(other for other in rest if other.split(":")[0] not in said)]) + "\n"


def test_the_page_is_the_generated_one() -> None:
    assert (ROOT / "configs/README.md").read_text(encoding="utf-8") == page(), (
        "python -m tests.jobs.keys > configs/README.md"
    )


def test_every_key_has_an_example_and_every_example_a_key() -> None:
    assert {key.path for key in keys(job_config())} == JOB.keys()
    assert {key.path for key in keys(SiteConfig)} == SITE.keys()


@pytest.mark.parametrize("path", [*JOB, *SITE])
def test_an_example_has_its_key(path: str) -> None:
    value_at(YAML(typ="safe", pure=True).load({**JOB, **SITE}[path]), path)


@pytest.mark.parametrize("path", [*JOB, *SITE])
def test_what_the_page_shows_is_the_value(path: str) -> None:
    yaml = YAML(typ="safe", pure=True)
    (told,) = yaml.load(shown(Key(path, {}, False, False), {**JOB, **SITE}[path])).items()
    assert told == (path.rsplit(".", 1)[-1], value_at(yaml.load({**JOB, **SITE}[path]), path))


@pytest.mark.parametrize("path", JOB)
def test_an_example_is_a_valid_job(path: str, tmp_path: Path) -> None:
    file = tmp_path / "example.yaml"
    file.write_text(whole(JOB[path], REST))
    load_job(file)


@pytest.mark.parametrize("path", SITE)
def test_an_example_is_a_valid_site(path: str, tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(whole(SITE[path], (SITE["log"],)))
    load_site(file)


def test_a_wrong_example_would_be_refused(tmp_path: Path) -> None:
    file = tmp_path / "example.yaml"
    file.write_text(whole("input: {setle_seconds: 2}", REST))
    with pytest.raises(ConfigError):
        load_job(file)


def test_the_key_of_the_examples_is_one() -> None:
    public = YAML(typ="safe", pure=True).load(SITE["log"])["log"]["public_key"]
    assert audit.parse_public_key(public).origin == "example.org/cloister"


def test_every_variable_of_the_environment_is_named() -> None:
    files = [file for package in ("audit", "engine", "jobs", "pipeline") for file in (ROOT / package).rglob("*.py")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    used = set(re.findall(r'"(CLOISTER_[A-Z]+)"', text))
    assert used == set(re.findall(r"^\| `(CLOISTER_[A-Z]+)`", ENVIRONMENT, re.M))
