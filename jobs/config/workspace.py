"""The workspace of a command, the job files in it, and the disks and shares on which their folders lie.

What lands below a mount point while nothing is mounted there is hidden as soon as something is. So state/mounts/JOB
keeps the folder of a job and the mount point on which it lay, if that is not the one of the workspace: two lines.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import audit
import pipeline
from jobs.config.amend import settle_rotation
from jobs.config.load import LoadedJob, did_you_mean, load_job, load_site, shown
from jobs.config.site import SiteConfig
from jobs.errors import ConfigError, Problem, Steps, user_name

VARIABLE = "CLOISTER_WORKSPACE"
CREDENTIAL = "cloister-key-passphrase"
ENCRYPTION = "cloister-encryption-key"
SCHEMA = "job.schema.json"
"""The file in jobs/ from which an editor knows the keys of a job."""
ASK = "is the disk or share mounted on which it lies? findmnt lists what is"
FOLDERS = ("jobs", "inbox", "outbox", "archive", "failed", "models", "keys", "private", "state")


@dataclass(frozen=True)
class Workspace:
    """A folder with a site.yaml, and what that says."""

    root: Path
    site: SiteConfig

    @property
    def jobs(self) -> Path:
        """The folder of the job files."""
        return self.root / "jobs"

    @property
    def log(self) -> Path:
        """The folder of the audit log."""
        return self.root / "audit"

    @property
    def state(self) -> Path:
        """Whatever may be deleted at any time."""
        return self.root / "state"

    @property
    def passphrase_file(self) -> Path | None:
        """The passphrase file of the log's key: the one which site.yaml names, else the systemd credential if there is
        one."""
        if (named := self.site.log.passphrase_file) is not None:
            return self.root / named
        return credential(CREDENTIAL)

    @property
    def at_rest(self) -> pipeline.atrest.AtRest:
        """What is kept of documents is written and read by this: by the key files which site.yaml names, else by the
        systemd credentials."""
        said = self.site.encryption
        if said is None:
            return pipeline.atrest.AtRest()
        return pipeline.atrest.AtRest(
            keys=pipeline.atrest.store_of(self.root),
            key_file=self._key_file(said.key_file, ENCRYPTION),
            previous_file=self._key_file(said.previous_key_file, f"{ENCRYPTION}-previous"),
            encrypts=said.new_files == "encrypted",
        )

    def _key_file(self, named: str | None, otherwise: str) -> Path | None:
        return credential(otherwise) if named is None else self.root / named

    def job_files(self) -> list[Path]:
        """The job files, sorted."""
        return job_files_in(self.root)

    def other_files(self) -> list[Path]:
        """The files in jobs/ that are no job files by their names, such as job.yml."""
        others = (path for path in self.jobs.glob("*") if not path.name.startswith(".") and path.suffix != ".yaml")
        return sorted(path for path in others if path.name != SCHEMA)

    def misnamed_files(self) -> list[Path]:
        """Those of them that were meant for jobs: job.yml."""
        return [path for path in self.other_files() if path.suffix.lower() in {".yml", ".yaml"}]


def job_files_in(folder: Path) -> list[Path]:
    """The job files of the workspace in a folder, sorted, whatever its site.yaml says."""
    return sorted(path for path in (folder / "jobs").glob("*.yaml") if not path.name.startswith("."))


def credential(name: str) -> Path | None:
    """The file of a secret that systemd gives to this service (LoadCredential, LoadCredentialEncrypted), if it does."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return Path(folder, name) if folder and Path(folder, name).is_file() else None


def find_workspace(option: Path | None) -> Path:
    """`--workspace`, else the environment, else the nearest folder upward with a site.yaml. ConfigError."""
    asked = option or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if asked is not None:
        if not (asked / "site.yaml").is_file():
            source = "--workspace" if option else VARIABLE
            raise ConfigError(_no_workspace(str(asked), f"no workspace ({source}): it holds no site.yaml", str(asked)))
        return asked.absolute()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "site.yaml").is_file():
            return folder
    raise ConfigError(_no_workspace(str(here), "no workspace here or in a folder above", "DIR"))


def _no_workspace(where: str, found: str, folder: str) -> Problem:
    return Problem(where, found, "a folder with a site.yaml", f"cloister init {folder}, or name one with --workspace")


def open_workspace(option: Path | None) -> Workspace:
    """The workspace of a command. ConfigError."""
    root = find_workspace(option)
    keep_private()
    refuse_root(root)
    refuse_newer(root)
    if settle_rotation(root):
        print("site.yaml names the log's new key now: its rotation had been cut off.", file=sys.stderr)
    return Workspace(root, load_site(root / "site.yaml"))


def keep_private() -> None:
    """Let nobody but this user read what this process makes. A site that lets groups read some folders gives these a
    default list of rights, which holds whatever the umask (configs/systemd/roles.conf)."""
    os.umask(0o077)


def refuse_root(root: Path) -> None:
    """ConfigError for root in the workspace of another user, who could not read what root makes in it."""
    owner = root.stat().st_uid
    if os.geteuid() != 0 or owner == 0:
        return
    name = user_name(owner)
    found = f"belongs to {name}, who could not read what root makes in it"
    raise ConfigError(Problem(shown(root), found, f"the user {name}", f"sudo -u {name} cloister ..."))


