"""site.yaml, read again while a service runs."""

from dataclasses import replace

from jobs.config.load import load_site, shown
from jobs.config.workspace import Workspace
from jobs.errors import ConfigError, Problem

_FIXED = ("origin", "key", "public_key", "passphrase_file")


def read_again(workspace: Workspace) -> Workspace:
    """The workspace as its site.yaml is now. ConfigError, also where it names another log or key: runs and records go
    on under the key with which the service began, and a log has one writer's key at a time."""
    path = workspace.root / "site.yaml"
    site = load_site(path)
    changed = [key for key in _FIXED if getattr(site.log, key) != getattr(workspace.site.log, key)]
    if changed or site.service.log_file != workspace.site.service.log_file:
        keys = [f"log.{key}" for key in changed] or ["service.log_file"]
        found = f"{', '.join(keys)}: changed while the service runs"
        raise ConfigError(Problem(shown(path), found, "as it was at its start", "stop the service and start it again"))
    return replace(workspace, site=site)
