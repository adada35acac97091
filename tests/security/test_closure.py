"""What is installed for a night contains no program that speaks to others, or it is named here with the reason why it
speaks to nobody; and none of it is loaded by a run."""

import json
import subprocess
import sys
from pathlib import Path

from jobs.silence.seal import OF_LIBRARY, OF_OTHERS
from tests.jobs.conftest import LEASE, Place, cloister, place, ready  # noqa: F401
from tests.security.closure import closure, files, normal, speakers, symbols

CLIENT_DISTRIBUTIONS = {
    *("aiohttp", "boto3", "botocore", "google-cloud-storage", "grpcio", "httpcore", "httplib2", "httpx"),
    *("pycurl", "requests", "s3fs", "treq", "urllib3", "websocket-client", "websockets", "huggingface-hub"),
    *("fsspec", "pip", "playwright", "selenium", "tornado", "twisted", "zeep", "analytics-python"),
    *("amplitude-analytics", "applicationinsights", "azure-monitor-opentelemetry", "bugsnag", "ddtrace"),
    *("elastic-apm", "honeycomb-beeline", "mixpanel", "newrelic", "opentelemetry-api", "opentelemetry-sdk"),
    *("posthog", "prometheus-client", "raven", "rollbar", "scout-apm", "segment-analytics-python"),
    *("sentry-sdk", "statsd", "wandb", "mlflow", "comet-ml", "snowplow-tracker"),
}
"""Distributions whose purpose is to speak to servers, or to tell their makers of use."""
OF_EXTRA = {
    "fsspec": "opens files of many stores by their URL; Dask's collections need it, which are not used",
    "tornado": "Dask's list of workers and its messages, over mutual TLS: what a cluster is for",
}
"""Those of these that the extra `cluster` brings -> what for. Only a command that is told of a cluster loads any."""
HARMLESS = {
    "anyio/": "sockets for the console's framework; loaded by the console alone, which listens",
    "uvicorn/": "the console's server: it listens, on loopback or a Unix socket that the console gives it",
    "starlette/exceptions.py": "takes the names of HTTP's status codes from http.client; of the console alone",
    "starlette/testclient.py": "a client for tests of others; httpx is not installed",
    "apscheduler/executors/tornado.py": "for programs with tornado, which an extra brings; only cron.py's kin is used",
    "apscheduler/schedulers/tornado.py": "as the executor",
    "click/_termui_impl.py": "opens a browser when a program asks it to, in a function; nobody asks",
    "typer/": "as click",
    "segno/__init__.py": "shows a QR code in a browser when a program asks it to; only pages for paper are written",
    "lxml/ElementInclude.py": "loads what XInclude names, when it is called; parsers of documents do not load it",
    "lxml/html/": "fetches pages and submits forms when it is asked to; nothing imports lxml.html",
    "numpy/lib/_datasource.py": "fetches a URL that is given as a file's name, in a function; names of files are not",
    "pyarrow/util.py": "fetches time zones for Windows, in a function",
    "pygments/lexers/": "fetches names of built-ins where a lexer's file is run as a program",
}
"""File, or folder, below which Python code imports a module that could reach others -> why it reaches nobody. That what
is said holds, a run shows, and the guard and the kernel's filter see to it."""
NATIVE = {
    "cryptography/hazmat/bindings/_rust": "OpenSSL as a whole is linked in, with its sockets; signing alone is used",
    "pyarrow/libarrow.so": "has clients of object stores linked in, which begin when a file system is made of a URL",
    "pyarrow/libparquet.so": "as libarrow",
    "pyarrow/libarrow_flight.so": "gRPC for Flight; it is never loaded",
    "pyarrow/libarrow_s3.so": "a client of S3; it is never loaded",
}
"""Shared library, by how its path begins, that takes functions of libc which reach others -> why it reaches nobody."""
NEVER_MAPPED = ("libarrow_flight", "libarrow_s3", "_s3fs", "_gcsfs", "_azurefs", "_hdfs")
RUN = """
import atexit, json, sys
def tell():
    loaded = [name for name, module in sys.modules.items() if module is not None]
    maps = open("/proc/self/maps").read()
    json.dump({"modules": loaded, "maps": maps}, open("loaded.json", "w"))
atexit.register(tell)
from jobs.cli import main
main()
"""


def test_no_distribution_is_a_client_or_tells_of_use() -> None:
    found = closure()
    assert "cloister" in found
    assert len(found) > 20
    assert sorted(found.keys() & CLIENT_DISTRIBUTIONS) == []
    assert {normal(name) for name in CLIENT_DISTRIBUTIONS} == CLIENT_DISTRIBUTIONS


def test_the_clients_of_the_extra_are_known_with_their_reason() -> None:
    more = closure("distributed").keys() - closure().keys()
    assert "dask" in more
    assert more & CLIENT_DISTRIBUTIONS == OF_EXTRA.keys()


def test_what_could_reach_others_is_known_with_its_reason() -> None:
    """Code of ours is held by tests/test_architecture.py."""
    unknown: dict[str, list[str]] = {}
    scanned = 0
    for distribution, of in closure().items():
        for name, path in files(of) if distribution != "cloister" else ():
            found = set[str]()
            if name.endswith(".py") and not name.startswith(tuple(HARMLESS)):
                found = speakers(path)
            elif ".so" in path.name and not name.startswith(tuple(NATIVE)):
                found = symbols(path)
            if found:
                unknown[name] = sorted(found)
            scanned += 1
    assert unknown == {}
    assert scanned > 1000


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    for text, found in {
        "def f():\n    from urllib.request import urlopen": {"urllib.request"},
        "from urllib import request": {"urllib.request"},
        "import http.client as c": {"http.client"},
        "try:\n    import requests\nexcept ImportError: pass": {"requests"},
        "from urllib.parse import quote": set(),
        "text = '''\nimport socket\n'''": set(),
    }.items():
        code.write_text(text)
        assert speakers(code) == found
    import _socket

    assert {"connect", "sendto"} <= symbols(Path(_socket.__file__))


def test_a_run_loads_none_of_them_and_could_not(ready: Place) -> None:  # noqa: F811
    ready.drop("sort", "lease.txt", LEASE)
    subprocess.run([sys.executable, "-P", "-c", RUN, "run", "sort"], capture_output=True, check=True)
    loaded = json.loads((ready.root / "loaded.json").read_text())
    modules = set(loaded["modules"])
    assert {"pyarrow.parquet", "pyarrow.fs", "numba"} <= modules  # it was a real run
    assert sorted(modules & {*OF_LIBRARY, *OF_OTHERS}) == []
    assert sorted(modules & {"dask", "distributed", *OF_EXTRA}) == []
    assert sorted(modules & {"uvicorn", "starlette", "anyio", "lxml.html", "lxml.ElementInclude", "segno"}) == []
    assert [name for name in NEVER_MAPPED if f"{name}." in loaded["maps"]] == []


def test_a_command_that_computes_can_import_no_client() -> None:
    names = ["urllib.request", "http.client", "requests"]
    late = f"def late():\n for name in {names}:\n  try: __import__(name)\n  except ImportError as error: print(error)"
    code = f"import jobs.cli\nimport atexit\n{late}\natexit.register(late)\njobs.cli.main()"
    for words in (["run"], ["audit", "replay"]):
        command = [sys.executable, "-P", "-c", code, *words, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-3:] == [f"import of {name} halted; None in sys.modules" for name in names]
