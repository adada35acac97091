"""Names of files that are made from names of documents: always possible, whatever the document is called.

A name is decided before anything is committed; afterwards it cannot be refused. So each part of a path is shortened to
what file systems take, and a Markdown file can never want the name of a folder.
"""

import hashlib
import os

REASON = ".reason.json"
MARKDOWN, REPORTS, OUTPUTS = "_markdown", "_reports", "_outputs"
"""The folders in outbox/<job>/ of everything that is no table: programs that read a folder of Parquet files pass over
names that begin with `_`."""
_NAME_MAX = 255  # bytes of one name (NAME_MAX)
_PATH = 1024  # bytes of a path below its folder; PATH_MAX is 4096 with the workspace before it


def markdown_name(path: str) -> str:
    """`path` + ".md", possible for a file, below a folder that holds nothing but such names.

    Folders whose names end in ".md" get a "_" behind, so that no folder is ever called as a file.
    """
    *folders, name = path.split("/")
    folders = [f"{folder}_" if folder.endswith((".md", "_")) else folder for folder in folders]
    return _possible("/".join([*folders, name]), path, ".md")


def former_name(name: str) -> str | None:
    """Where earlier versions put a file that now lies in one of these folders: `outbox/<job>/_markdown/x.md` was
    `outbox/<job>/markdown/x.md`, reports and outputs lay beside the tables. None for a name of another folder."""
    outbox, job, folder, *rest = [*name.split("/", 3), "", "", ""][:4]
    if folder not in (MARKDOWN, REPORTS, OUTPUTS):
        return None
    return "/".join([outbox, job, *(["markdown"] if folder == MARKDOWN else []), *rest])


def output_names(path: str) -> tuple[str, str]:
    """Names of the output and the error file of a batch file: `night.jsonl` has `night_output.jsonl`,
    `night_error.jsonl`."""
    stem = path.removesuffix(".jsonl")
    output, error = (_possible(f"{stem}{end}", f"{path}{end}", ".jsonl") for end in ("_output", "_error"))
    return output, error


def failed_name(path: str) -> str:
    """`path`, possible for a file to which REASON is added.

    No document is ever called as the reason of another, or as a folder of failed_apart.
    """
    parts = [f"{part}_" if part.endswith((REASON, "_")) or part.startswith("~") else part for part in path.split("/")]
    return _possible("/".join(parts), path, "", room=len(REASON))


def failed_apart(path: str, sha256: str | None) -> str:
    """The name in a folder of its own, for a document in whose place another one lies."""
    name = failed_name(path).rpartition("/")[2]
    return f"~{sha256 or _digest(path)}/{name}"


def archive_name(path: str) -> str:
    """The name of a document's bytes in the archive: the last part of its path."""
    return _part(path.rpartition("/")[2], path, 0)


def archive_place(sha256: str) -> str:
    """The folder of a document below that of its job in archive/."""
    return f"{sha256[:2]}/{sha256}"


def _possible(wanted: str, path: str, suffix: str, room: int = 0) -> str:
    *folders, name = wanted.split("/")
    parts = [_part(folder, folder, 0) for folder in folders]
    result = "/".join([*parts, _part(name, name, room + len(suffix)) + suffix])
    if len(os.fsencode(result)) <= _PATH:
        return result
    return _digest(path) + suffix


def _part(name: str, source: str, room: int) -> str:
    """One part of a path, of at most _NAME_MAX - room bytes; a name that had to be cut carries a digest of the whole.

    In a container anything may be called "..", which is no name of a file.
    """
    if name in {"", ".", ".."}:
        return f"~{_digest(source)}"
    if len(os.fsencode(name)) <= _NAME_MAX - room:
        return name
    body = os.fsencode(name)[: _NAME_MAX - room - 17].decode("utf-8", "ignore")
    return f"{body}~{_digest(source)}"


def _digest(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:16]
