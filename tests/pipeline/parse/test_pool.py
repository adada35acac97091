"""What children do must cost their own document only."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.errors import DocumentError, Failure
from pipeline.parse import Limits, ParserPool
from pipeline.parse.child.process import end_kept

TEXT = b"A letter.\n\nIt has two paragraphs.\n"


def below(processes, before: list[int]) -> list[int]:
    return [pid for pid in processes(os.getpid()) if pid not in before]


@pytest.fixture(autouse=True)
def alone():
    """No server is left of other tests, nor for them."""
    end_kept()
    yield
    end_kept()


@pytest.fixture
def watched(processes):
    """A pool of one worker, its server's pid and a function for its children's pids."""
    before = processes(os.getpid())
    with ParserPool(1, Limits(seconds=1.5)) as pool:
        server = below(processes, before)[0]
        yield pool, server, lambda: processes(server)


def failure_of(parse_with, pool: ParserPool, data: bytes) -> DocumentError:
    with pytest.raises(DocumentError) as raised:
        parse_with(pool, data)
    return raised.value


def test_a_document_is_parsed_and_the_offset_of_its_descriptor_stays(pool: ParserPool, tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(TEXT)
    with path.open("rb", buffering=0) as file:
        file.seek(5)
        parsed = pool.parse(file.fileno(), path.name)
        assert file.tell() == 5
    assert parsed.text == "A letter.\n\nIt has two paragraphs."
    assert (parsed.media_type, parsed.parser, parsed.encoding) == ("text/plain", "txt/1", "utf-8")


def test_isolation_and_versions_are_described(pool: ParserPool) -> None:
    described = json.loads(json.dumps(pool.describe()))
    assert described["isolation"] == pool.isolation
    assert pool.isolation["memory_limit"]
    assert pool.isolation["dies_with_parent"]
    assert described["limits"]["memory_bytes"] == 512 * 2**20
    assert described["parsers"]["application/pdf"].startswith("pdf/4 pypdfium2 ")


def test_a_child_that_hangs_is_a_timeout_and_is_replaced(watched, parse_with) -> None:
    pool, _, children = watched
    (child,) = children()
    os.kill(child, signal.SIGSTOP)
    error = failure_of(parse_with, pool, TEXT)
    assert error.failure is Failure.TIMEOUT
    assert error.reason == "not parsed within limits.parse_seconds (1.5 s)"
    assert parse_with(pool, TEXT).text.startswith("A letter.")
    assert children() != [child]


def test_a_child_killed_in_the_middle_is_a_crash_that_names_the_signal(watched, parse_with) -> None:
    pool, _, children = watched
    (child,) = children()
    os.kill(child, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (child, signal.SIGKILL)).start()
    error = failure_of(parse_with, pool, TEXT)
    assert error.failure is Failure.CRASHED
    assert "SIGKILL" in error.reason
    assert parse_with(pool, TEXT).text.startswith("A letter.")


def test_a_child_killed_while_idle_costs_no_document(watched, parse_with) -> None:
    pool, _, children = watched
    (child,) = children()
    descriptor = os.pidfd_open(child)
    os.kill(child, signal.SIGKILL)
    select.select([descriptor], [], [], 5)
    os.close(descriptor)
    assert parse_with(pool, TEXT).text.startswith("A letter.")


def test_a_server_killed_from_outside_is_started_again(watched, parse_with) -> None:
    pool, server, children = watched
    descriptor = os.pidfd_open(children()[0])
    os.kill(server, signal.SIGKILL)
    assert select.select([descriptor], [], [], 5)[0], "a child outlived its server"
    os.close(descriptor)
    assert parse_with(pool, TEXT).text.startswith("A letter.")


def test_a_document_whose_parser_was_killed_with_the_server_is_read_again(processes, parse_with) -> None:
    before = processes(os.getpid())
    body = json.dumps([{"name": "value", "number": place} for place in range(60_000)]).encode()
    with ParserPool(1, Limits(seconds=30)) as pool, ThreadPoolExecutor(1) as thread:
        server = below(processes, before)[0]
        parsing = thread.submit(parse_with, pool, body)
        time.sleep(0.05)
        os.kill(server, signal.SIGKILL)
        assert parsing.result().text.count("\n") >= 119_000


def test_children_are_replaced_after_their_share_of_documents(processes, parse_with) -> None:
    before = processes(os.getpid())
    with ParserPool(1, Limits(documents_per_child=2)) as pool:
        seen = []
        for _ in range(4):
            parse_with(pool, TEXT)
            seen.append(tuple(below(processes, before)))
    assert len(seen[0]) == 2  # server and child
    assert len(seen[1]) == 1  # the child has gone
    assert seen[0] != seen[2]


def test_the_server_alone_is_left_when_a_pool_closes_and_serves_the_next_one(processes, parse_with) -> None:
    before = processes(os.getpid())
    with ParserPool(2) as pool:
        parse_with(pool, TEXT)
        server, *children = below(processes, before)
        assert children
    assert below(processes, before) == [server]
    with pytest.raises(RuntimeError, match="closed"):
        parse_with(pool, TEXT)
    with ParserPool(1, required=False) as pool, ParserPool(1) as other:
        assert parse_with(pool, TEXT).text == parse_with(other, TEXT).text
        assert below(processes, before)[0] == server
    assert len(below(processes, before)) == 1
    end_kept()
    assert not below(processes, before)


def test_a_server_that_is_kept_forgets_what_its_children_said() -> None:
    pool = ParserPool(1)
    server = pool._server
    os.pwrite(server._stderr.fileno(), b"a line of a document", 0)
    pool.close()
    assert os.fstat(server._stderr.fileno()).st_size == 0


def test_a_server_that_died_while_it_was_kept_is_not_taken(processes, parse_with) -> None:
    before = processes(os.getpid())
    ParserPool(1).close()
    os.kill(below(processes, before)[0], signal.SIGKILL)
    with ParserPool(1) as pool:
        assert parse_with(pool, TEXT).parser == "txt/1"


def test_a_process_that_was_forked_has_a_server_of_its_own(processes, parse_with) -> None:
    before = processes(os.getpid())
    ParserPool(1).close()
    (server,) = below(processes, before)
    if not (child := os.fork()):
        pool = ParserPool(1)
        code = int(not parse_with(pool, TEXT).text or server in processes(os.getpid()))
        pool.close()
        end_kept()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with ParserPool(1) as pool:
        assert parse_with(pool, TEXT).text
        assert below(processes, before)[0] == server


def test_nothing_is_left_when_the_parent_is_killed() -> None:
    program = (
        "import sys, types\n"
        f"package = types.ModuleType('pipeline'); package.__path__ = [{str(package_folder())!r}]\n"
        "sys.modules['pipeline'] = package\n"
        "from pipeline.parse import ParserPool\n"
        "pool = ParserPool(1)\n"
        "print('ready', flush=True); sys.stdin.read()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    from_parent = [os.pidfd_open(pid) for pid in find_below(parent.pid)]
    assert len(from_parent) == 2
    parent.kill()
    parent.wait()
    for descriptor in from_parent:
        assert select.select([descriptor], [], [], 5)[0], "a process outlived its parent"
        os.close(descriptor)
    parent.stdin.close()
    parent.stdout.close()


def package_folder() -> Path:
    import pipeline.parse

    return Path(pipeline.parse.__file__).parents[1]


def find_below(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        found += [int(word) for word in Path(f"/proc/{one}/task/{one}/children").read_text().split()]
    return found[1:]


def test_many_threads_share_the_children(tmp_path: Path) -> None:
    paths = []
    for number in range(60):
        path = tmp_path / f"{number}.txt"
        path.write_text(f"document {number}\n" * (number + 1))
        paths.append(path)

    with ParserPool(2) as pool, ThreadPoolExecutor(6) as threads:

        def text_of(path: Path) -> str:
            with path.open("rb") as file:
                return pool.parse(file.fileno(), path.name).text

        texts = list(threads.map(text_of, paths))
    assert texts == [path.read_text().rstrip("\n") for path in paths]


def test_too_much_text_and_too_much_memory_are_named(parse_with) -> None:
    with ParserPool(1, Limits(output_characters=1000, memory_bytes=256 * 2**20)) as pool:
        error = failure_of(parse_with, pool, b"word " * 300)
        assert error.failure is Failure.TOO_LARGE
        assert error.reason == "its text is longer than limits.text_characters (1,000) allows: it has 1,500 or more"
        html = b"<table><tr><td>" + b"word " * 150 + b"</td><td>" + b"word " * 150 + b"</td></tr></table>"
        assert "limits.text_characters (1,000)" in failure_of(parse_with, pool, html).reason, (
            "the whole limit, not its rest"
        )
        error = failure_of(parse_with, pool, b"[" + b"[1],2,3,4,5," * 3_000_000 + b"6]")
        assert error.failure is Failure.OUT_OF_MEMORY
        assert "limits.parse_memory_mib (256 MiB)" in error.reason
        assert parse_with(pool, TEXT).text.startswith("A letter.")


def test_what_is_no_regular_file_is_unreadable(pool: ParserPool, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    folder = os.open(tmp_path, os.O_RDONLY)
    for descriptor in (reading, folder):
        with pytest.raises(DocumentError) as raised:
            pool.parse(descriptor, "x")
        assert raised.value.failure is Failure.UNREADABLE
    for descriptor in (reading, writing, folder):
        os.close(descriptor)


def test_a_descriptor_that_cannot_be_read_is_unreadable(pool: ParserPool, tmp_path: Path) -> None:
    with (tmp_path / "new").open("wb") as file:
        file.write(b"text")
        file.flush()
        with pytest.raises(DocumentError) as raised:
            pool.parse(file.fileno(), "x")
    assert raised.value.failure is Failure.UNREADABLE


def test_closing_during_a_parse_is_no_failure_of_the_document(processes, parse_with) -> None:
    before = processes(os.getpid())
    pool = ParserPool(1)
    os.kill(below(processes, before)[1], signal.SIGSTOP)
    threading.Timer(0.2, pool.close).start()
    with pytest.raises(RuntimeError, match="closed"):
        parse_with(pool, TEXT)
    with pytest.raises(RuntimeError, match="closed"):
        parse_with(pool, TEXT)
    assert not below(processes, before)


def test_zero_workers_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        ParserPool(0)
