"""The console of a workspace is opened: everything that lives as long as it does, and its server."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import socket

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace
from jobs.console.access.attempts import Attempt, Attempts
from jobs.console.access.patience import Patience
from jobs.console.access.people import People, Person
from jobs.console.access.sessions import Sessions
from jobs.console.app import make_app
from jobs.console.house import House, Proxy
from jobs.console.indexes import Indexes
from jobs.console.now import Present
from jobs.console.rights import Role
from jobs.console.serving import loopback, make_server, unix_socket
from jobs.console.work import Works
from jobs.record import record
from jobs.silence.seal import seal_if_own

_LOCAL = ("127.0.0.1", "localhost")


def open_console(
    workspace: Workspace, ready: Callable[[str, int], None], *, port: int | None, path: Path | None, group: bool
) -> None:
    """Serve until a signal ends it; `ready` gets the address and the number of people who may sign in. ConfigError."""
    people = People(workspace.root / "keys")
    known = len(people.all())
    with _listener(workspace, port, path, group) as (listener, address):
        seal_if_own()  # which has its one socket now, and may make no other
        house = make_house(workspace, people, listener)
        make_server(make_app(house), lambda: ready(address, known + len(house.proxied))).run(sockets=[listener])


@contextlib.contextmanager
def _listener(workspace: Workspace, port: int | None, path: Path | None, group: bool) -> Iterator[tuple[socket, str]]:
    if path is not None:
        with unix_socket(path.absolute(), group=group) as listener:
            yield listener, f"unix:{path.absolute()}"
        return
    with loopback(workspace.site.console.port if port is None else port) as listener:
        yield listener, f"http://127.0.0.1:{listener.getsockname()[1]}/"


def make_house(workspace: Workspace, people: People, listener: socket) -> House:
    """Everything that the pages of a console share."""
    said, site = workspace.site.console, make_site(workspace)
    proxied = {name: Person(name, tuple(map(Role, roles))) for name, roles in said.people.items()}
    return House(
        workspace=workspace,
        site=site,
        people=people,
        sessions=Sessions(said.idle_minutes * 60, said.session_hours * 3600),
        attempts=Attempts(lambda attempt, times: _tell(site, attempt, times)),
        patience=Patience(),
        indexes=Indexes(site),
        present=Present(workspace, site),
        works=Works(workspace, site),
        hosts=frozenset(_hosts(listener, said.hosts)),
        proxy=Proxy(said.proxy.header, said.proxy.address) if said.proxy else None,
        proxied=proxied if said.proxy else {},
        secure=said.address().startswith("https:"),
    )


def _hosts(listener: socket, more: tuple[str, ...]) -> Iterator[str]:
    """The names by which browsers may call the console: nobody's page can have one of another name shown as its own."""
    yield from (host.lower() for host in more)
    own = listener.getsockname()
    if isinstance(own, tuple):
        yield from (f"{name}:{own[1]}" for name in _LOCAL)
        if own[1] == 80:
            yield from _LOCAL
    else:
        yield from _LOCAL


def _tell(site: pipeline.Site, attempt: Attempt, times: int) -> None:
    record(site, pipeline.RefusedThere(what=attempt.why, person=attempt.person, times=times))
