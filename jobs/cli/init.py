"""`cloister init`: makes a workspace, or completes one."""

import json
import os
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

import audit
import jobs
import pipeline
from jobs.bundle.remove import example_documents, installed_version
from jobs.cli.options import JsonOption
from jobs.cli.output import print_json, say, say_list
from jobs.config.load import did_you_mean, load_job, load_site, shown
from jobs.config.plan import make_site
from jobs.config.site import ORIGIN, ORIGIN_MEANS
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


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make; it must be empty or not exist.")],
    example: Annotated[
        list[str] | None,
        typer.Option("--example", metavar="NAME", help="Copy this example job into jobs/; may be given several times."),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option("--origin", metavar="NAME", help="The log's name, which no other log has.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a workspace: folders, signing key, empty audit log, site.yaml.

    Where Cloister was installed from a bundle, an example brings its model and a few documents from there.

    On a workspace it adds missing folders, the examples asked for, what .gitignore lacks and today's
    jobs/job.schema.json, from which editors know the keys of a job; it forgets on which disk or share a folder lay that
    lies elsewhere now, and changes nothing else.
    """
    if origin is not None and not re.fullmatch(ORIGIN, origin):
        raise ConfigError(Problem("--origin", f"{origin!r}", ORIGIN_MEANS))
    files = [example_file(name) for name in example or []]
    new = not (folder / "site.yaml").is_file()
    keep_private()
    if not new:
        refuse_root(folder)
        refuse_newer(folder)
    if new:
        _refuse_inside(folder)
        _make(folder, origin or default_origin(folder))
    elif origin is not None and origin != load_site(folder / "site.yaml").log.origin:
        raise ConfigError(Problem(shown(folder), "its log has another origin already", None, "leave out --origin"))
    for name in FOLDERS:
        (folder / name).mkdir(mode=0o700 if name in ("keys", "private") else 0o777, exist_ok=True)
    audit.write_file_atomically(folder / "jobs" / SCHEMA, (_CONFIGS / SCHEMA).read_bytes())
    copied = [_copy(file, folder) for file in files]
    brought = _bring(folder, [job for job, is_new in copied if is_new])
    told = [*forget_mounts(folder), *ignore_for_git(folder)]
    _tell(folder, new, [job for job, _ in copied], brought, told, as_json)


def default_origin(folder: Path) -> str:
    """Machine and folder, as a name that a checkpoint may bear."""
    return re.sub(r"[^A-Za-z0-9._/-]", "-", f"{os.uname().nodename}/{folder.absolute().name}")


def examples() -> dict[str, Path]:
    """The example jobs that came with Cloister, by name."""
    return {file.stem: file for file in sorted(_CONFIGS.glob("*.yaml"))}


def example_file(name: str) -> Path:
    """The example job of that name. ConfigError."""
    known = examples()
    if name not in known:
        remedy = did_you_mean(name, list(known))
        raise ConfigError(Problem("--example", f"no example {name!r}", f"one of {', '.join(known)}", remedy))
    return known[name]


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
    for name in FOLDERS:
        (folder / name).mkdir(mode=0o700 if name in ("keys", "private") else 0o777)
    key = folder / "keys" / "log.key"
    public_key = audit.generate_key(key, origin)
    audit.Log.create(folder / "audit", key_path=key, public_key=public_key)
    pipeline.write_version(folder)
    site = _SITE.format(origin=json.dumps(origin), public_key=json.dumps(public_key))
    audit.write_file_atomically(folder / "site.yaml", site.encode())


def ignore_for_git(folder: Path) -> list[str]:
    """Let git leave out what may not be committed with the jobs: keys, documents, results, models and the log. A
    .gitignore that is there keeps every byte, and gets what it lacks at its end; what was done, in a sentence."""
    file, kept = folder / ".gitignore", {"jobs"}
    wanted = [f"/{name}/" for name in ("audit", *FOLDERS) if name not in kept]
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
        name = load_job(folder / "jobs" / f"{job}.yaml").config.model.name
        model = version / "models" / f"{name}.gguf"
        if model.is_file() and not (folder / "models" / model.name).exists():
            facts = pipeline.copy_model(folder / "models", model, name)
            for news in pipeline.model_news(name, None, facts["sha256"], "import"):
                record(make_site(open_workspace(folder)), news)
            brought.setdefault(job, []).append(f"models/{model.name}")
        for document in example_documents(version, job):
            target = folder / "inbox" / job / document.name
            if not target.exists():
                shutil.copy2(document, target)
                brought.setdefault(job, []).append(f"inbox/{job}/{document.name}")
    return brought


def _tell(
    folder: Path, new: bool, copied: list[str], brought: dict[str, list[str]], told: list[str], as_json: bool
) -> None:
    site = load_site(folder / "site.yaml")
    if as_json:
        log = {"origin": site.log.origin, "public_key": site.log.public_key}
        made = {"workspace": folder.absolute(), "created": new, "jobs": copied, "brought": brought, "told": told}
        print_json({**made, "log": log})
        return
    say(f"{'Made' if new else 'Completed'} the workspace {shown(folder)}")
    say(f"  audit log   {site.log.origin}")
    say(f"  public key  {site.log.public_key}")
    say("              keep a copy of it elsewhere: it is what proves the log")
    for sentence in told:
        say(f"  {sentence}")
    for job, files in brought.items():
        say(f"  from the installation, for {job}:")
        say_list(files, len(files))
    say("Next:")
    say(f"  cd {shown(folder)}")
    job = copied[0] if copied else "JOB"
    for name in copied:
        say(f"  put documents into inbox/{name}/")
    models = {load_job(folder / "jobs" / f"{name}.yaml").config.model.name: None for name in copied}
    for model in models or ["NAME"]:
        if not (folder / "models" / f"{model}.gguf").exists():
            say(f"  cloister model import FILE.gguf or a Hugging Face FOLDER --name {model}")
    if not copied:
        example = next(iter(examples()), "NAME")
        say(f"  cloister new JOB; or copy an example: cloister init . --example {example}")
    say(f"  cloister check {job} && cloister run {job}")
