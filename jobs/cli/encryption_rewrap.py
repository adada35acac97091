"""`cloister encryption rewrap`: another key wraps the keys of documents and results from now on."""

from dataclasses import asdict

import pipeline
from jobs.cli.options import JsonOption, WaitOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem


def rewrap(wait: WaitOption = 0, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Wrap the keys of documents and results anew, with the key that site.yaml names today.

    Before, name the new key as encryption.key_file, and the old one as previous_key_file. No document is encrypted
    anew. What is cut off is ended by the same command. Afterwards the old key opens nothing of this workspace; with it
    go all older copies of private/, as in backups.
    """
    site = make_site(open_workspace(workspace))
    if not site.at_rest.on:
        raise ConfigError(Problem("site.yaml", "no key 'encryption': nothing is encrypted here"))
    with pipeline.open_journal(site, wait):
        done = pipeline.rewrap(site.at_rest)
    if as_json:
        print_json(asdict(done))
        return
    say(f"The key {done.key} wraps {done.keys:,} keys, {done.rewrapped:,} of them since now")
    if done.rewrapped:
        say("  Make a backup, then destroy the key before it: it opens nothing here any more, but older backups, and")
        say("  those open from then on only with private/.atrest/ of a newer one")
