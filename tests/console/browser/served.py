"""A console that is served as people have it: the command itself, as a process, and people who came in by invites."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jobs.console.access.people import People
from jobs.console.rights import Role
from tests.console.browser.watch import Watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CLOISTER = (sys.executable, "-c", "import jobs.cli; jobs.cli.main()")
PASSPHRASE = "four words of some length"
WIDE: Final[Any] = {"width": 1280, "height": 800}
NARROW: Final[Any] = {"width": 800, "height": 900}
PHONE: Final[Any] = {"width": 420, "height": 900}
ROOT = Path(__file__).parents[3]


@dataclass
class Served:
    """A workspace whose console is served at `url` to one headless browser."""

    root: Path
    url: str
    browser: Browser
    scripts: bool = True
    cookies: dict[str, Any] = field(default_factory=dict)

    @contextlib.contextmanager
    def somebody(
        self, name: str | None = None, *roles: Role, refusals: bool = False, plain: bool = False
    ) -> Iterator[Watch]:
        """Somebody at the browser, signed in if they have a name; at the end nothing wrong may have been seen.

        `refusals`: pages may refuse something; `plain`: in a narrow window that runs no scripts.
        """
        plain = plain or not self.scripts
        context = self.browser.new_context(
            base_url=self.url,
            viewport=NARROW if plain else WIDE,
            storage_state=self._signed_in(name, roles) if name else None,
            java_script_enabled=not plain,
            reduced_motion="reduce",  # a colour that is on its way to another one has the contrast of neither
        )
        context.set_default_timeout(200_000)
        try:
            watch = Watch(self.url, context, refusals, plain)
            yield watch
            assert not watch.wrong, "\n".join(dict.fromkeys(watch.wrong))
        finally:
            context.close()

    def invite(self, name: str, roles: Sequence[Role]) -> str:
        """The path of a link that lets somebody in, once."""
        return "/join/" + People(self.root / "keys").invite(name, tuple(roles))

    def _signed_in(self, name: str, roles: Sequence[Role]) -> Any:
        """What a browser keeps of somebody's session; they join when they first come."""
        if name not in self.cookies:
            with contextlib.closing(self.browser.new_context(base_url=self.url)) as context:
                form = {"passphrase": PASSPHRASE, "again": PASSPHRASE}
                answer = context.request.post(self.invite(name, roles), form=form, headers={"Origin": self.url})
                assert answer.ok, answer.text()
                self.cookies[name] = context.storage_state()
        return self.cookies[name]


@contextlib.contextmanager
def serve(root: Path, browser: Browser, *, scripts: bool = True) -> Iterator[Served]:
    """Run `cloister console` on a port that is free; it has to end well, and to have met no defect of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [*CLOISTER, "console", "--port", "0", "--json", "--workspace", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            said = "".join(takewhile(lambda line: line != "}\n", process.stdout))
            yield Served(root, json.loads(said + "}")["url"].rstrip("/"), browser, scripts)
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode in (0, -signal.SIGTERM), process.returncode
    crashes = root / "state" / "crashes"
    assert not crashes.exists() or not list(crashes.iterdir()), [path.read_text() for path in crashes.iterdir()]
