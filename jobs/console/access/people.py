"""keys/people.json: who may use the console. Invites are in it as sha256, passphrases as scrypt hashes (RFC 7914).

Commands and the console read and write it; who writes holds keys/people.lock. It is read again whenever it is another
file than before, so a command's change holds from the next request on.
"""

import base64
import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import stat
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

import audit
from jobs.console.access.sessions import is_same, mac_of, sha256_of
from jobs.console.rights import Right, Role, rights_of
from jobs.errors import ConfigError, Problem

_VERSION: Final = 1
_MOST_BYTES: Final = 4 * 2**20
_LONGEST_NAME: Final = 64
INVITE_HOURS: Final = 72.0
FEWEST: Final = 12
MOST: Final = 200
_COST: Final = 2**15
_ONE_AT_A_TIME = threading.Lock()  # each takes 32 MiB and a tenth of a second


class PeopleError(ConfigError):
    """The file cannot be trusted, read or written, or does not know somebody."""

    def __init__(self, where: object, found: str, expected: str | None = None, remedy: str | None = None) -> None:
        super().__init__(Problem(str(where), found, expected, remedy))


@dataclass(frozen=True)
class Hashed:
    """A hashed passphrase: salt and hash in base64, and the cost by which it was made."""

    salt: str
    hash: str
    n: int = _COST


_NOBODY: Final = Hashed(base64.b64encode(bytes(16)).decode(), base64.b64encode(bytes(32)).decode())


def why_refused(passphrase: str) -> str | None:
    """The sentence that refuses a passphrase; None for one that will do."""
    if len(passphrase) < FEWEST:
        return f"A passphrase has at least {FEWEST} characters; this one has {len(passphrase)}."
    if len(passphrase) > MOST:
        return f"A passphrase has at most {MOST} characters; this one has {len(passphrase)}."
    return None if len(set(passphrase)) > 4 else "This passphrase repeats a few characters; take several words."


def hash_passphrase(passphrase: str) -> Hashed:
    """Hash a passphrase with a salt of its own."""
    salt = secrets.token_bytes(16)
    return Hashed(base64.b64encode(salt).decode(), base64.b64encode(_scrypt(passphrase, salt, _COST)).decode())


def matches(passphrase: str, hashed: Hashed | None) -> bool:
    """Whether it is this passphrase. Takes as long where there is none to compare with, so that time tells nobody which
    names exist."""
    known = hashed or _NOBODY
    found = _scrypt(passphrase[: MOST + 1], base64.b64decode(known.salt), known.n)
    return hmac.compare_digest(found, base64.b64decode(known.hash)) and hashed is not None


def _scrypt(passphrase: str, salt: bytes, n: int) -> bytes:
    said = passphrase.encode("utf-8", "surrogatepass")
    with _ONE_AT_A_TIME:
        return hashlib.scrypt(said, salt=salt, n=n, r=8, p=1, maxmem=64 * 2**20, dklen=32)


@dataclass(frozen=True)
class Invite:
    """An invite that was not used yet: the sha256 of its token, and when it expires (seconds since 1970)."""

    sha256: str
    expires: float


@dataclass(frozen=True)
class Person:
    """Somebody who may sign in (`passphrase`), or was invited to (`invite`)."""

    name: str
    roles: tuple[Role, ...]
    passphrase: Hashed | None = None
    invite: Invite | None = None

    @property
    def mark(self) -> str:
        """Return what their sessions are opened with: another one after they were invited anew."""
        return self.passphrase.hash if self.passphrase else ""

    def known_by(self) -> str:
        """Make a sign by which a browser is known later, until the passphrase is another one."""
        nonce = secrets.token_hex(16)
        return f"{nonce}.{self._mac(nonce)}"

    def is_known(self, sign: str) -> bool:
        """Whether it is such a sign of this person."""
        nonce, _, mac = sign.partition(".")
        return self.passphrase is not None and is_same(mac, self._mac(nonce))

    def _mac(self, nonce: str) -> str:
        return mac_of(self.mark.encode(), f"{self.name}\0{nonce}")

    @property
    def rights(self) -> frozenset[Right]:
        """Everything that they may do."""
        return rights_of(self.roles)


def why_no_name(name: str) -> str | None:
    """The sentence that refuses a person's name; None for one that will do."""
    if not name or name != name.strip() or len(name) > _LONGEST_NAME:
        return f"A name has 1 to {_LONGEST_NAME} characters, and no blank at its ends."
    if any(unicodedata.category(each)[0] in "CZ" and each != " " for each in name):
        return "A name has letters, digits, signs and blanks, and nothing that cannot be seen."
    return None


