"""Sessions of people who signed in, and the tokens of their forms: kept in memory, so they end with the console."""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

_MOST: Final = 1000
_MOST_OF_ONE: Final = 20
_MOST_REMEMBERED: Final = 100_000
_BYTES: Final = 16


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
        return f"{nonce}.{self._mac(nonce)}"

    def spend(self, token: str) -> Spent:
        """Take the token of a form that was sent: it is good once."""
        nonce, _, mac = token.partition(".")
        if not hmac.compare_digest(mac.encode("utf-8", "replace"), self._mac(nonce).encode()):
            return Spent.WRONG
        with self._lock:
            if nonce in self._spent or len(self._spent) >= _MOST_REMEMBERED:
                return Spent.REPLAYED
            self._spent.add(nonce)
        return Spent.GOOD

    def _mac(self, nonce: str) -> str:
        return hmac.new(self._secret, nonce.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


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
            session = self._sessions[_sha256(token)] = Session(person, mark, now, now)
        return token, session

    def find(self, token: str, *, touch: bool = True) -> Session | None:
        """The session of this token, if it has not ended; `touch`: it was used now."""
        with self._lock:
            now = self._clock()
            self._forget(now)
            session = self._sessions.get(_sha256(token))
            if session and touch:
                session.seen = now
        return session

    def end(self, token: str) -> None:
        """End the session of this token."""
        with self._lock:
            self._sessions.pop(_sha256(token), None)

    def _forget(self, now: float) -> None:
        ended = [
            key
            for key, each in self._sessions.items()
            if now - each.seen > self._idle or now - each.begun > self._whole
        ]
        for key in ended:
            del self._sessions[key]


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
