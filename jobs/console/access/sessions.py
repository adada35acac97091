"""Sessions of people and the tokens of their forms, texts that pages seal, who has to wait, and what is recorded of
refused requests. All of it is kept in memory, so it ends with the console."""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from starlette.concurrency import run_in_threadpool

_MOST: Final = 1000
_MOST_OF_ONE: Final = 20
_MOST_REMEMBERED: Final = 100_000
_BYTES: Final = 16
_SEAL_HEX: Final = 32
_FREE: Final = 5
_FIRST_SECONDS: Final = 10.0
_LONGEST_SECONDS: Final = 300.0
_MOST_KEPT: Final = 10_000
_TOGETHER_SECONDS: Final = 60.0
_MOST_KINDS: Final = 200  # of which records are kept apart; what is beyond counts as of nobody


def mac_of(key: bytes, text: str) -> str:
    """The HMAC-SHA256 of a text, as hexadecimal."""
    return hmac.new(key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def is_same(given: str, mac: str) -> bool:
    """Whether a text that came from outside is this one; it takes as long whatever it is."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), mac.encode())


def sha256_of(token: str) -> str:
    """The digest by which a token is known."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class Seal:
    """The key of one console, by which it knows texts that it gave to a browser until it ends."""

    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def closed(self, use: str, text: str) -> str:
        """The text with its seal for one use."""
        return mac_of(self._key, f"{use}\0{text}")[:_SEAL_HEX] + text

    def opened(self, use: str, sealed: str) -> str | None:
        """The text that was sealed for this use; None for anything else."""
        text = sealed[_SEAL_HEX:]
        return text if is_same(sealed, self.closed(use, text)) else None


class Spent(Enum):
    """Holds what came of the token of a form."""

    GOOD = "good"
    REPLAYED = "replayed"
    WRONG = "wrong"


@dataclass
class Session:
    """One person on one browser. `begun` and `seen` are of the clock that `Sessions` goes by; `mark` is what it was
    opened with, so that it ends when that is replaced."""

    person: str
    mark: str
    begun: float
    seen: float
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _spent: set[str] = field(default_factory=set, repr=False)
    _opened: set[int] = field(default_factory=set, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def opens(self, entry: int) -> bool:
        """Note that the person opens the document of an entry; whether it is the first time in this session."""
        with self._lock:
            first = entry not in self._opened
            if len(self._opened) >= _MOST_REMEMBERED:
                self._opened.clear()
            self._opened.add(entry)
        return first

    def form_token(self) -> str:
        """Make a token for one form of this session, which is good once."""
        nonce = secrets.token_hex(_BYTES)
        return f"{nonce}.{mac_of(self._secret, nonce)}"

    def spend(self, token: str) -> Spent:
        """Take the token of a form that was sent: it is good once."""
        nonce, _, mac = token.partition(".")
        if not is_same(mac, mac_of(self._secret, nonce)):
            return Spent.WRONG
        with self._lock:
            if nonce in self._spent or len(self._spent) >= _MOST_REMEMBERED:
                return Spent.REPLAYED
            self._spent.add(nonce)
        return Spent.GOOD


class Sessions:
    """All sessions, by the sha256 of their tokens. A session ends `idle` seconds after its last request, and `whole`
    seconds after it began."""

    def __init__(self, idle: float, whole: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._idle, self._whole, self._clock = idle, whole, clock
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    def begin(self, person: str, mark: str) -> tuple[str, Session]:
        """Begin a session: its token, which only the browser keeps, and itself."""
        token, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._forget(now)
            own = [key for key, each in self._sessions.items() if each.person == person]
            for keys, most in ((own, _MOST_OF_ONE), (list(self._sessions), _MOST)):
                for key in keys[: max(0, len(keys) - most + 1)]:
                    self._sessions.pop(key, None)
            session = self._sessions[sha256_of(token)] = Session(person, mark, now, now)
        return token, session

    def find(self, token: str, *, touch: bool = True) -> Session | None:
        """The session of this token, if it has not ended; `touch`: it was used now."""
        with self._lock:
            now = self._clock()
            self._forget(now)
            session = self._sessions.get(sha256_of(token))
            if session and touch:
                session.seen = now
        return session

    def end(self, token: str) -> None:
        """End the session of this token."""
        with self._lock:
            self._sessions.pop(sha256_of(token), None)

    def _forget(self, now: float) -> None:
        for key, each in list(self._sessions.items()):
            if now - each.seen > self._idle or now - each.begun > self._whole:
                del self._sessions[key]


@dataclass
class Patience:
    """Attempts that failed, by name and source: after the fifth in a row each costs twice the wait, up to five minutes.
    A wait is for that name from that source alone, so nobody makes somebody elsewhere wait. Of names only digests are
    kept, and of the latest attempts alone."""

    clock: Callable[[], float] = time.monotonic
    _failed: dict[str, tuple[int, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, name: str, source: str) -> float:
        """Count an attempt as failed before it is made, so that of many at the same time no more are made than may be;
        or, where it has to wait, the seconds that it has to."""
        key, now = sha256_of(f"{name.casefold()}\0{source}"), self.clock()
        with self._lock:
            times, until = self._failed.get(key, (0, 0.0))
            if now < until:
                return until - now
            self._failed.pop(key, None)
            while len(self._failed) >= _MOST_KEPT:
                del self._failed[next(iter(self._failed))]
            beyond = times + 1 - _FREE
            wait = 0.0 if beyond < 0 else min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(beyond, 9))
            self._failed[key] = times + 1, now + wait
        return 0.0

    def succeeded(self, name: str, source: str) -> None:
        """Forget what failed for this name from there."""
        with self._lock:
            self._failed.pop(sha256_of(f"{name.casefold()}\0{source}"), None)


class Attempt(NamedTuple):
    """A kind of attempt that was refused, and who made it ("" where nobody was signed in)."""

    why: str
    person: str


@dataclass
class Attempts:
    """Counts refused attempts, without letting strangers fill the log: `tell` records one kind, and how many there
    were; the first at once, and those of the next minute together in one more record."""

    tell: Callable[[Attempt, int], None]
    clock: Callable[[], float] = time.monotonic
    _last: dict[Attempt, float] = field(default_factory=dict)
    _more: dict[Attempt, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def refused(self, why: str) -> None:
        """Note an attempt of nobody that was refused."""
        await run_in_threadpool(self.refused_here, why)

    def refused_here(self, why: str, person: str = "") -> None:
        """Note an attempt that was refused, from a thread that may wait."""
        attempt = Attempt(why, person)
        with self._lock:
            if attempt not in self._last and len(self._last) >= _MOST_KINDS:
                attempt = Attempt(why, "")
            if attempt in self._last:
                self._more[attempt] = self._more.get(attempt, 0) + 1
                return
            self._last[attempt] = self.clock()
        self.tell(attempt, 1)

    def flush(self, *, everything: bool = False) -> None:
        """Record what came since the first of each kind, where that is a minute ago, or in any case."""
        now, due = self.clock(), dict[Attempt, int]()
        with self._lock:
            for attempt, last in list(self._last.items()):
                if everything or now - last >= _TOGETHER_SECONDS:
                    del self._last[attempt]
                    if more := self._more.pop(attempt, 0):
                        due[attempt] = more
        for attempt, number in due.items():
            self.tell(attempt, number)
