"""Before signing in: what strangers can try, what it costs, and that they keep nobody out."""

import contextlib
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest

import jobs.console.house
from jobs.console.access.people import Person
from jobs.console.access.sessions import _MOST_KEPT, Patience
from jobs.console.rights import Role
from tests.console.conftest import OWN, PASSPHRASE, Served, serving
from tests.console.flood import measure
from tests.jobs.conftest import Place, entries
from tests.thorough import ALL

WRONG = "none of their words"


def sign_in(
    console: Served, name: str, passphrase: str, *, source: str = "127.0.0.1", cookie: str = ""
) -> tuple[int, list[str]]:
    """Send the form of signing in from an address of this machine: the status, and the cookies that came."""
    connection = HTTPConnection("127.0.0.1", console.port, timeout=600, source_address=(source, 0))
    kind = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
    with contextlib.closing(connection):
        connection.request("POST", "/sign-in", urlencode({"name": name, "passphrase": passphrase}), {**OWN, **kind})
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get_all("Set-Cookie") or []


def known_of(cookies: list[str]) -> str:
    return next(cookie.partition(";")[0] for cookie in cookies if cookie.startswith("cloister_known="))


def test_of_sixty_guesses_at_the_same_time_five_are_tried(place: Place) -> None:
    with serving(place.root, patience=Patience(clock=lambda: 0.0)) as console:
        console.person("Anna", Role.READER)
        with ThreadPoolExecutor(60) as pool:
            found = list(pool.map(lambda n: sign_in(console, "Anna", f"{WRONG} {n}")[0], range(60)))
    assert Counter(found) == {401: 5, 429: 55}


def test_as_many_are_counted_as_begin_whatever_the_order() -> None:
    patience, gate = Patience(clock=lambda: 0.0), threading.Barrier(40)

    def tried(number: int) -> bool:
        gate.wait()
        return patience.begin("Anna" if number % 2 else "ANNA", "here") == 0

    with ThreadPoolExecutor(40) as pool:
        assert sum(pool.map(tried, range(40))) == 5


def test_each_attempt_beyond_the_fifth_costs_twice_the_wait_up_to_five_minutes() -> None:
    now, waits = 0.0, list[float]()
    patience = Patience(clock=lambda: now)
    for _ in range(13):
        assert patience.begin("Anna", "here") == 0
        waits.append(patience.begin("Anna", "here") if len(waits) > 3 else 0)
        now += waits[-1]
    assert waits == [0, 0, 0, 0, 10, 20, 40, 80, 160, 300, 300, 300, 300]
    patience.succeeded("Anna", "here")
    assert [patience.begin("Anna", "here") for _ in range(5)] == [0] * 5


def test_nobody_is_kept_out_by_what_others_try_elsewhere(console: Served) -> None:
    console.person("Anna", Role.READER)
    assert [sign_in(console, "Anna", WRONG, source="127.0.0.2")[0] for _ in range(8)] == [401] * 5 + [429] * 3
    assert sign_in(console, "Anna", PASSPHRASE, source="127.0.0.2")[0] == 429
    assert sign_in(console, "Anna", PASSPHRASE)[0] == 303
    assert sign_in(console, "Otto", WRONG, source="127.0.0.2")[0] == 401  # each person by themselves


def test_a_browser_that_came_in_before_waits_for_its_own_attempts_alone(console: Served) -> None:
    """Behind a proxy or a forwarded port everybody has one address."""
    browser = console.person("Anna", Role.READER)
    assert browser.get("/").status == 200
    own = known_of(sign_in(console, "Anna", PASSPHRASE)[1])
    assert [sign_in(console, "Anna", WRONG)[0] for _ in range(6)] == [401] * 5 + [429]
    assert sign_in(console, "Anna", PASSPHRASE, cookie=own)[0] == 303
    tried = [sign_in(console, "Anna", WRONG, cookie=own)[0] for _ in range(6)]
    assert tried == [401] * 5 + [429]  # a browser that was stolen guesses no more than others


@pytest.mark.parametrize("sign", ["", "x", "a.b", "\u00e9.\u00e9", "0" * 32 + "." + "0" * 64])
def test_a_made_up_sign_of_a_known_browser_is_none(console: Served, sign: str) -> None:
    console.person("Anna", Role.READER)
    for _ in range(5):
        sign_in(console, "Anna", WRONG)
    cookie = f"cloister_known={sign}".encode("latin-1").decode("latin-1")
    assert sign_in(console, "Anna", PASSPHRASE, cookie=cookie)[0] == 429


def test_a_sign_is_of_one_person_and_one_passphrase(console: Served) -> None:
    console.person("Anna", Role.READER)
    console.person("Otto", Role.READER)
    anna = console.house.people.find("Anna")
    assert anna
    sign = anna.known_by()
    otto = console.house.people.find("Otto")
    assert otto
    assert (anna.is_known(sign), otto.is_known(sign)) == (True, False)
    console.person("Anna", Role.READER)
    again = console.house.people.find("Anna")
    assert again
    assert not again.is_known(sign)
    assert not Person("New", (Role.READER,)).is_known(Person("New", (Role.READER,)).known_by())


def test_names_that_nobody_can_have_are_neither_compared_nor_kept(console: Served) -> None:
    for name in ("", "n" * 65, "n" * 200_000, "A\u202eB", "A\x00"):
        answer = console.browser().post("/sign-in", {"name": name, "passphrase": "x"})
        assert answer.status == 401
        assert len(answer.text) < 5_000
    assert console.house.patience._failed == {}


