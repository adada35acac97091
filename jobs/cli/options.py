"""Options and arguments that several commands have, and the checks of what is given for them."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

import audit
from jobs.config.load import did_you_mean
from jobs.config.workspace import Workspace, find_workspace, no_such_job
from jobs.errors import ConfigError, Problem

MAX_BYTES = 2**20  # of a file that is given: a proof of the longest entry takes a tenth of it
_MOST_TEXT = 4_096  # characters of a text that goes into the log


def option(names: str, text: str, metavar: str | None = None, **more: Any) -> Any:
    """An option: its names with a blank between them, its help, and what its value is called."""
    return typer.Option(*names.split(), metavar=metavar, help=text, **more)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """An argument: how it is called, and its help."""
    return typer.Argument(metavar=metavar, help=text, **more)


def job_names(incomplete: str) -> list[str]:
    """The jobs that a shell may complete a word to: those of the workspace that the environment or the current folder
    gives."""
    try:
        folder = find_workspace(None) / "jobs"
    except ConfigError:
        return []
    return sorted(path.stem for path in folder.glob("*.yaml") if path.stem.startswith(incomplete))


def job_argument(text: str) -> Any:
    """The argument JOB."""
    return argument("JOB", text, autocompletion=job_names)


_JOBS: Any = job_argument("A job of the workspace (jobs/NAME.yaml), or a path to a YAML file.")
Jobs = Annotated[list[str], _JOBS]
SomeJobs = Annotated[list[str] | None, _JOBS]
Document = Annotated[str, argument("DOC", "Its path below the input folder, or its sha256 (six digits or more).")]
OutFile = Annotated[Path | None, option("--out -o", "Write it to this file.", "FILE")]
Witnesses = Annotated[
    list[str] | None,
    option("--witness", "Demand the cosignature of this witness (its public key, or a file with it).", "KEY"),
]
NewPassphrase = Annotated[
    Path | None,
    option(
        "--passphrase-file", "Protect the new key with the passphrase in this file, which only its owner may read.",
        "PATH",
    ),
]  # fmt: skip
Passphrase = Annotated[
    Path | None, option("--passphrase-file", "The passphrase of --key; else the systemd credential, if any.", "FILE")
]
Newest = Annotated[bool, option("--newest", "Of each path only the newest file, whatever the job says.")]
AllVersions = Annotated[
    bool, option("--all-versions", "Of each path all files, also where the job says: versions: newest.")
]
Wait = Annotated[float, option("--wait", "Wait so long while another process holds the workspace.", "SECONDS", min=0)]
By = Annotated[str | None, option("--by", "Who decides it; the user of the operating system if left out.", "PERSON")]
Reason = Annotated[str, option("--reason", "Why; it stands in the log.", "TEXT")]
From = Annotated[
    str | None, option("--from", "From this day (UTC) or moment on: 2026-11-20, 2026-11-20T22:00:00Z.", "DATE")
]
To = Annotated[str | None, option("--to", "Up to this day, which counts, or up to this moment.", "DATE")]
States = Annotated[list[str] | None, option("--state", "Only rows in this state; may be given several times.", "STATE")]
Labels = Annotated[list[str] | None, option("--label", "Only rows with this label; also several times.", "LABEL")]
Folder = Annotated[str | None, option("--folder", "Only documents from this folder, or below it.", "FOLDER")]
Night = Annotated[
    str | None, option("--night", "Only rows of this night, by the date of its evening: 2026-11-23.", "DATE")
]
Text = Annotated[str | None, option("--text", "Only rows whose path, answer or reason has this text.", "TEXT")]


@contextmanager
def refusing(
    where: str, *kinds: type[Exception], expected: str | None = None, remedy: str | None = None
) -> Iterator[None]:
    """ConfigError for what is refused within: it is a mistake of the command, at `where`."""
    try:
        yield
    except kinds as error:
        found = error.args[0] if isinstance(error, LookupError) else error
        raise ConfigError(Problem(where, str(found), expected, remedy)) from error


def newest_of(newest: bool, all_versions: bool) -> bool | None:
    """What --newest and --all-versions ask for; None where neither is given, and the job says it. ConfigError for
    both."""
    if newest and all_versions:
        raise ConfigError(Problem("--newest", "given together with --all-versions", "one of them", "leave out one"))
    return newest if newest or all_versions else None


def check_one_of(option: str, said: str, known: list[str], *, meant: str | None = None) -> None:
    """ConfigError for a word that is none of them; `meant`: the word, where more was said."""
    if said not in known:
        remedy = did_you_mean(meant or said, known)
        raise ConfigError(Problem(option, repr(said), f"one of {', '.join(known)}", remedy))


def check_job(place: Workspace, job: str) -> None:
    """ConfigError for a job that has neither a file nor results."""
    there = {path.name for path in (place.root / "outbox").glob("*")}
    known = sorted({path.stem for path in place.job_files()} | there)
    if job not in known:
        raise ConfigError(no_such_job(place, job, known))


def check_text(option: str, text: str, expected: str = "why; it stands in the log") -> None:
    """ConfigError for the text of an option that says nothing, or too much for the log."""
    if not text.strip():
        raise ConfigError(Problem(option, "is empty", expected))
    if len(text) > _MOST_TEXT:
        raise ConfigError(Problem(option, f"has {len(text):,} characters", f"at most {_MOST_TEXT:,}"))


def person(by: str | None) -> str:
    """The person whom --by names, else the user whose process this is. ConfigError for what is no name."""
    if by is not None:
        check_text("--by", by, "a person's name; it stands in the log")
        return by.strip()
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container's user without a line in /etc/passwd
        return str(os.geteuid())


def span(since: str | None, until: str | None) -> tuple[str | None, str | None]:
    """The first time that --from and --to let count, as the log writes times, and the first one that counts no more.
    ConfigError."""
    first = None if since is None else _moment("--from", since)
    end = None if until is None else _moment("--to", until) + timedelta(days=_is_day(until))
    if first and end and first >= end:
        raise ConfigError(Problem("--to", f"{until} lies before {since}", "the first day, or a later one"))
    return _told(first), _told(end)


def _told(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _is_day(text: str) -> bool:
    return len(text) == len("2026-11-20")


def _moment(option: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if _is_day(text) else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        expected = "a day such as 2026-11-20, or a moment such as 2026-11-20T22:00:00Z"
        raise ConfigError(Problem(option, f"{text!r}", expected)) from None


def day(option: str, text: str | None, expected: str) -> date | None:
    """The day that an option names. ConfigError."""
    try:
        return date.fromisoformat(text) if text is not None else None
    except ValueError as error:
        raise ConfigError(Problem(option, f"{text!r} is no day", expected)) from error


def read_given(path: Path, what: str) -> bytes:
    """The bytes of a small file that an option names. ConfigError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(Problem(str(path), f"cannot be read: {error.strerror}", what)) from error
    if len(data) > MAX_BYTES:
        raise ConfigError(Problem(str(path), f"longer than {MAX_BYTES:,} bytes", what))
    return data


