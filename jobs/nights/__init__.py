"""Nights: when jobs start by themselves, and the service that starts them.

The scheduler is imported when a service is made: no other command waits for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobs.nights.schedule import Schedules
    from jobs.nights.service import Service
    from jobs.nights.systemd import Systemd
    from jobs.nights.wake import Wake

__all__ = ["Schedules", "Service", "Systemd", "Wake"]

_HOMES = {
    "Schedules": "jobs.nights.schedule",
    "Service": "jobs.nights.service",
    "Systemd": "jobs.nights.systemd",
    "Wake": "jobs.nights.wake",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'jobs.nights' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
