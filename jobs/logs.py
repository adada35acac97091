"""Log lines on stderr: for a person on a terminal, JSON elsewhere. Results never go there, and nothing else does."""

import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from jobs.visible import visible


def start_logging(stream: TextIO | None = None) -> FilteringBoundLogger:
    """Configures structlog for the whole process and returns the logger."""
    out = stream or sys.stderr
    last: list[Processor] = [structlog.processors.JSONRenderer(ensure_ascii=False)]
    if out.isatty():
        last = [_make_visible, structlog.dev.ConsoleRenderer(pad_event_to=0)]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            *last,
        ],
        logger_factory=structlog.PrintLoggerFactory(out),
    )
    logger: FilteringBoundLogger = structlog.get_logger()
    return logger


def _make_visible(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {name: visible(value) if isinstance(value, str) else value for name, value in event.items()}
