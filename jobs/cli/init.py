"""`cloister init`: makes a workspace, or completes one."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import audit
import jobs
import pipeline
from jobs.bundle.remove import example_documents, installed_version
from jobs.cli.options import argument, option
from jobs.cli.printing import Answer, listed
from jobs.config.load import did_you_mean, load_job, load_site, shown
from jobs.config.plan import make_site
from jobs.config.site import ORIGIN, ORIGIN_MEANS, SiteConfig
from jobs.config.workspace import (
    FOLDERS,
    SCHEMA,
    forget_mounts,
    keep_private,
    open_workspace,
    refuse_newer,
    refuse_root,
)
from jobs.errors import ConfigError, Problem
from jobs.record import record

_CONFIGS = Path(jobs.__file__).parent.parent / "configs"
_OF_GIT = {".git", ".gitignore"}
_SITE = """\
# A workspace of Cloister. Keep a copy of public_key elsewhere: it is what proves the audit log.
log:
  origin: {origin}
  key: keys/log.key
  public_key: {public_key}

# Limits for all jobs; what goes beyond them is that document's failure.
limits:
  document_mib: 256
  parse_seconds: 60
  parse_memory_mib: 1024
  isolation: required  # no document is read where parsers cannot be held; best_effort: it is, and every run says so
