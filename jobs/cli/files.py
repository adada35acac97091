"""Files that an operator names: keys, checkpoints, proofs. What cannot be read or written is a ConfigError."""

from pathlib import Path

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


def read_note(path: Path, what: str) -> bytes:
    """The same, with the line ends that it was written with: scanning and mailing change them, and nothing else may."""
    note = read_given(path, what).replace(b"\r\n", b"\n").rstrip(b" \t\n") + b"\n"
    if "\n— ".encode() not in note:  # before a log is accused of what is a slip in the file's name
        raise ConfigError(Problem(str(path), "not signed: no line of it begins with a dash and a signer's name", what))
    return note


def write_given(path: Path, data: bytes) -> None:
    """Put `data` there, in the place of what was there."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise ConfigError(Problem(str(path), f"cannot be written: {error.strerror}")) from error


def read_key(text: str) -> str:
    """The public key, or what the file of that name holds."""
    file = Path(text)
    if "+" in text or not file.is_file():
        return text
    return read_given(file, "a file with a public key").decode(errors="replace").strip()


def bad_key(option: str, error: Exception) -> ConfigError:
    """What is told of an option that should name a public key."""
    return ConfigError(Problem(option, str(error), "a C2SP verifier key (origin+hash+base64), or a file with one"))
