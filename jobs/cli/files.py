"""Files that an operator names: keys, checkpoints, proofs. What cannot be read or written is a ConfigError."""

from pathlib import Path
from shlex import quote

import audit
from jobs.errors import ConfigError, Problem

MAX_BYTES = 2**20  # a proof of the longest entry takes a tenth of it


def read_given(path: Path, what: str) -> bytes:
    """The bytes of a small file."""
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


def read_note(path: Path, what: str, *, request: bool = False) -> bytes:
    """Read a note with the line ends that it was written with: scanning and mailing change them, and nothing else may.
    `request`: it may be one to a witness."""
    note = read_given(path, what).replace(b"\r\n", b"\n").rstrip(b" \t\n") + b"\n"
    if note.startswith(_PROOF):
        raise ConfigError(Problem(str(path), "a proof, which `cloister audit check` checks", what))
    if note.startswith(_REQUEST) and not request:
        raise ConfigError(Problem(str(path), "a request, which `audit witness cosign` takes", what))
    if "\n— ".encode() not in note:  # before a log is accused of what is a slip in the file's name
        raise ConfigError(Problem(str(path), "not signed: no line of it begins with a dash and a signer's name", what))
    return note


def read_proof(path: Path) -> str:
    """The text of a proof, which may be a wrong one."""
    what = "a file that `cloister audit prove` wrote"
    data = read_given(path, what)
    if not data.startswith(_PROOF):
        raise ConfigError(Problem(str(path), "no proof: its first line is another", what))
    return data.decode(errors="surrogateescape")


def unwritable(path: Path, error: OSError) -> ConfigError:
    """Why a file cannot be written, and what helps where its folder is missing."""
    if isinstance(error, FileNotFoundError) and not (folder := path.parent).exists():
        found, remedy = f"there is no folder {folder}", f"mkdir -p {quote(str(folder))}"
        return ConfigError(Problem(str(path), f"cannot be written: {found}", None, remedy))
    return ConfigError(Problem(str(path), f"cannot be written: {error.strerror}"))


def write_given(path: Path, data: bytes) -> None:
    """Put `data` there, in the place of what was there."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise unwritable(path, error) from error


def read_key(option: str, text: str, *, witness: bool = False) -> str:
    """The public key of a log (or of a witness) that an option names, or what the file of that name holds."""
    file, what = Path(text), "a C2SP verifier key (origin+hash+base64), or a file with one"
    named = "+" not in text
    key = read_given(file, what).decode(errors="replace").strip() if named and file.exists() else text
    try:
        (audit.parse_witness_key if witness else audit.parse_public_key)(key)
    except audit.KeyRefused as error:
        place = "" if not named else f"{text}: " if file.exists() else f"there is no file {text!r}, and "
        raise ConfigError(Problem(option, f"{place}{error}", what)) from error
    return key
