"""Names of files: made from names of documents, matched against patterns, given by systems alone; digests of files.

A name is decided before anything is committed; afterwards it cannot be refused. So each part of a path is shortened to
what file systems take, and a Markdown file can never want the name of a folder.
"""

import fnmatch
import hashlib
import os
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

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


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a text, in lower case, matches one of them."""
    whole = re.compile("|".join(fnmatch.translate(pattern.lower()) for pattern in patterns))
    return lambda text: whole.match(text) is not None


def ranker(patterns: Sequence[str]) -> Callable[[str], int]:
    """The place of the first pattern that the folder of a path, or one above it, matches; behind them all if none does.

    Paths in the input folder itself lie in no sub-folder and match nothing.
    """
    kinds = [matcher([pattern.strip("/")]) for pattern in patterns]
    known: dict[str, int] = {"": len(patterns)}

    def rank(path: str) -> int:
        folder = path.rpartition("/")[0].lower()
        if folder not in known:
            here = next((place for place, matches in enumerate(kinds) if matches(folder)), len(patterns))
            known[folder] = min(here, rank(folder))
        return known[folder]

    return rank


# Names that only systems and programs give, in folders and in archives. A pattern is matched without regard to case,
# against the last part of a path or, with a "/" behind it, against the name of any folder above.

# fmt: off
_PATTERNS: Final = (
    # Windows, and the streams of NTFS as other systems write them
    "Thumbs.db", "ehthumbs*.db", "desktop.ini", "~$*", "$RECYCLE.BIN/", "System Volume Information/", "S-1-5-21-*/",
    "*Zone.Identifier", "*:Zone.Identifier:*", "*:encryptable*", "*:SmartScreen*", "*:AFP_*", "*:com.apple.*",
    # macOS
    ".DS_Store", "._*", "__MACOSX/", ".AppleDouble/", ".AppleDB/", ".AppleDesktop/", ".Spotlight-V100/", ".fseventsd/",
    ".DocumentRevisions-V100/", ".TemporaryItems/", ".Trashes/", ".Trash/", ".apdisk", ".localized", ".VolumeIcon.icns",
    "Icon\r", "*.sb-????????-*", "*.sb-????????-*/",
    # Linux, and what its file systems, desktops and editors keep
    "lost+found/", ".Trash-*/", ".nfs[0-9a-f]*", ".fuse_hidden*", ".directory", ".thumbnails/", "*~", ".~lock.*#",
    ".*.sw[a-p]", "#*#", ".#*",
    # file servers and snapshots
    "@eaDir/", "*@SynoEAStream", "*@SynoResource", "#recycle/", "@Recycle/", "@Recently-Snapshot/", "#snapshot/",
    "~snapshot/", ".snapshot/", ".smbdelete*", ".recycle/",
    # programs that keep folders alike
    ".syncthing.*", "~syncthing~*", ".stfolder/", ".stversions/", ".owncloudsync*", ".sync_*.db*", "._sync_*.db*",
    ".dropbox", ".dropbox.attr", ".dropbox.cache/", ".tmp.drivedownload/", ".tmp.driveupload/", ".~tmp~/",
    ".rsync-partial/", "*.!sync",
    # uploads and downloads that go on
    "*.part", "*.filepart", "*.partial", "*.tmp", "*.crdownload", "*.download", "*.download/", "*.opdownload",
    "*.aria2", "*.!ut", "*.!qB", "*.uploading",
)
# fmt: on


def leaving(path: str) -> str | None:
    """The pattern of a name that no person gives to a document; None where the path, with "/" between its parts, may be
    one."""
    folder, _, name = path.rpartition("/")
    return (_of_folder(folder) if folder else None) or _matched(_NAMES, name)


def named_by_nobody(pattern: str) -> str:
    """Why a file with a name of this pattern is no document."""
    return f"a name that only systems and programs give ({pattern.strip()})"


def _compiled(patterns: list[str]) -> tuple[re.Pattern[str], list[str]]:
    return re.compile("|".join(f"({fnmatch.translate(each.strip('/').lower())})" for each in patterns)), patterns


_NAMES = _compiled([each for each in _PATTERNS if "/" not in each])
_FOLDERS = _compiled([each for each in _PATTERNS if each.endswith("/")])


@lru_cache(64)
def _of_folder(folder: str) -> str | None:
    """The pattern of the first folder that is none of a person's."""
    return next((found for part in folder.split("/") if (found := _matched(_FOLDERS, part))), None)


def _matched(kinds: tuple[re.Pattern[str], list[str]], name: str) -> str | None:
    found = kinds[0].match(name.lower())
    return kinds[1][found.lastindex - 1] if found and found.lastindex else None
