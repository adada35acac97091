"""Here stands what lives as long as the console does, and what a page gets to know of one request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from starlette.datastructures import QueryParams
from starlette.requests import Request

import pipeline
from jobs.config.workspace import Workspace
from jobs.console.access.attempts import Attempts
from jobs.console.access.patience import Patience
from jobs.console.access.people import People, Person
from jobs.console.access.seal import Seal
from jobs.console.access.sessions import Session, Sessions
from jobs.console.indexes import Indexes
from jobs.console.now import Present
from jobs.console.rights import Right
from jobs.console.work import Works


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
    def drawer(self) -> pipeline.Drawer:
        """The parsers' children that draw pages of documents; nothing of them is loaded before the first page."""
        return pipeline.Drawer(self.site)

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