def refuse_newer(root: Path) -> None:
    """ConfigError for a workspace of a format that this version does not know. Nothing is changed."""
    try:
        pipeline.version.check_version(root)
    except pipeline.version.WorkspaceRefusedError as error:
        where = shown(root / pipeline.version.VERSION_FILE)
        raise ConfigError(Problem(where, error.found, error.expected, error.remedy)) from error


def find_job(workspace: Workspace, name_or_path: str) -> Path:
    """The file of a job: a path if it looks like one, else a job of the workspace. ConfigError."""
    path = Path(name_or_path)
    if "/" in name_or_path or path.suffix == ".yaml":
        refuse_ending(path)
        return path
    path = workspace.jobs / f"{name_or_path}.yaml"
    if not path.exists():
        raise ConfigError(no_such_job(workspace, name_or_path, [file.stem for file in workspace.job_files()]))
    return path


def refuse_ending(path: Path) -> None:
    """ConfigError for a job file that ends in .yml, which no service would find."""
    if path.suffix.lower() in (".yml", ".yaml") and path.suffix != ".yaml":
        remedy = f"mv {quote(shown(path))} {quote(shown(path.with_suffix('.yaml')))}" if path.exists() else None
        raise ConfigError(Problem(shown(path), f"a job file that ends in {path.suffix}", "the ending .yaml", remedy))


def no_such_job(workspace: Workspace, name: str, known: list[str]) -> Problem:
    """The problem with the name of a job that is none of those that are known. ConfigError where the file of that name
    has another ending."""
    stem = re.sub(r"\.ya?ml$", "", name, flags=re.IGNORECASE)
    for path in workspace.other_files():
        if path.stem == stem:
            refuse_ending(path)
    if stem != name and stem in known:
        return Problem(name, "the name of a file, not of a job", f"the job's name: {stem}")
    expected = f"one of {', '.join(known)}" if known else f"a file in {shown(workspace.jobs)}, which holds none"
    remedy = did_you_mean(stem, known) if known else f"cloister new {shlex.quote(stem)}"
    return Problem(shown(workspace.jobs / f"{stem}.yaml"), f"no job {name!r}", expected, remedy)


def load_job_of(workspace: Workspace, path: Path) -> LoadedJob:
    """The job in `path`. In jobs/ a file is named as its job, so that one name means one job. ConfigError."""
    job = load_job(path)
    if path.absolute().parent == workspace.jobs and path.stem != job.name:
        found = f"the job {job.name!r} in a file named {path.name}"
        remedy = f"rename the file to {job.name}.yaml, or write job: {path.stem}"
        raise ConfigError(job.source.problem(("job",), found, "a file named as its job", remedy))
    return job


def readable_jobs(workspace: Workspace) -> Iterator[LoadedJob]:
    """The jobs of the workspace whose files can be read; `cloister check` tells what is wrong with the others."""
    for path in workspace.job_files():
        try:
            yield load_job_of(workspace, path)
        except ConfigError:
            continue


def mount_point(path: Path) -> Path:
    """The nearest folder, from what is there of the path upward, on which a file system is mounted."""
    real = path.resolve()
    return next(each for each in (real, *real.parents) if os.path.ismount(each))


def mount_problem(workspace: Workspace, job: LoadedJob, folder: Path) -> Problem | None:
    """Why the job's folder, which is there, does not lie where it should; where it does, that is kept."""
    point, own = mount_point(folder), mount_point(workspace.root)
    is_apart = point not in (own, Path("/"))
    if job.config.input.mounted and not is_apart:
        found = (
            f"the folder {folder}, on which nothing is mounted: it lies on {point}, as the workspace or the system does"
        )
        return job.source.problem(("input", "mounted"), found, "a folder on a disk or share of its own", ASK)
    kept = _read(_file(workspace, job.name))
    before = kept[1] if kept and kept[0] == folder else None  # where the folder lay last, if that is known
    if before not in (None, point) and not point.is_relative_to(before):
        at: Steps = ("input", "folder") if job.config.input.folder else ("job",)
        found = f"the folder {folder}, which lies on {point} now, and lay on {before} last time"
        remedy = f"is it mounted? findmnt {before}; if it is to lie where it does now: cloister init {workspace.root}"
        return job.source.problem(at, found, f"the file system that is mounted on {before}", remedy)
    if is_apart and before != point:
        with contextlib.suppress(OSError):  # who only looks may not write there
            _file(workspace, job.name).parent.mkdir(mode=0o700, exist_ok=True)
            audit.write_file_atomically(_file(workspace, job.name), f"{folder}\n{point}\n".encode())
    return None


def forget_mounts(root: Path) -> list[str]:
    """Forget on which mount points folders lay that lie elsewhere now; a sentence for each."""
    told = []
    for file in sorted((root / "state/mounts").glob("*")):
        folder, point = _read(file) or (None, None)
        if folder is None or point is None or not (now := mount_point(folder)).is_relative_to(point):
            file.unlink()
            told += (
                [f"{folder} lies on {now} now, and lay on {point} last time: it is taken as it is"] if folder else []
            )
    return told


def _file(workspace: Workspace, job: str) -> Path:
    return workspace.state / "mounts" / job


def _read(file: Path) -> tuple[Path, Path] | None:
    try:
        folder, point = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    return Path(folder), Path(point)
