"""Commands that people start from pages: with scripts in a wide window, and without any in a narrow one."""

import re
from collections.abc import Callable

import pytest

from jobs.console.pages import PAGES
from jobs.console.rights import Role
from tests.console.browser import test_actions
from tests.console.browser.served import Served
from tests.console.browser.steps import ended, with_scripts
from tests.console.browser.workspaces import FIELDS, TRIAGE, drop

OPERATOR, AUDITOR = ("Otto", Role.OPERATOR), ("Ada", Role.AUDITOR)


def once(served: Served) -> None:
    """Commands take seconds, and the forms that start them are alike."""
    if not served.scripts:
        pytest.skip("commands are started without scripts by the tests of verifying, and by `make torture` of running")


def test_a_job_is_run(served: Served) -> None:
    with_scripts(served)
    drop(served.root, f"{TRIAGE}/new/Heating.txt", b"I complain: the heating has been broken for a week.\n")
    with served.somebody(*OPERATOR) as watch:
        watch.go("/")
        watch.page.locator(f"form[action='/jobs/{TRIAGE}/run'] button").click()
        assert ended(watch) == "done", watch.main()
        watch.go(f"/queue?job={TRIAGE}&sort=newest")
        assert "new/Heating.txt" in watch.main()
        watch.go(f"/jobs/{TRIAGE}")
        assert watch.button("Run now").is_enabled()


def test_what_failed_is_tried_again(served: Served) -> None:
    once(served)
    with served.somebody(*OPERATOR) as watch:
        watch.go(f"/jobs/{FIELDS}")
        runs = watch.page.locator("[aria-labelledby=runs] tbody tr").count()
        watch.page.locator("tr", has_text="empty").get_by_role("button", name="Try these again").click()
        assert ended(watch) == "some failed", watch.main()
        assert "scan_0023.pdf" in watch.main()
        assert "Rechnung 77-104" not in watch.main()
        watch.link("Go on from here").click()
        assert watch.page.locator("[aria-labelledby=runs] tbody tr").count() > runs


def test_the_log_is_verified(served: Served) -> None:
    with served.somebody(*AUDITOR) as watch:
        watch.go("/log")
        watch.button("Verify now").click()
        assert ended(watch) == "done"
        assert "is whole" in watch.main()
        watch.link("Go on from here").click()
        assert re.search(r"Last verified: [0-9-]+ [0-9:]+, whole", watch.main()), watch.main()


def test_the_log_is_exported(served: Served) -> None:
    once(served)
    with served.somebody(*AUDITOR) as watch:
        watch.go("/log")
        day = watch.page.locator("[aria-labelledby=days] th a").first.inner_text()
        watch.label("First day").fill(day)
        watch.label("Last day").fill(day)
        watch.button("Export").click()
        assert ended(watch) == "done", watch.main()
    (folder,) = (served.root / "exports").iterdir()
    assert folder.name.startswith(f"{day}--{day}-")
    assert list(folder.glob("*.html"))


def test_what_a_model_touched_is_listed(served: Served) -> None:
    once(served)
    with served.somebody(*AUDITOR) as watch:
        watch.go("/models")
        watch.link("all-minilm-l6-v2-q8_0").click()
        watch.button("List every row").click()
        assert ended(watch) == "done"
        assert re.search(r"\d+ results, \d+ of which hold", watch.main()), watch.main()


ACTIONS: dict[str, Callable[[Served], None]] = {
    "/documents/{entry:int}/decide": test_actions.test_an_answer_is_accepted,
    "/jobs/{job:str}/run": test_a_job_is_run,
    "/jobs/{job:str}/retry": test_what_failed_is_tried_again,
    "/log/verify": test_the_log_is_verified,
    "/log/export": test_the_log_is_exported,
    "/models/{sha256:str}/recall": test_what_a_model_touched_is_listed,
    "/join/{token:str}": test_actions.test_an_invite_is_used_once,
    "/sign-in": test_actions.test_an_invite_is_used_once,
    "/sign-out": test_actions.test_an_invite_is_used_once,
}
"""The path of each action -> a test of it."""


def test_each_action_has_a_test() -> None:
    assert ACTIONS.keys() == {page.path for page in PAGES if page.method == "POST"}
