"""Modules by which Python code speaks to servers: none can be imported in the own process of a command that computes.

pyarrow brings clients of object stores, which it loads wherever it is imported, if they are there; it does without.
Of Python's own library the console and the page for paper (segno) import some, for a table of codes and the form of a
path, so commands that compute nothing may import these; the guard and the kernel hold them as all others.
"""

import sys
from typing import Final

OF_LIBRARY: Final = (
    *("ftplib", "http.client", "imaplib", "nntplib", "poplib", "smtplib", "telnetlib", "urllib.request"),
    *("webbrowser", "xmlrpc.client"),
)
"""Clients of Python's own library."""
OF_OTHERS: Final = (
    *("aiohttp", "boto3", "botocore", "grpc", "httpcore", "httpx", "pycurl", "requests", "tornado", "urllib3"),
    *("websockets", "zmq"),
    *("analytics", "ddtrace", "newrelic", "opentelemetry", "posthog", "prometheus_client", "sentry_sdk", "statsd"),
    *("pyarrow._azurefs", "pyarrow._flight", "pyarrow._gcsfs", "pyarrow._hdfs", "pyarrow._s3fs"),
)
"""Clients of others and of pyarrow; and what tells its makers of use."""


OF_CLUSTERS: Final = ("tornado", "http.client", "urllib.request")
"""What Dask imports, for a process that works with a cluster: the guard and the kernel hold these as all others."""


def let_in_for_cluster() -> None:
    """Let code of this process import what Dask imports."""
    for name in OF_CLUSTERS:
        if sys.modules.get(name, name) is None:
            del sys.modules[name]


def keep_out(*, computes: bool) -> None:
    """Let no code of this process import any of OF_OTHERS, nor of OF_LIBRARY where it computes: it gets an ImportError,
    as where they are not installed."""
    for name in (*OF_OTHERS, *OF_LIBRARY) if computes else OF_OTHERS:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
