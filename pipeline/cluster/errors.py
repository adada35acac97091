"""What goes wrong with the machines of a cluster."""

from pipeline.errors import MachineRefusedError


class ClusterError(MachineRefusedError):
    """The cluster cannot be used as it was asked for; the message is for the operator."""


class BadWorkerError(Exception):
    """A worker answered with nonsense, so it gets nothing more; the message says what."""


class WorkerRefusedError(Exception):
    """A worker may not work on this run; the message says why, and what to do about it."""


class WorkerLostError(Exception):
    """A worker does not answer any more: it is dead, hung, or cannot be reached."""