_PROOF = b"c2sp.org/tlog-proof@"
_REQUEST = b"old "


def read_note(path: Path, what: str = "a checkpoint of this log", *, request: bool = False) -> bytes:
    """Read a note with the line ends that it was written with: scanning and mailing change them, and nothing else may.
    `request`: it may be one to a witness. ConfigError."""
    note = read_given(path, what).replace(b"\r\n", b"\n").rstrip(b" \t\n") + b"\n"
    if note.startswith(_PROOF):
        raise ConfigError(Problem(str(path), "a proof, which `cloister audit check` checks", what))
    if note.startswith(_REQUEST) and not request:
        raise ConfigError(Problem(str(path), "a request, which `audit witness cosign` takes", what))
    if "\n— ".encode() not in note:  # before a log is accused of what is a slip in the file's name
        raise ConfigError(Problem(str(path), "not signed: no line of it begins with a dash and a signer's name", what))
    return note


def read_proof(path: Path) -> str:
    """The text of a proof, which may be a wrong one. ConfigError."""
    what = "a file that `cloister audit prove` wrote"
    if not (data := read_given(path, what)).startswith(_PROOF):
        raise ConfigError(Problem(str(path), "no proof: its first line is another", what))
    return data.decode(errors="surrogateescape")


def read_key(option: str, text: str, *, witness: bool = False) -> str:
    """The public key of a log (or of a witness) that an option names, or what the file of that name holds.
    ConfigError."""
    file, what = Path(text), "a C2SP verifier key (origin+hash+base64), or a file with one"
    named = "+" not in text
    key = read_given(file, what).decode(errors="replace").strip() if named and file.exists() else text
    try:
        (audit.parse_witness_key if witness else audit.parse_public_key)(key)
    except audit.KeyRefused as error:
        place = "" if not named else f"{text}: " if file.exists() else f"there is no file {text!r}, and "
        raise ConfigError(Problem(option, f"{place}{error}", what)) from error
    return key


def read_witnesses(keys: list[str] | None) -> list[str]:
    """The public keys that --witness names. ConfigError."""
    return [read_key("--witness", each, witness=True) for each in keys or ()]


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """ConfigError where a file that an option names cannot be written, with what helps if its folder is missing."""
    try:
        yield
    except OSError as error:
        found, remedy = error.strerror, None
        if isinstance(error, FileNotFoundError) and not (folder := path.parent).exists():
            found, remedy = f"there is no folder {folder}", f"mkdir -p {quote(str(folder))}"
        raise ConfigError(Problem(str(path), f"cannot be written: {found}", None, remedy)) from error


def write_given(path: Path | None, data: bytes) -> None:
    """Put `data` there, if a file is named, in the place of what was there. ConfigError."""
    if path:
        with writing(path):
            path.write_bytes(data)
