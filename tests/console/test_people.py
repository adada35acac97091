"""Who may use the console: invites, passphrases, sessions, roles; by the commands and in the browser."""

import json
import re
from pathlib import Path

import pytest

from jobs.console.access.people import People, PeopleError, hash_passphrase, matches, why_no_name, why_refused
from jobs.console.access.sessions import Sessions, Spent
from jobs.console.rights import RIGHTS, Right, Role
from tests.console.conftest import PASSPHRASE, Served
from tests.jobs.conftest import Cloister, Place, entries, held

BOTH = {"passphrase": PASSPHRASE, "again": PASSPHRASE}


def link_of(told: str) -> str:
    """The path of the link that `invite` printed."""
    found = re.search(r"http://[^/\s]+(/join/\S+)", told)
    assert found, told
    return found[1]


def test_an_invite_opens_once(console: Served, place: Place, cloister: Cloister) -> None:
    told = cloister("console", "invite", "Anna Aalto", "--role", "reviewer")
    assert told.code == 0
    path = link_of(told.out)
    assert told.out.count("/join/") == 1
    browser = console.browser()
    assert "Welcome, Anna Aalto" in browser.get(path).text
    assert browser.get(path).status == 200  # looking does not use it up
    assert browser.post(path, BOTH).status == 303
    assert browser.get("/").status == 200
    other = console.browser()
    assert other.get(path).status == 404
    assert other.post(path, BOTH).status == 404
    told_of = [(e["type"], e["person"], e.get("roles")) for e in entries(place) if e["type"].startswith("console.")]
    assert told_of == [
        ("console.invited", "Anna Aalto", "reviewer"),
        ("console.signed_in", "Anna Aalto", "reviewer"),
        ("console.refused", "", None),
    ]


def test_the_link_leads_to_where_people_find_the_console(place: Place, cloister: Cloister) -> None:
    assert "http://127.0.0.1:8417/join/" in cloister("console", "invite", "A", "--role", "reader").out
    assert "http://x:1/join/" in cloister("console", "invite", "A", "--role", "reader", "--url", "http://x:1/").out
    site = place.root / "site.yaml"
    site.write_text(site.read_text() + "console: {url: https://cloister.example}\n")
    assert "https://cloister.example/join/" in cloister("console", "invite", "A", "--role", "reader").out


@pytest.mark.parametrize(("passphrase", "again"), [("short", "short"), (PASSPHRASE, "other"), ("a" * 20, "a" * 20)])
def test_a_passphrase_that_will_not_do_leaves_the_invite(console: Served, passphrase: str, again: str) -> None:
    token = console.house.people.invite("Anna", (Role.READER,))
    answer = console.browser().post(f"/join/{token}", {"passphrase": passphrase, "again": again})
    assert answer.status == 422
    assert 'role="alert"' in answer.text
    assert console.house.people.invited(token)


def test_an_invite_expires(tmp_path: Path) -> None:
    now = 1000.0
    people = People(tmp_path, clock=lambda: now)
    token = people.invite("Anna", (Role.READER,), hours=1)
    now += 3599
    assert people.invited(token)
    now += 2
    assert people.invited(token) is None
    assert people.join(token, PASSPHRASE) is None


def test_signing_in_and_out(console: Served) -> None:
    console.person("Anna", Role.READER)
    browser = console.browser()
    assert browser.get("/queue").status == 401
    assert 'name="next" value="/queue"' in browser.get("/queue").text
    answer = browser.post("/sign-in", {"name": "Anna", "passphrase": PASSPHRASE, "next": "/queue"})
    assert (answer.status, answer.headers["Location"]) == (303, "/queue")
    before = browser.cookie
    assert browser.act("/queue", "/sign-out").status == 303
    browser.cookie = before
    assert browser.get("/queue").status == 401


def test_whoever_is_revoked_is_out_with_the_next_request(console: Served, place: Place, cloister: Cloister) -> None:
    browser = console.person("Anna", Role.READER)
    assert browser.get("/").status == 200
    assert cloister("console", "revoke", "Anna").code == 0
    assert browser.get("/").status == 401
    assert console.browser().post("/sign-in", {"name": "Anna", "passphrase": PASSPHRASE}).status == 401
    assert [entry["person"] for entry in entries(place, "console.revoked")] == ["Anna"]
    wrong = cloister("console", "revoke", "Anna")
    assert (wrong.code, "nobody is called 'Anna'" in wrong.err) == (2, True)


def test_other_roles_hold_from_the_next_request_on_and_need_a_new_passphrase(console: Served) -> None:
    browser = console.person("Anna", Role.AUDITOR)
    assert browser.get("/log").status == 200
    token = console.house.people.invite("Anna", (Role.READER,))
    assert browser.get("/").status == 401
    assert console.browser().post(f"/join/{token}", BOTH).status == 303
    assert browser.get("/").status == 401  # the session of before stays ended
    reader = console.browser()
    reader.post("/sign-in", {"name": "Anna", "passphrase": PASSPHRASE})
    assert (reader.get("/").status, reader.get("/log").status) == (200, 403)


def test_people_are_listed(place: Place, cloister: Cloister) -> None:
    assert "nobody yet" in cloister("console", "people").out
    cloister("console", "invite", "Anna", "--role", "reviewer", "--role", "operator")
    told = cloister("console", "people").out
    assert "Anna" in told
    assert "reviewer, operator" in told
    assert "invited until" in told
    said = cloister("console", "people", "--json").json
    assert [(each["name"], each["roles"]) for each in said["people"]] == [("Anna", ["reviewer", "operator"])]


