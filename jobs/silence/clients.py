"""Modules by which Python code speaks to servers: none can be imported in a command's own process.

pyarrow brings clients of object stores, which it loads wherever it is imported, if they are there; it does without.
"""

import sys
from typing import Final

CLIENTS: Final = (
    *("http.client", "urllib.request", "xmlrpc.client", "webbrowser"),
    *("ftplib", "imaplib", "nntplib", "poplib", "smtplib", "telnetlib"),
    *("aiohttp", "boto3", "botocore", "grpc", "httpcore", "httpx", "pycurl", "requests", "tornado", "urllib3"),
    *("websockets", "zmq"),
    *("analytics", "ddtrace", "newrelic", "opentelemetry", "posthog", "prometheus_client", "sentry_sdk", "statsd"),
    *("pyarrow._azurefs", "pyarrow._flight", "pyarrow._gcsfs", "pyarrow._hdfs", "pyarrow._s3fs"),
)
"""Clients of Python's own library, of others, and of pyarrow; and those who tell their makers of use."""


OF_CONSOLE: Final = frozenset({"http.client"})
"""What the console's framework imports, for the table of HTTP's status codes in it."""


def keep_out(*, is_console: bool) -> None:
    """Let no code of this process import any of them: it gets an ImportError, as where they are not installed."""
    for name in CLIENTS if not is_console else (each for each in CLIENTS if each not in OF_CONSOLE):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
