"""Names that only systems and programs give: what they leave among documents, and what they have not finished.

One list, for folders and for archives. A pattern is matched without regard to case, against the last part of a path or,
with a "/" behind it, against the name of any folder above.
"""

import fnmatch
import re
from functools import lru_cache
from typing import Final

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