@pytest.mark.parametrize("name", ["", " A", "A ", "a" * 65, "A\nB", "A\u202eB", "A\u200bB", "\x1b[31mA"])
def test_a_name_that_is_none(place: Place, cloister: Cloister, name: str) -> None:
    assert why_no_name(name)
    assert cloister("console", "invite", name, "--role", "reader").code == 2


def test_names_that_look_alike_are_one(tmp_path: Path) -> None:
    people = People(tmp_path)
    people.invite("Anna", (Role.READER,))
    with pytest.raises(PeopleError, match="too much like 'Anna'"):
        people.invite("ANNA", (Role.AUDITOR,))


def test_an_invite_while_a_run_holds_the_log_says_that_it_is_not_recorded(place: Place, cloister: Cloister) -> None:
    with held(place):
        done = cloister("console", "invite", "Anna", "--role", "reader")
    assert done.code == 0
    assert "not recorded" in done.err
    assert "/join/" in done.out


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": 2, "people": {}}', '{"version": 1, "people": {"A": 3}}'])
def test_a_file_that_is_broken_is_one_sentence(place: Place, cloister: Cloister, text: str) -> None:
    path = place.root / "keys" / "people.json"
    path.write_text(text)
    path.chmod(0o600)
    done = cloister("console", "people")
    assert done.code == 2
    assert "people.json: not what Cloister wrote" in done.err
    assert "remedy:   bring it back" in done.err


def test_roles() -> None:
    assert all(Right.LISTS in rights for rights in RIGHTS.values())
    assert [role for role in Role if Right.DECIDE in RIGHTS[role]] == [Role.REVIEWER]
    assert [role for role in Role if Right.OPERATE in RIGHTS[role]] == [Role.OPERATOR]
    assert [role for role in Role if Right.LOG in RIGHTS[role]] == [Role.AUDITOR]


def test_sessions_end_after_idle_and_whole_time() -> None:
    now = 0.0
    sessions = Sessions(idle=60, whole=150, clock=lambda: now)
    token, session = sessions.begin("Anna", "mark")
    for moment in (50.0, 100.0, 149.0):
        now = moment
        assert sessions.find(token) is session
    now = 151.0
    assert sessions.find(token) is None
    token, session = sessions.begin("Anna", "mark")
    now += 59
    assert sessions.find(token, touch=False) is session
    now += 2  # what scripts ask for by themselves kept nothing alive
    assert sessions.find(token) is None


def test_a_person_has_a_few_sessions_the_last_ones() -> None:
    sessions = Sessions(idle=60, whole=60, clock=lambda: 0.0)
    tokens = [sessions.begin("Anna", "")[0] for _ in range(25)]
    assert [sessions.find(token) is not None for token in tokens] == [False] * 5 + [True] * 20


def test_the_token_of_a_form_is_good_once_and_of_one_session() -> None:
    sessions = Sessions(idle=60, whole=60)
    (_, one), (_, other) = sessions.begin("Anna", ""), sessions.begin("Anna", "")
    token = one.form_token()
    assert other.spend(token) is Spent.WRONG
    assert one.spend(token) is Spent.GOOD
    assert one.spend(token) is Spent.REPLAYED
    assert one.spend(token[:-1] + ("0" if token[-1] != "0" else "1")) is Spent.WRONG


def test_passphrases_are_hashed_with_salt() -> None:
    one, two = hash_passphrase(PASSPHRASE), hash_passphrase(PASSPHRASE)
    assert one.hash != two.hash
    assert matches(PASSPHRASE, one)
    assert not matches(PASSPHRASE + "x", one)
    assert not matches(PASSPHRASE, None)
    assert why_refused(PASSPHRASE) is None


def test_people_by_a_proxy(place: Place, cloister: Cloister) -> None:
    from tests.console.conftest import serving

    site = place.root / "site.yaml"
    proxy = "console: {proxy: {header: X-Remote-User, from: 127.0.0.1}, people: {anna: [reviewer], otto: [auditor]}}\n"
    site.write_text(site.read_text() + proxy)
    assert json.loads(cloister("console", "people", "--json").out)["by_proxy"]["anna"] == ["reviewer"]
    with serving(place.root) as console:
        anna, otto, nobody = (console.browser() for _ in range(3))
        anna.more, otto.more = {"X-Remote-User": "anna"}, {"X-Remote-User": "otto"}
        assert (anna.get("/").status, anna.get("/log").status) == (200, 403)
        assert otto.get("/log").status == 200
        assert otto.act("/log", "/log/verify").status == 303
        assert nobody.get("/").status == 401
        nobody.more = {"X-Remote-User": "eve"}
        assert nobody.get("/").status == 403
        anna.cookie = otto.cookie  # the header says who somebody is, whatever the cookie says
        assert anna.get("/log").status == 403
        token = otto.get("/log").token
        assert anna.post("/log/verify", {"token": token}).status in (403, 409)
        assert console.browser().post("/sign-in", {"name": "anna", "passphrase": "x"}).status == 401
    assert [entry["person"] for entry in entries(place, "console.started")] == ["otto"]


def test_the_header_of_a_proxy_from_elsewhere_is_refused(place: Place) -> None:
    from tests.console.conftest import serving

    site = place.root / "site.yaml"
    site.write_text(
        site.read_text() + "console: {proxy: {header: X-Remote-User, from: 10.0.0.1}, people: {anna: [reviewer]}}\n"
    )
    with serving(place.root) as console:
        browser = console.browser()
        browser.more = {"X-Remote-User": "anna"}
        assert browser.get("/").status == 403
    assert [entry["what"] for entry in entries(place, "console.refused")] == ["a request past the proxy"]


def test_without_a_proxy_its_header_says_nothing(console: Served) -> None:
    console.person("Anna", Role.AUDITOR)
    assert console.browser().get("/", {"X-Remote-User": "Anna"}).status == 401
