"""Attacks on the console: each is refused with the right status, and recorded where it is no slip."""

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.console.guard import MOST_BODY_BYTES, POLICY
from jobs.console.rights import RIGHTS, Right, Role
from tests.console.browsing import command
from tests.console.conftest import OWN, PASSPHRASE, Browser, Served, raw, received, serving, status_of
from tests.jobs.conftest import Place, entries

PAGES = {
    "/": Right.LISTS, "/queue": Right.LISTS, "/runs": Right.LISTS, "/models": Right.LISTS, "/log": Right.LOG,
    "/log/entries?first=0": Right.LOG, "/live.json": Right.LISTS,
}  # fmt: skip
ACTIONS = {
    "/jobs/sort/run": Right.OPERATE, "/jobs/sort/retry": Right.OPERATE, "/log/verify": Right.LOG,
    "/log/export": Right.LOG,
}  # fmt: skip


def refused(place: Place) -> list[tuple[str, str]]:
    """What the log says was refused, and who was signed in."""
    return [(entry["what"], entry["person"]) for entry in entries(place, "console.refused")]


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A console for what leaves no trace in it."""
    root = tmp_path_factory.mktemp("console") / "ws"
    command("init", root, "--origin", "test.example/log")
    with serving(root) as served:
        yield served


@pytest.fixture(scope="module")
def anna(lasting: Served) -> Browser:
    """Somebody with all roles there."""
    return lasting.everybody()


@pytest.mark.parametrize("path", PAGES)
def test_nobody_gets_a_page_without_signing_in(lasting: Served, path: str) -> None:
    answer = lasting.browser().get(path)
    assert answer.status == 401
    assert lasting.house.site.origin not in answer.text


@pytest.mark.parametrize("cookie", ["cloister_session=", "cloister_session=x", f"cloister_session={'A' * 43}"])
def test_a_made_up_session_is_none(lasting: Served, cookie: str) -> None:
    assert Browser(lasting.port, cookie).get("/").status == 401


@pytest.mark.parametrize("path", ACTIONS)
def test_an_action_without_a_session_is_refused_and_recorded(console: Served, place: Place, path: str) -> None:
    assert console.browser().post(path, {"token": "x"}).status == 401
    assert refused(place) == [("an action without being signed in", "")]


@pytest.mark.parametrize("role", Role)
def test_each_role_gets_what_it_may_and_nothing_else(console: Served, role: Role) -> None:
    browser = console.person("Bea", role)
    for path, right in PAGES.items():
        expected = 200 if right in RIGHTS[role] else 403
        assert browser.get(path).status == expected, path


@pytest.mark.parametrize("path", ACTIONS)
def test_the_wrong_role_is_refused_and_recorded(console: Served, place: Place, path: str) -> None:
    browser = console.person("Rita", Role.READER)
    assert browser.act("/", path).status == 403
    assert [person for _, person in refused(place)] == ["Rita"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:1"},
        {},
    ],
)
def test_a_form_of_a_foreign_origin_is_refused_and_recorded(
    console: Served, place: Place, headers: dict[str, str]
) -> None:
    browser = console.everybody()
    answer = browser.post("/log/verify", {"token": browser.get("/log").token}, headers)
    assert answer.status == 403
    assert ("a request from a foreign origin", "") in refused(place)
    assert entries(place, "console.started") == []


def test_a_form_of_the_own_origin_is_taken(console: Served) -> None:
    browser = console.everybody()
    own = {"Origin": f"http://127.0.0.1:{console.port}"}
    assert browser.post("/log/verify", {"token": browser.get("/log").token}, own).status == 303


def test_a_page_inside_a_page_of_others_is_refused(console: Served) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert console.everybody().get("/live.json", headers).status == 403


def test_a_link_from_elsewhere_leads_to_the_page(console: Served) -> None:
    """Browsers keep the cookie back from a link in a report or a mail; the page that is shown instead asks again."""
    answer = console.browser().get("/queue", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
    assert answer.status == 200
    assert 'http-equiv="refresh"' in answer.text
    assert console.browser().get("/queue", {"Sec-Fetch-Site": "same-origin"}).status == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", ""])
def test_another_host_is_refused(console: Served, place: Place, host: str) -> None:
    """DNS rebinding: a name of somebody else that leads to this machine."""
    browser = console.everybody()
    assert browser.get("/", {"Host": host}).status == 421
    assert refused(place) == [("a request for another host", "")]


def test_its_own_names_are_taken(console: Served) -> None:
    browser = console.everybody()
    for name in ("127.0.0.1", "localhost", "LOCALHOST"):
        assert browser.get("/", {"Host": f"{name}:{console.port}"}).status == 200


def test_two_hosts_are_refused(console: Served) -> None:
    own = f"127.0.0.1:{console.port}"
    request = f"GET / HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\n\r\n"
    assert status_of(raw(console.port, request.encode())) in (400, 421)


def test_a_replayed_form_is_refused_and_recorded(console: Served, place: Place) -> None:
    browser = console.everybody()
    form = {"token": browser.get("/log").token}
    assert browser.post("/log/verify", form).status == 303
    assert browser.post("/log/verify", form).status == 409
    assert ("a form that was sent before", "Anna") in refused(place)
    assert len(entries(place, "console.started")) == 1


@pytest.mark.parametrize("token", ["", "x", "0" * 32, f"{'0' * 32}.{'0' * 64}", "ä.ö", "\ud800."])
def test_a_form_without_its_token_is_refused_and_recorded(console: Served, place: Place, token: str) -> None:
    browser = console.everybody()
    assert browser.post("/log/verify", {"token": token.encode("utf-8", "replace").decode()}).status == 403
    assert ("a form without the session's token", "Anna") in refused(place)


def test_the_token_of_another_session_is_refused(console: Served) -> None:
    anna, other = console.everybody("Anna"), console.everybody("Otto")
    assert anna.post("/log/verify", {"token": other.get("/log").token}).status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/static/../people.py", "/static/%2e%2e/people.py", "/static/..%2f..%2fkeys%2fpeople.json", "/static/people.py",
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/runs/..%2f..%2fkeys", "/jobs/%2e%2e", "//evil.example/",
        "/static/console.css%00.html", "/jobs/..\\..\\keys", "/static//etc/passwd", "/log/days/../../keys/people.json",
    ],
)  # fmt: skip
def test_path_names_that_lead_out_lead_nowhere(lasting: Served, anna: Browser, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{lasting.port}\r\nCookie: {anna.cookie}\r\n"
    answer = raw(lasting.port, f"{request}Connection: close\r\n\r\n".encode())
    assert status_of(answer) == 404
    assert b"passphrase" not in answer.lower()
    assert b"root:" not in answer


@pytest.mark.parametrize("path", ["/runs/x", "/jobs/x", "/models/x", "/models/" + "0" * 64, "/works/99", "/log/days/x",
                                  "/log/days/2026-11-01", "/queue?sort=x", "/queue?review=x", "/queue?after=x",
                                  "/documents/99999", "/nothing", "/runs/"])  # fmt: skip
def test_what_is_not_there_is_not_found(anna: Browser, path: str) -> None:
    answer = anna.get(path)
    told = answer.text if answer.status == 200 else ""
    assert answer.status == 404 or "no such place" in told


def test_a_body_of_ten_megabytes_is_refused_at_once(console: Served, place: Place) -> None:
    head = (
        f"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1:{console.port}\r\nSec-Fetch-Site: same-origin\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n"
    )
    announced = f"{head}Content-Length: {10 * 2**20}\r\n\r\n"
    assert status_of(raw(console.port, announced.encode())) == 413
    chunk = b"10000\r\n" + b"a" * 65536 + b"\r\n"
    assert status_of(raw(console.port, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 160)) == 413
    assert refused(place) == [("a form that is too long", "")]


def test_a_body_that_just_fits_is_taken(console: Served) -> None:
    form = {"name": "x", "passphrase": "y" * (MOST_BODY_BYTES - 100)}
    assert console.browser().post("/sign-in", form).status == 401


@pytest.mark.parametrize("length", ["-1", "x", "9" * 30, "1e3"])
def test_a_length_that_is_none_is_refused(lasting: Served, length: str) -> None:
    head = f"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1:{lasting.port}\r\nSec-Fetch-Site: same-origin\r\n"
    kind = "Content-Type: application/x-www-form-urlencoded\r\n"
    assert status_of(raw(lasting.port, f"{head}{kind}Content-Length: {length}\r\n\r\n".encode())) in (400, 413)


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/json", ""])
def test_another_kind_of_body_is_refused(console: Served, kind: str) -> None:
    assert console.browser().post("/sign-in", {"name": "x"}, {**OWN, "Content-Type": kind}).status == 415


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(lasting: Served, method: str) -> None:
    request = f"{method} / HTTP/1.1\r\nHost: 127.0.0.1:{lasting.port}\r\nConnection: close\r\n\r\n"
    assert status_of(raw(lasting.port, request.encode())) in (400, 405)


def test_a_head_that_is_too_long_is_refused(console: Served) -> None:
    for length in (20_000, 10_000_000):
        request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{console.port}\r\nX: {'a' * length}\r\n"
        assert status_of(raw(console.port, f"{request}Connection: close\r\n\r\n".encode())) in (400, 431)


def test_slow_clients_are_ended_and_hold_nobody_up(place: Place) -> None:
    with serving(place.root, head_seconds=1.0, body_seconds=1.0) as console:
        head = f"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1:{console.port}\r\nSec-Fetch-Site: same-origin\r\n"
        kind = "Content-Type: application/x-www-form-urlencoded\r\n"
        clients = [socket.create_connection(("127.0.0.1", console.port), timeout=200) for _ in range(60)]
        began = time.monotonic()
        for number, client in enumerate(clients):
            pieces = (b"", b"GET / HT", head.encode(), f"{head}{kind}Content-Length: 50\r\n\r\nname=".encode())
            client.sendall(pieces[number % 4])
        assert console.browser().get("/sign-in").status == 200
        assert time.monotonic() - began < 100
        answers = [received(client) for client in clients]
        for client in clients:
            client.close()
        assert [status_of(answer) for answer in answers[1::4]] == [408] * 15
        assert [status_of(answer) for answer in answers[3::4]] == [408] * 15
        assert set(answers[0::4]) == {b""}
        assert console.browser().get("/sign-in").status == 200


def test_a_client_that_sends_a_byte_now_and_then_is_ended(place: Place) -> None:
    with (
        serving(place.root, head_seconds=1.0) as console,
        socket.create_connection(("127.0.0.1", console.port), timeout=200) as client,
    ):
        sent = 0
        with contextlib.suppress(OSError):
            for sent in range(100):  # noqa: B007
                client.sendall(b"G")
                time.sleep(0.1)
        assert sent < 80


def test_wrong_passphrases_cost_more_and_more_time(console: Served, place: Place) -> None:
    console.everybody("Anna")
    browser = console.browser()
    wrong = {"name": "Anna", "passphrase": "not this one at all"}
    statuses = [browser.post("/sign-in", wrong).status for _ in range(7)]
    assert statuses[:5] == [401] * 5
    assert 429 in statuses[5:]
    assert ("a wrong name or passphrase", "") in refused(place)
    assert len(refused(place)) == 1  # the others are told together, later


def test_what_is_refused_again_is_told_together_at_the_end(place: Place) -> None:
    with serving(place.root) as console:
        for _ in range(10):
            assert console.browser().get("/", {"Host": "evil.example"}).status == 421
    told = [(entry["what"], entry["times"]) for entry in entries(place, "console.refused")]
    assert told == [("a request for another host", 1), ("a request for another host", 9)]


def test_headers_of_every_answer_keep_others_out(console: Served) -> None:
    for answer in (console.browser().get("/"), console.everybody().get("/"), console.browser().get("/x")):
        assert answer.headers["Content-Security-Policy"] == POLICY
        assert "unsafe" not in POLICY
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Server" not in answer.headers


def test_the_cookie_is_kept_from_scripts_and_other_sites(console: Served) -> None:
    token = console.house.people.invite("Anna", (Role.READER,))
    answer = console.browser().post(f"/join/{token}", {"passphrase": PASSPHRASE, "again": PASSPHRASE})
    said = answer.headers["Set-Cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert "path=/" in said


def test_nothing_of_the_workspace_is_served_as_a_file(console: Served) -> None:
    browser = console.everybody()
    for path in ("/keys/people.json", "/site.yaml", "/audit/checkpoint", "/static/console.py", "/templates/home.html"):
        assert browser.get(path).status == 404


def test_a_redirect_after_signing_in_stays_here(console: Served) -> None:
    console.everybody("Anna")
    for then in ("//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "/sign-out"):
        form = {"name": "Anna", "passphrase": PASSPHRASE, "next": then}
        answer = console.browser().post("/sign-in", form)
        assert (answer.status, answer.headers["Location"]) == (303, "/")
    form = {"name": "Anna", "passphrase": PASSPHRASE, "next": "/queue?state=failed"}
    assert console.browser().post("/sign-in", form).headers["Location"] == "/queue?state=failed"


def test_secrets_are_kept_as_hashes_alone(console: Served, place: Place) -> None:
    token = console.house.people.invite("Bea", (Role.READER,))
    browser = console.everybody("Anna")
    kept = (place.root / "keys" / "people.json").read_text()
    assert token not in kept
    assert PASSPHRASE not in kept
    assert browser.cookie.partition("=")[2] not in kept
    assert (place.root / "keys" / "people.json").stat().st_mode & 0o777 == 0o600


def test_people_that_others_may_write_are_not_trusted(console: Served, place: Place) -> None:
    browser = console.everybody("Anna")
    (place.root / "keys" / "people.json").chmod(0o666)
    answer = browser.get("/")
    assert answer.status == 503
    assert "chmod 600" in answer.text


def test_a_link_in_the_place_of_people_is_not_followed(console: Served, place: Place, tmp_path: Path) -> None:
    browser = console.everybody("Anna")
    path = place.root / "keys" / "people.json"
    path.rename(tmp_path / "people.json")
    path.symlink_to(tmp_path / "people.json")
    assert browser.get("/").status == 503
