"""`cloister doctor`: whether this machine and a workspace are fit for a night. See README.md.

A check is a module (base.py has the contract). To add one, write it and name it here and in README.md.
"""

from collections.abc import Mapping

from jobs.doctor.base import Check
from jobs.doctor.machine import (
    clock,
    cores,
    disk,
    kernels,
    limits,
    memory,
    ocr,
    packages,
    processor,
    sandbox,
    service,
    software,
    timezones,
)
from jobs.doctor.workspace import encryption, filesystem, jobs, key, log, permissions, site, sync

CHECKS: Mapping[str, Check] = {
    "processor": processor,
    "cores": cores,
    "memory": memory,
    "limits": limits,
    "sandbox": sandbox,
    "software": software,
    "packages": packages,
    "kernels": kernels,
    "ocr": ocr,
    "clock": clock,
    "timezones": timezones,
    "service": service,
    "disk": disk,
    "site": site,
    "jobs": jobs,
    "filesystem": filesystem,
    "sync": sync,
    "permissions": permissions,
    "key": key,
    "encryption": encryption,
    "log": log,
}
"""The checks by name, in the order in which they are told."""