@dataclass
class People:
    """The people of a workspace, by the file in its keys/."""

    folder: Path
    clock: Callable[[], float] = time.time
    _read: tuple[tuple[int, ...], dict[str, Person]] | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / "people.json"

    def all(self) -> dict[str, Person]:
        """Everybody, by name. PeopleError."""
        with self._lock:
            try:
                status = self.path.lstat()
            except FileNotFoundError:
                return {}
            except OSError as error:
                raise PeopleError(self.path, f"cannot be read: {error.strerror}") from error
            if not stat.S_ISREG(status.st_mode):
                raise PeopleError(self.path, "no plain file")
            if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
                remedy = f"chmod 600 {self.path}"
                raise PeopleError(self.path, "others may write to it", "a file of yours alone", remedy)
            stamp = status.st_ino, status.st_mtime_ns, status.st_size
            if self._read is None or self._read[0] != stamp:
                self._read = stamp, _parse(self.path)
            return self._read[1]

    def find(self, name: str) -> Person | None:
        """Somebody by their name. PeopleError."""
        return self.all().get(name)

    def invite(self, name: str, roles: tuple[Role, ...], hours: float = INVITE_HOURS) -> str:
        """Invite somebody, or somebody anew with other roles, whose passphrase then holds no longer; returns the token
        that opens the invite, once. PeopleError."""
        token = secrets.token_urlsafe(32)
        invite = Invite(sha256_of(token), self.clock() + hours * 3600)
        with self._changing() as people:
            other = next((each for each in people if each.casefold() == name.casefold() and each != name), None)
            if other:
                raise PeopleError("NAME", f"{name!r} is too much like {other!r}, who is there already")
            people[name] = Person(name, roles, None, invite)
        return token

    def invited(self, token: str) -> Person | None:
        """Whose unused invite this is, if it has not expired. PeopleError."""
        sha256 = sha256_of(token)
        own = (each for each in self.all().values() if each.invite and each.invite.sha256 == sha256)
        return next((each for each in own if each.invite and each.invite.expires > self.clock()), None)

    def join(self, token: str, passphrase: str) -> Person | None:
        """Use an invite up, and keep the passphrase; None if it is used, has expired or never was. PeopleError."""
        hashed = hash_passphrase(passphrase)
        with self._changing() as people:
            person = self.invited(token)
            if person is None:
                return None
            people[person.name] = replace(person, passphrase=hashed, invite=None)
            return people[person.name]

    def revoke(self, name: str) -> None:
        """Take somebody out; their sessions end with their next request. PeopleError."""
        with self._changing() as people:
            if name not in people:
                known = f"one of {', '.join(sorted(people))}" if people else None
                raise PeopleError(self.path, f"nobody is called {name!r}", known)
            del people[name]

    def enters(self, name: str, passphrase: str) -> Person | None:
        """The person of this name, if the passphrase is theirs. PeopleError."""
        person = self.find(name)
        return person if matches(passphrase, person.passphrase if person else None) else None

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Person]]:
        lock = self.folder / "people.lock"
        with self._lock:
            try:
                handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise PeopleError(lock, f"cannot be written: {error.strerror}") from error
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                self._read = None
                people = dict(self.all())
                before = dict(people)
                yield people
                if people != before:
                    _write(self.path, people)
                    self._read = None
            finally:
                os.close(handle)


def _parse(path: Path) -> dict[str, Person]:
    try:
        data = path.read_bytes()[: _MOST_BYTES + 1]
        said, people = json.loads(data), dict[str, Person]()
        if len(data) > _MOST_BYTES or said["version"] != _VERSION:
            raise ValueError
        for name, each in said["people"].items():
            if why_no_name(name):
                raise ValueError
            passphrase = Hashed(**each["passphrase"]) if each["passphrase"] else None
            invite = Invite(**each["invite"]) if each["invite"] else None
            people[name] = Person(name, tuple(Role(role) for role in each["roles"]), passphrase, invite)
        return people
    except OSError as error:
        raise PeopleError(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        remedy = "bring it back from a backup, or remove it and invite everybody anew"
        raise PeopleError(path, "not what Cloister wrote", None, remedy) from None


def _write(path: Path, people: dict[str, Person]) -> None:
    told = {name: {key: value for key, value in asdict(each).items() if key != "name"} for name, each in people.items()}
    try:
        data = json.dumps({"version": _VERSION, "people": told}, indent=1, ensure_ascii=False).encode()
        audit.write_file_atomically(path, data, mode=0o600)
    except OSError as error:
        raise PeopleError(path, f"cannot be written: {error.strerror}") from error