def test_of_failed_attempts_no_more_are_kept_than_so_many_and_no_name() -> None:
    patience = Patience(clock=lambda: 0.0)
    for number in range(_MOST_KEPT + 50):
        patience.begin("Anna" if not number else f"{number}", "here")
    assert len(patience._failed) == _MOST_KEPT
    assert {len(key) for key in patience._failed} == {64}


@pytest.mark.parametrize(
    "path",
    [
        "/documents/{}", "/documents/{}/story", "/documents/1/pages/{}.png", "/documents/{}/pages/1.png", "/works/{}",
        "/documents/00{}", "/documents/1\u0661{}",
    ],
)  # fmt: skip
def test_a_number_without_an_end_is_the_address_of_nothing(console: Served, place: Place, path: str) -> None:
    anna = console.everybody()
    for digits in (16, 30, 5_000):
        from urllib.parse import quote

        address = quote(path.format("9" * digits))
        for browser in (console.browser(), anna):
            answer = browser.get(address)
            assert (answer.status, "There is no such page" in answer.text) == (404, True)
        assert anna.post(f"/documents/{'9' * digits}/decide", {"token": "x"}).status == 404
    assert anna.get("/documents/" + "9" * 15).status == 404
    assert not (place.root / "state" / "crashes").exists()


@pytest.mark.parametrize(
    "address",
    [
        "/queue?after={}", "/runs?before={}", "/log/entries?first={}", "/log/days/{}", "/queue?sort={}",
        "/queue?night={}", "/models/{}", "/runs/{}", "/jobs/{}",
    ],
)  # fmt: skip
def test_odd_words_leave_no_crash_file(console: Served, place: Place, address: str) -> None:
    anna = console.everybody()
    for word in ("9" * 5_000, "-1", "1e999", "%00", "%ff", "%ed%a0%80", "[%22%5Cud800%22,1]", "%D9%A1", "%F0%9F%92%A9"):
        assert anna.get(address.format(word)).status in (200, 404)
    assert not (place.root / "state" / "crashes").exists()


def test_a_length_of_five_thousand_digits_is_refused(console: Served, place: Place) -> None:
    with contextlib.closing(HTTPConnection("127.0.0.1", console.port, timeout=600)) as connection:
        connection.putrequest("POST", "/sign-in")
        for name, value in {**OWN, "Content-Length": "9" * 5_000}.items():
            connection.putheader(name, value)
        connection.endheaders()  # no body follows, which a refusal would not read
        assert connection.getresponse().status in (400, 413)
    assert not (place.root / "state" / "crashes").exists()


@pytest.mark.parametrize(("url", "secure"), [("https://cloister.example", True), ("http://cloister.example", False)])
def test_cookies_go_by_https_alone_where_the_console_is_found_by_it(place: Place, url: str, secure: bool) -> None:
    site = place.root / "site.yaml"
    site.write_text(site.read_text() + f"console: {{url: '{url}'}}\n")
    with serving(place.root) as console:
        browser = console.person("Anna", Role.READER)
        _, cookies = sign_in(console, "Anna", PASSPHRASE)
        out = browser.act("/", "/sign-out")
    assert [cookie.partition("=")[0] for cookie in cookies] == ["cloister_session", "cloister_known"]
    said = [cookie.lower() for cookie in (*cookies, out.headers["Set-Cookie"])]
    assert [("; secure" in cookie) for cookie in said] == [secure] * 3
    assert all("httponly" in cookie and "samesite=strict" in cookie for cookie in said)


def test_the_cookie_of_a_proxys_session_goes_by_https_alone_too(place: Place) -> None:
    site = place.root / "site.yaml"
    proxy = "proxy: {header: X-User, from: 127.0.0.1}, people: {anna: [reader]}"
    site.write_text(site.read_text() + f"console: {{url: 'https://cloister.example', {proxy}}}\n")
    with serving(place.root) as console:
        answer = console.browser().get("/", {"X-User": "anna"})
    assert "; secure" in answer.headers["Set-Cookie"].lower()


def test_a_defect_that_comes_again_leaves_one_file(
    console: Served, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, numbers = console.everybody(), iter(range(100))

    def fails(*_: object) -> str:
        raise ZeroDivisionError(f"time {next(numbers)}")

    monkeypatch.setattr(jobs.console.house.House, "turn", fails)
    for _ in range(5):
        assert browser.get("/live.json").status == 500
    (crash,) = (place.root / "state" / "crashes").iterdir()
    assert "ZeroDivisionError: time 4" in crash.read_text()


def test_strangers_take_little_memory_and_leave_no_file(place: Place) -> None:
    count = 3_000 if ALL else 1_000
    before, after, statuses, crashes = measure(count)
    assert after - before < 20 * 2**20
    assert crashes == 0
    assert set(statuses) <= {200, 400, 401, 403, 404, 413, 421, 429, 431}
    assert sum(statuses.values()) > 0.8 * count


def test_what_is_tried_stands_in_the_log_as_so_many(place: Place) -> None:
    with serving(place.root) as console:
        for number in range(20):
            sign_in(console, "n" * (60 + number), WRONG)
    told = [(entry["what"], entry["times"]) for entry in entries(place, "console.refused")]
    assert told == [("a wrong name or passphrase", 1), ("a wrong name or passphrase", 19)]
