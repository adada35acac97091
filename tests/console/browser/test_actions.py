"""What people do in the console, in a browser: with scripts in a wide window, and without any in a narrow one."""

import pytest

from jobs.console.rights import Role
from tests.console.browser.served import PASSPHRASE, Served
from tests.console.browser.steps import IN_SIGHT, SELECT, choose, decided, find, listed, with_scripts
from tests.console.browser.workspaces import DIGEST, FIELDS, TRIAGE

REVIEWER = ("Ann", Role.REVIEWER)
PUMP = "2026-10/Rechnung Pumpenreparatur.txt"


def test_an_answer_is_accepted(served: Served) -> None:
    with served.somebody(*REVIEWER) as watch:
        find(watch, TRIAGE, "post/Zweite Mahnung 2026-1107.pdf")
        watch.button("Accept").click()
        row = decided(served, watch, "accepted")
        assert (row["state"], row["review"]["action"], row["review"]["by"]) == ("done", "accepted", "Ann")
        watch.go("/queue?review=accepted")
        assert listed(watch) == ["post/Zweite Mahnung 2026-1107.pdf"]
        assert "accepted by Ann" in watch.main()


def test_a_label_is_corrected(served: Served) -> None:
    with served.somebody(*REVIEWER) as watch:
        find(watch, TRIAGE, "post/Complaint - kitchen worktop.txt")
        watch.page.locator("input[type=radio][value=lease]").check()
        watch.label("Why it is corrected").fill("it is <b>about</b> a flat")
        watch.button("Save the correction").click()
        row = decided(served, watch, "corrected")
        assert (row["label"], row["review"]["reason"]) == ("lease", "it is <b>about</b> a flat")
        watch.page.get_by_role("status").get_by_role("link").click()
        assert "Corrected by Ann" in watch.main()
        assert "it is <b>about</b> a flat" in watch.main()
        watch.page.locator("p.small", has_text="It took the place of").get_by_role("link").click()
        assert "Another row took the place of this one" in watch.main()
        assert not watch.button("Accept").count()
        watch.fits()


def test_a_value_is_written(served: Served) -> None:
    with served.somebody(*REVIEWER, refusals=True) as watch:
        find(watch, FIELDS, PUMP)
        watch.label("total").fill("a lot")
        watch.label("Why it is corrected").fill("read twice")
        watch.button("Save the correction").click()
        assert "It was not taken: total: 'a lot' is no money" in watch.page.get_by_role("alert").inner_text()
        assert watch.label("Why it is corrected").input_value() == "read twice"
        watch.label("total").fill("17.50 EUR")
        watch.button("Save the correction").click()
        row = decided(served, watch, "corrected")
        assert {field["name"]: field["value"] for field in row["fields"]}["total"] == "17.50 EUR"


def test_text_is_marked_as_a_value(served: Served) -> None:
    if not served.scripts:
        pytest.skip("without scripts values are written")
    with served.somebody(*REVIEWER) as watch:
        find(watch, FIELDS, "en/mara-ives-3318.md")
        text = "Mara Ives"
        watch.page.evaluate(SELECT, text)
        watch.page.locator(".field", has_text="customer").get_by_role("button", name="take selection").click()
        assert watch.label("customer").input_value() == text
        watch.button("Save the correction").click()
        row = decided(served, watch, "corrected")
        (field,) = [field for field in row["fields"] if field["name"] == "customer"]
        assert field["value"] == text
        assert field["evidence"]["end"] - field["evidence"]["start"] == len(text)


def test_a_summary_is_written(served: Served) -> None:
    with_scripts(served)
    with served.somebody(*REVIEWER) as watch:
        find(watch, DIGEST, "trials/Audit notes cold store.txt")
        watch.label("Summary").fill("The cold store was warm.")
        watch.button("Save the correction").click()
        assert decided(served, watch, "corrected")["summary"] == "The cold store was warm."


def test_an_answer_is_rejected_with_a_reason(served: Served) -> None:
    with served.somebody(*REVIEWER) as watch:
        find(watch, TRIAGE, "portal/candidature-4471.html")
        before = watch.page.url
        watch.button("Reject").click()  # the browser itself asks for the reason
        assert watch.page.url == before
        watch.label("Why it is rejected").fill("not ours")
        watch.button("Reject").click()
        row = decided(served, watch, "rejected")
        assert (row["state"], row["label"], row["review"]["reason"]) == ("rejected", None, "not ours")


def test_what_was_decided_is_not_decided_again_by_going_back(served: Served) -> None:
    with_scripts(served)
    with served.somebody(*REVIEWER, refusals=True) as watch:
        find(watch, TRIAGE, "post/Second reminder - account 30977.txt")
        address = watch.page.url
        with served.somebody("Bob", Role.REVIEWER, refusals=True) as other:
            other.go(address)
            watch.button("Accept").click()
            decided(served, watch, "accepted")
            other.button("Accept").click()
            assert "It was not taken" in other.page.get_by_role("alert").inner_text()
        watch.page.go_back()
        if watch.button("Accept").count():
            watch.button("Accept").click()
            assert watch.page.get_by_role("alert").count(), watch.main()


