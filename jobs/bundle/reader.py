"""A bundle is read and checked: its signature, each byte of the archive, and that nothing else is in it; and told of.

The archive is a tar (USTAR) of regular files whose every byte follows from `manifest.json`, its first member: headers
are computed from the manifest and compared, so a flipped bit is found wherever it is. `manifest.sig`, the second
member, is a signed note (https://c2sp.org/signed-note) over the format, the version and the sha256 of the manifest.
README.md has the format. This file is joined into verify.py and install.py, and uses nothing newer than Python 3.6.
"""

import hashlib
import json
import os
import re
import stat
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from audit import standalone

FORMAT = "cloister-bundle/1"
MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
MOST_MANIFEST, MOST_SIGNATURE = 2**24, 4096  # bytes; read before anything is known to be signed
BLOCK, CHUNK = 512, 2**20
ROLES = {"wheel", "pip", "lock", "model", "head", "job", "document", "page", "licence", "sbom"}
# what an installed version has beside the files of its bundle
OWN = {MANIFEST, SIGNATURE, "venv", "temporary", "complete"}
PATH = re.compile(r"(?!.*(^|/)\.{0,2}(/|\Z))[A-Za-z0-9._+/-]{1,255}", re.A)
HEX, DAY, WORD = re.compile("[0-9a-f]{64}"), re.compile(r"\d{4}-\d\d-\d\d", re.A), re.compile(r"[A-Za-z0-9._+-]{1,80}")
OF_ALL = ("path", "size", "sha256", "role", "carried")  # members of each file; others are facts of its role
MEMBERS = {"format", "product", "version", "platform", "pythons", "expires", "kind", "base", "files"}


class BundleFile(NamedTuple):
    """A file of a version. `at` is where its bytes begin in the archive; None if the bundle does not carry it."""

    path: str
    size: int
    sha256: str
    role: str
    facts: dict[str, Any]
    at: int | None


class Bundle(NamedTuple):
    """A bundle that was found whole. `manifest` and `signature` are the bytes of its first two members."""

    archive: Path
    manifest: bytes
    signature: bytes
    told: dict[str, Any]
    files: list[BundleFile]
    signed_by: str

    @property
    def digest(self) -> str:
        """The sha256 of the manifest, which says all of the bundle."""
        return hashlib.sha256(self.manifest).hexdigest()

    @property
    def id(self) -> str:
        """The name of this version's folder in an installation."""
        return f"{self.told['version']}-{self.digest[:12]}"


def read_bundle(archive: Path, key: str, today: str) -> Bundle:
    """The bundle in this file, of which every byte was checked. `key` is the trusted public key, `today` a day such as
    2026-11-27. Raises WrongError for a bundle that cannot be trusted, OSError for a file that cannot be read."""
    with open_regular(archive) as file:
        size = os.fstat(file.fileno()).st_size
        manifest = read_member(file, MANIFEST, MOST_MANIFEST)
        signature = read_member(file, SIGNATURE, MOST_SIGNATURE)
        version = check_signature(signature, manifest, key)
        told = parse_manifest(manifest)
        standalone.demand(told["version"] == version, f"{SIGNATURE}: signs version {version}, not {told['version']}")
        files = locate_files(told["files"], file.tell())
        check_size(size, files, file.tell())
        for each in files:
            if each.at is not None:
                check_member(file, each)
        standalone.demand(file.read() == bytes(2 * BLOCK), "the archive does not end as it has to: bytes were added")
    check_day(told["expires"], today)
    return Bundle(archive, manifest, signature, told, files, key)