"""


@dataclass(frozen=True)
class Made:
    """A workspace that was made or completed: the jobs that were asked for, what each brought from the installation,
    and sentences on what else was done."""

    workspace: Path
    created: bool
    jobs: list[str]
    brought: dict[str, list[str]]
    told: list[str]


def init(
    folder: Annotated[Path, argument("DIR", "The folder to make; it must be empty or not exist.")],
    example: Annotated[
        list[str] | None, option("--example", "Copy this example job into jobs/; may be given several times.", "NAME")
    ] = None,
    origin: Annotated[str | None, option("--origin", "The log's name, which no other log has.", "NAME")] = None,
) -> Answer:
    """Make a workspace: folders, signing key, empty audit log, site.yaml.

    Where Cloister was installed from a bundle, an example brings its model and a few documents from there.

    On a workspace it adds missing folders, the examples asked for, what .gitignore lacks and today's
    jobs/job.schema.json, from which editors know the keys of a job; it forgets on which disk or share a folder lay that
    lies elsewhere now, and changes nothing else.
    """
    if origin is not None and not re.fullmatch(ORIGIN, origin):
        raise ConfigError(Problem("--origin", f"{origin!r}", ORIGIN_MEANS))
    known = examples()
    for name in example or ():
        if name not in known:
            remedy = did_you_mean(name, list(known))
            raise ConfigError(Problem("--example", f"no example {name!r}", f"one of {', '.join(known)}", remedy))
    new = not (folder / "site.yaml").is_file()
    keep_private()
    if new:
        _refuse_inside(folder)
        machine = re.sub(r"[^A-Za-z0-9._/-]", "-", f"{os.uname().nodename}/{folder.absolute().name}")
        _make(folder, origin or machine)
    else:
        refuse_root(folder)
        refuse_newer(folder)
        if origin is not None and origin != load_site(folder / "site.yaml").log.origin:
            found = "its log has another origin already"
            raise ConfigError(Problem(shown(folder), found, None, "leave out --origin"))
    _make_folders(folder)
    audit.write_file_atomically(folder / "jobs" / SCHEMA, (_CONFIGS / SCHEMA).read_bytes())
    copied = [_copy(known[name], folder) for name in example or ()]
    brought = _bring(folder, [job for job, is_new in copied if is_new])
    told = [*forget_mounts(folder), *ignore_for_git(folder)]
    made = Made(folder.absolute(), new, [job for job, _ in copied], brought, told)
    site = load_site(folder / "site.yaml")
    log = {"origin": site.log.origin, "public_key": site.log.public_key}
    return Answer({**vars(made), "log": log}, _lines(folder, made, site))


def examples() -> dict[str, Path]:
    """The example jobs that came with Cloister, by name."""
    return {file.stem: file for file in sorted(_CONFIGS.glob("*.yaml"))}


def _refuse_inside(folder: Path) -> None:
    """ConfigError for a folder within one in which a workspace keeps what is its own."""
    for path in (Path(os.path.normpath(folder.absolute())), folder.resolve()):
        for inner, root in pairwise((path, *path.parents)):
            if inner.name in ("audit", *FOLDERS) and (root / "site.yaml").is_file():
                found = f"it lies in {inner.name}/ of the workspace {root}, which keeps its own files there"
                raise ConfigError(Problem(shown(folder), found, "a folder outside of it", "choose another folder"))


def _make(folder: Path, origin: str) -> None:
    """site.yaml comes last: only then is the folder a workspace."""
    if folder.exists() and (not folder.is_dir() or {each.name for each in folder.iterdir()} - _OF_GIT):
        found = "neither empty nor a workspace (it has no site.yaml)"
        raise ConfigError(Problem(shown(folder), found, "a new or empty folder", "choose another folder"))
    folder.mkdir(parents=True, exist_ok=True)
    _make_folders(folder)
    key = folder / "keys" / "log.key"
    public_key = audit.generate_key(key, origin)
    audit.Log.create(folder / "audit", key_path=key, public_key=public_key)
    pipeline.version.write_version(folder)
    site = _SITE.format(origin=json.dumps(origin), public_key=json.dumps(public_key))
    audit.write_file_atomically(folder / "site.yaml", site.encode())


def _make_folders(folder: Path) -> None:
    for name in FOLDERS:
        (folder / name).mkdir(mode=0o700 if name in ("keys", "private") else 0o777, exist_ok=True)


def ignore_for_git(folder: Path) -> list[str]:
    """Let git leave out what may not be committed with the jobs: keys, documents, results, models and the log. A
    .gitignore that is there keeps every byte, and gets what it lacks at its end; what was done, in a sentence."""
    file = folder / ".gitignore"
    wanted = [f"/{name}/" for name in ("audit", *FOLDERS) if name != "jobs"]
    before = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    named = {line.strip().strip("/") for line in before.splitlines()}
    lacking = [line for line in wanted if line.strip("/") not in named]
    if not lacking or "*" in named:
        return []
    start = f"{before}\n" if before and not before.endswith("\n") else before
    text = f"{start}# Of a workspace of Cloister: never commit its keys, documents, results and log.\n"
    audit.write_file_atomically(file, "\n".join([text.rstrip("\n"), *lacking, ""]).encode(errors="surrogateescape"))
    return [f"{'added to' if before else 'made'} .gitignore: {', '.join(lacking)}"]


def _copy(file: Path, folder: Path) -> tuple[str, bool]:
    """Copies one example and makes its inbox; its name, and whether it was not there. A job of that name that was
    changed stays as it is."""
    target = folder / "jobs" / file.name
    new = not target.exists()
    if not new and target.read_bytes() != file.read_bytes():
        raise ConfigError(Problem(shown(target), "a job of this name that differs from the example", None, "rename it"))
    target.write_bytes(file.read_bytes())
    job = load_job(target)
    (folder / "inbox" / job.name).mkdir(exist_ok=True)
    return job.name, new


def _bring(folder: Path, jobs: list[str]) -> dict[str, list[str]]:
    """Bring models and documents of new jobs from the installation, if it has them: what was brought, by job."""
    version, brought = installed_version(), dict[str, list[str]]()
    for job in jobs if version else ():
        assert version
        name = _model_of(folder, job)
        model = version / "models" / f"{name}.gguf"
        if model.is_file() and not (folder / "models" / model.name).exists():
            facts = pipeline.answer.copy_model(folder / "models", model, name)
            for news in pipeline.records.model_news(name, None, facts["sha256"], "import"):
                record(make_site(open_workspace(folder)), news)
            brought.setdefault(job, []).append(f"models/{model.name}")
        for document in example_documents(version, job):
            target = folder / "inbox" / job / document.name
            if not target.exists():
                shutil.copy2(document, target)
                brought.setdefault(job, []).append(f"inbox/{job}/{document.name}")
    return brought


def _model_of(folder: Path, job: str) -> str:
    return load_job(folder / "jobs" / f"{job}.yaml").config.model.name


def _lines(folder: Path, made: Made, site: SiteConfig) -> Iterator[str]:
    yield f"{'Made' if made.created else 'Completed'} the workspace {shown(folder)}"
    yield f"  audit log   {site.log.origin}"
    yield f"  public key  {site.log.public_key}"
    yield "              keep a copy of it elsewhere: it is what proves the log"
    yield from (f"  {sentence}" for sentence in made.told)
    for job, files in made.brought.items():
        yield f"  from the installation, for {job}:"
        yield from listed(files, len(files))
    yield "Next:  (a Hugging Face folder does in place of FILE.gguf)"
    yield f"  cd {shown(folder)}"
    yield from (f"  put documents into inbox/{name}/" for name in made.jobs)
    models = dict.fromkeys(_model_of(folder, name) for name in made.jobs)
    for model in models or ["NAME"]:
        if not (folder / "models" / f"{model}.gguf").exists():
            yield f"  cloister model import FILE.gguf --name {model}"
    if not made.jobs:
        yield f"  cloister new JOB; or copy an example: cloister init . --example {next(iter(examples()), 'NAME')}"
    job = made.jobs[0] if made.jobs else "JOB"
    yield f"  cloister check {job} && cloister run {job}"