def test_evidence_pages_and_text_of_a_document(served: Served) -> None:
    with served.somebody(*REVIEWER) as watch:
        find(watch, TRIAGE, "contracts/Managed IT services agreement.pdf")
        image = watch.page.locator("figure.sheet img").first
        assert image.evaluate("each => each.decode().then(() => each.naturalWidth)") > 600
        watch.page.locator(".places a").first.click()
        number = watch.page.url.partition("#evidence-")[2]
        mark = watch.page.locator(f"[id='evidence-{number}']")
        assert mark.evaluate(IN_SIGHT), number
        watch.link("Text").click()
        marked = watch.page.locator("[data-text] mark").first
        assert marked.inner_text().strip()
        assert watch.page.locator(".text-view").inner_text().count("\n") > 3
        watch.fits()
        watch.link("Pages").click()
        larger = watch.context.request.get(watch.link("larger").get_attribute("href") or "")
        assert larger.ok
        assert larger.body()[:4] == b"\x89PNG"


def test_next_and_previous(served: Served) -> None:
    with_scripts(served)
    with served.somebody(*REVIEWER) as watch:
        watch.go(f"/queue?job={FIELDS}&sort=path")
        paths = listed(watch)
        assert paths == sorted(paths)
        assert len(paths) == 6
        watch.link(paths[0]).click()
        assert not watch.page.locator("a[rel=prev]").count()
        for path in paths[1:]:
            watch.page.locator("a[rel=next]").click()
            assert watch.page.locator("h1").inner_text() == path.split("/")[-1]
        assert not watch.page.locator("a[rel=next]").count()
        watch.page.locator("a[rel=prev]").click()
        assert watch.page.locator("h1").inner_text() == paths[-2].split("/")[-1]
        watch.page.locator("main").get_by_role("link", name="Queue").click()
        assert listed(watch) == paths


def test_filters_and_orders_of_the_queue(served: Served) -> None:
    with served.somebody(*REVIEWER) as watch:
        watch.go("/queue")
        everything = listed(watch)
        choose(watch, "State", "failed")
        assert set(listed(watch)) == {"scans/Rechnung 77-104.docx", "scans/scan_0023.pdf"}
        choose(watch, "Failure", "empty")
        assert listed(watch) == ["scans/scan_0023.pdf"]
        choose(watch, "Job", TRIAGE)
        assert "No document is so." in watch.main()
        watch.link("Show all of them").click()
        assert listed(watch) == everything
        choose(watch, "Night", watch.label("Night").locator("option").nth(1).get_attribute("value") or "")
        assert listed(watch) == everything
        watch.label("Words").fill("Mahnung")
        watch.label("Words").press("Enter")
        assert "post/Zweite Mahnung 2026-1107.pdf" in listed(watch)
        assert len(listed(watch)) < len(everything)
        watch.go("/queue")
        watch.label("Folder").fill("scans")
        watch.button("Show").click()
        assert set(listed(watch)) == {"scans/Rechnung 77-104.docx", "scans/scan_0023.pdf"}
        for order, head in (("size", "size"), ("path", "document")):
            watch.go("/queue")
            watch.page.locator("thead").get_by_role("link", name=head).click()
            assert watch.label("Order").input_value() == order
        assert listed(watch) == sorted(everything)
        watch.go(f"/queue?job={TRIAGE}")
        choose(watch, "Order", "newest")
        assert listed(watch)[:2]
        assert watch.label("Job").input_value() == TRIAGE


def test_an_invite_is_used_once(served: Served) -> None:
    link = served.invite("Nora", (Role.READER,))
    with served.somebody(refusals=True) as watch:
        watch.go(link)
        assert "Welcome, Nora" in watch.main()
        watch.label("Passphrase").fill(PASSPHRASE)
        watch.label("The same once more").fill(PASSPHRASE + ".")
        watch.button("Sign in").click()
        assert "The two passphrases differ." in watch.main()
        watch.label("Passphrase").fill(PASSPHRASE)
        watch.label("The same once more").fill(PASSPHRASE)
        watch.button("Sign in").click()
        assert watch.page.locator(".who strong").inner_text() == "Nora"
        with served.somebody(refusals=True) as other:
            assert other.go(link).status == 404
            assert "This invite was used" in other.main()
        watch.button("Sign out").click()
        watch.page.wait_for_url("**/sign-in")
        assert watch.go("/queue?sort=size").status == 401
        watch.label("Name").fill("Nora")
        watch.label("Passphrase").fill("something else altogether")
        watch.button("Sign in").click()
        assert "do not belong together" in watch.main()
        assert watch.label("Name").input_value() == "Nora"
        watch.label("Passphrase").fill(PASSPHRASE)
        watch.button("Sign in").click()
        watch.page.wait_for_url("**/queue?sort=size")
