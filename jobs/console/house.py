"""Here stands what lives as long as the console does, and what a page gets to know of one request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from starlette.datastructures import QueryParams
from starlette.requests import Request

import audit
import pipeline
from jobs.config.workspace import Workspace
from jobs.console.access.people import People, Person
from jobs.console.access.sessions import Attempts, Patience, Seal, Session, Sessions
from jobs.console.indexes import Indexes
from jobs.console.now import Present
from jobs.console.rights import Right
from jobs.console.work import Works

T = TypeVar("T")


@dataclass(frozen=True)
class Proxy:
    """A proxy that authenticates: it names the person in this header, and speaks from this address alone ("socket":
    from the console's Unix socket). Everybody else who connects is refused."""

    header: str
    address: str


@dataclass(frozen=True)
class House:
    """The workspace and everything that the pages share."""

    workspace: Workspace
    site: pipeline.Site
    people: People
    sessions: Sessions
    attempts: Attempts
    patience: Patience
    indexes: Indexes
    present: Present
    works: Works
    hosts: frozenset[str]  # names by which browsers may call it, with their port where it is not the usual one
    proxy: Proxy | None = None
    proxied: Mapping[str, Person] = field(default_factory=dict)  # name in the proxy's header -> the person
    seal: Seal = field(default_factory=Seal)
    secure: bool = False  # browsers reach it by https alone, and send its cookies by nothing else

    @cached_property
    def drawer(self) -> pipeline.view.Drawer:
        """The parsers' children that draw pages of documents; nothing of them is loaded before the first page."""
        return pipeline.view.Drawer(self.site)

    def ask(self, question: Callable[[pipeline.index.Index], T]) -> T:
        """What the index answers, as new as can be had at once. audit.AuditError; BrokenIndexError."""
        with self.indexes.opened() as index:
            return question(index)

    def log_size(self) -> int:
        """How many entries the log has. audit.AuditError."""
        return audit.read_checkpoint(self.site.audit, self.site.public_key).size

    def turn(self) -> str:
        """A text that changes whenever a run or a command from a page begins or ends."""
        running = self.present.running()
        states = "".join(f"{work.number}{'+' if work.code is None else '-'}" for work in self.works.all()[:9])
        return f"{running.run if running else ''}/{states}"

    def close(self) -> None:
        """End all that lives as long as the console."""
        self.indexes.close()
        self.works.close()
        if "drawer" in vars(self):
            self.drawer.close()
        self.attempts.flush(everything=True)


@dataclass(frozen=True)
class Visit:
    """One request of somebody who may make it, as pages get it. `form` holds what a form sent, without its token;
    `new_session` is the token of a session that begins with this request; `asks`: what the page reads of an address."""

    house: House
    request: Request
    person: Person | None = None
    session: Session | None = None
    form: Mapping[str, str] = field(default_factory=dict)
    new_session: str | None = None
    asks: tuple[str, ...] = ()

    @property
    def site(self) -> pipeline.Site:
        """The workspace as the pipeline knows it."""
        return self.house.site

    @property
    def query(self) -> QueryParams:
        """Return what stands behind the question mark of the address, of the names that the page declares."""
        return QueryParams([pair for pair in self.request.query_params.multi_items() if pair[0] in self.asks])

    def number(self, name: str) -> int | None:
        """The number that the address has by this name; None where there is none."""
        text = self.query.get(name, "")
        return int(text) if text.isdecimal() and len(text) < 16 else None

    @property
    def path(self) -> Mapping[str, str | int]:
        """The parts of the address that the page's path names, such as `entry`."""
        return self.request.path_params

    @property
    def name(self) -> str:
        """The person's name; "" for somebody who is not signed in."""
        return self.person.name if self.person else ""

    def may(self, right: Right) -> bool:
        """Whether the person has this right."""
        return self.person is not None and right in self.person.rights