def open_regular(path: Path) -> BinaryIO:
    """The file, if it is a regular one: a pipe or a device could give other bytes when it is read again."""
    handle = os.open(str(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise standalone.WrongError("not a regular file")
    return os.fdopen(handle, "rb")


def header(path: str, size: int) -> bytes:
    """The 512 bytes before a file of this path and size: a USTAR header, in which nothing else is free to choose."""
    name, prefix = path, ""
    if len(path) > 100:  # the prefix takes as much as it can
        at = path.rfind("/", 0, 156)
        standalone.demand(at > 0 and 0 < len(path) - at - 1 <= 100, f"{path}: a path too long for a tar archive")
        name, prefix = path[at + 1 :], path[:at]
    before = name.encode().ljust(100, b"\0") + b"0000644\0" + 2 * b"0000000\0" + b"%011o\0" % size + b"%011o\0" % 0
    after = b"0" + bytes(100) + b"ustar\x0000" + bytes(64) + 2 * b"0000000\0" + prefix.encode().ljust(155, b"\0")
    after += bytes(12)
    return before + b"%06o\0 " % (sum(before) + 8 * 32 + sum(after)) + after


def padding(size: int) -> bytes:
    """The zeros behind a file of this size, up to the next block."""
    return bytes(-size % BLOCK)


def read_member(file: BinaryIO, path: str, most: int) -> bytes:
    """The bytes of one of the two first members, which nothing vouches for yet. Raises WrongError."""
    found = file.read(BLOCK)
    size = int(found[124:135], 8) if re.fullmatch(rb"[0-7]{11}", found[124:135]) else most + 1
    right = size <= most and found == header(path, size)
    standalone.demand(right, f"no bundle of Cloister, or damaged: it has no {path} where that has to be")
    data, rest = file.read(size), file.read(len(padding(size)))
    standalone.demand(len(data) == size and rest == padding(size), f"{path}: damaged, or only half copied")
    return data


def check_signature(note: bytes, manifest: bytes, key: str) -> str:
    """The version that the trusted key signed together with this manifest. Raises WrongError."""
    origin, key_id, raw = read_key(key)
    text, _, line = note.decode("utf-8", "replace").partition("\n\n")
    found = re.fullmatch("\u2014 (\\S+) ([0-9A-Za-z+/]{91}=)\n", line)  # 4 bytes of key id, 64 of signature
    standalone.demand(found, f"{SIGNATURE}: not a signed note")
    assert found is not None
    signature = b64decode(found[2])
    signer, known = f"{found[1]}+{signature[:4].hex()}", f"{origin}+{key_id.hex()}"
    message = f"{SIGNATURE}: signed by another key, {signer}, and not by the trusted key {known}"
    standalone.demand(signer == known, message)
    one_form = f"{text}\n\n\u2014 {origin} {b64encode(signature).decode()}\n".encode() == note
    right = one_form and standalone.is_signed(raw, signature[4:], text.encode() + b"\n")
    standalone.demand(right, f"{SIGNATURE}: THE SIGNATURE IS WRONG: it is not that of the trusted key {known}")
    lines = text.split("\n")
    standalone.demand(len(lines) == 3 and lines[0] == FORMAT, f"{SIGNATURE}: signs no bundle of the form {FORMAT}")
    right = lines[2] == hashlib.sha256(manifest).hexdigest()
    standalone.demand(right, f"{MANIFEST}: ALTERED: it is not the one that was signed")
    return lines[1]


def read_key(text: str) -> tuple[str, bytes, bytes]:
    """Origin, key id and key of a public key. Raises WrongError; what was given is not repeated: it may be a secret."""
    try:
        return standalone.parse_key(text)
    except (ValueError, LookupError):
        raise standalone.WrongError("not a public key, which has the form ORIGIN+HASH+BASE64") from None


def find_key(text: str) -> str:
    """The public key that an option gives: itself, or the name of a file with it. Raises WrongError, OSError."""
    return check_key(text if "+" in text else Path(text).read_text("utf-8", "replace"))


def check_key(text: str) -> str:
    """The public key in a text that has nothing else. Raises WrongError."""
    read_key(text.strip())
    return text.strip()


def parse_manifest(data: bytes) -> dict[str, Any]:
    """The manifest, of which each member has its form. Raises WrongError."""
    try:
        told = json.loads(data.decode())
        canonical = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"
        right = canonical.encode() == data and {*told} == MEMBERS and is_manifest(told)
        right = right and all(is_file(each) for each in told["files"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        right = False
    standalone.demand(right, f"{MANIFEST}: not in the form of {FORMAT}, or of a newer Cloister")
    paths = [each["path"] for each in told["files"]]
    standalone.demand(paths == sorted({*paths}), f"{MANIFEST}: its files are not in order, or one is there twice")
    folders = {path[:at] for path in paths for at, sign in enumerate(path) if sign == "/"}
    standalone.demand(not folders & {*paths}, f"{MANIFEST}: a file lies where there is a folder")
    return dict(told)


def is_manifest(told: dict[str, Any]) -> bool:
    """Whether the members of a manifest beside its files have their form."""
    platform = told["platform"]
    return (
        told["format"] == FORMAT
        and told["product"] == "cloister"
        and WORD.fullmatch(told["version"]) is not None
        and {*platform} == {"system", "machine", "glibc"}
        and all(WORD.fullmatch(each) for each in [platform["system"], platform["machine"], *told["pythons"]])
        and (platform["glibc"] is None or re.fullmatch(r"\d+\.\d+", platform["glibc"], re.A) is not None)
        and (told["expires"] is None or DAY.fullmatch(told["expires"]) is not None)
        and (told["kind"] == "full" or HEX.fullmatch(told["base"]) is not None)
        and (told["kind"], told["base"] is None) in (("full", True), ("update", False))
        and (told["kind"] == "update" or all(each["carried"] for each in told["files"]))
        and [each["role"] for each in told["files"]].count("pip") == 1
        and {*map(lock_of, told["pythons"])} <= {each["path"] for each in told["files"]}
    )


def lock_of(python: str) -> str:
    """The path of the list of packages that are installed for a Python such as 3.11."""
    return f"locks/requirements-cp{python.replace('.', '')}.txt"


def is_file(told: dict[str, Any]) -> bool:
    """Whether a file of the manifest has its form: it lies in the version's folder, and is none of its own there."""
    return (
        PATH.fullmatch(told["path"]) is not None
        and told["path"].split("/")[0] not in OWN
        and told["role"] in ROLES
        and type(told["size"]) is int
        and 0 <= told["size"] < 8**11
        and HEX.fullmatch(told["sha256"]) is not None
        and type(told["carried"]) is bool
        and (told["role"] != "wheel" or type(told["pythons"]) is list)
        and header(told["path"], told["size"]) != b""
    )


def locate_files(files: list[dict[str, Any]], at: int) -> list[BundleFile]:
    """The files of a manifest, the first of which begins at this place of the archive, with its header."""
    placed = []
    for told in files:
        facts = {name: value for name, value in told.items() if name not in OF_ALL}
        start = at + BLOCK if told["carried"] else None
        placed.append(BundleFile(told["path"], told["size"], told["sha256"], told["role"], facts, start))
        at += BLOCK + told["size"] + len(padding(told["size"])) if told["carried"] else 0
    return placed


def check_size(size: int, files: list[BundleFile], at: int) -> None:
    """WrongError for an archive that has not as many bytes as its manifest says."""
    carried = [each.size for each in files if each.at is not None]
    expected = at + sum(BLOCK + each + len(padding(each)) for each in carried) + 2 * BLOCK
    what = "only half copied, or cut" if size < expected else "something was added"
    standalone.demand(size == expected, f"the archive has {size:,} bytes of {expected:,}: {what}")


def check_member(file: BinaryIO, each: BundleFile) -> None:
    """WrongError unless this file comes next in the archive, with exactly the bytes that the manifest says."""
    right = file.read(BLOCK) == header(each.path, each.size)
    standalone.demand(right, f"{each.path}: ALTERED: the archive has another member in its place")
    digest, left = hashlib.sha256(), each.size
    while left:
        data = file.read(min(left, CHUNK))
        standalone.demand(data, f"{each.path}: cut")
        digest.update(data)
        left -= len(data)
    standalone.demand(digest.hexdigest() == each.sha256, f"{each.path}: ALTERED: it has not the sha256 of the manifest")
    standalone.demand(
        file.read(len(padding(each.size))) == padding(each.size), f"{each.path}: ALTERED: bytes behind it"
    )


def check_day(expires: str | None, today: str) -> None:
    """WrongError if the bundle was to be used until a day that is past."""
    message = f"EXPIRED on {expires}; this machine says that it is {today}"
    standalone.demand(expires is None or today <= expires, message)


def digest_of(path: Path) -> str:
    """The sha256 of a file. Raises OSError."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        for data in iter(lambda: file.read(CHUNK), b""):
            digest.update(data)
    return digest.hexdigest()


EXAMPLE = "correspondence-triage"  # the job that is named to whoever has installed Cloister for the first time


def describe(bundle: Bundle) -> list[str]:
    """Describe a bundle that was checked, in lines for a person."""
    told, carried = bundle.told, [each for each in bundle.files if each.at is not None]
    platform = f"{told['platform']['system']} {told['platform']['machine']}"
    platform += f", glibc {told['platform']['glibc']} or newer" if told["platform"]["glibc"] else ""
    lines = [
        f"bundle    cloister {told['version']}, {told['kind']}, for {platform}, Python {', '.join(told['pythons'])}",
        f"signed    by {bundle.signed_by}",
        f"manifest  sha256 {bundle.digest}",
        f"files     {len(carried)}, {sum(each.size for each in carried):,} bytes: each has its sha256, and nothing else"
        " is in the archive",
        f"expires   {told['expires'] or 'never'}",
    ]
    missing = len(bundle.files) - len(carried)
    if told["kind"] == "update":
        lines.append(f"needs     {missing} files of the installed version whose manifest has the sha256 {told['base']}")
    return lines


def describe_files(bundle: Bundle) -> list[str]:
    """A line for each file of the version: its role, sha256, size and path."""
    return [
        f"{each.role:<8} {each.sha256} {each.size:>13,} {each.path}{'' if each.at is not None else '  (not carried)'}"
        for each in bundle.files
    ]


def next_commands(root: Path, version: str, before: str | None, new: bool) -> list[str]:
    """Tell a person what an install did, and what to type next. `new`: the version was not there before."""
    command = root / "bin/cloister"
    if before == version:
        return [f"Installed {version} again" if new else f"{version} was the current version already"]
    if before is not None:
        return [
            f"Installed {version}; the version before, {before}, is kept",
            "Next: start the service anew, if there is one. What runs now goes on with the version before.",
            f"Is everything in order? {command} doctor",
            f"If something is wrong: {command} bundle rollback",
        ]
    return [
        f"Installed {version} in {root}",
        f"Is this machine as it has to be? {command} doctor",
        "Next:",
        f"  {command} init office --example {EXAMPLE}",
        f"  {command} run {EXAMPLE} --workspace office",
        f"  {command} audit verify --workspace office",
    ]


def say(text: str) -> None:
    """Print plain characters alone, which no terminal obeys or hides."""
    print(ascii(text)[1:-1], flush=True)
