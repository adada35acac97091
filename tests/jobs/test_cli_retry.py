"""`cloister retry`: what failed is read again, by class."""

import os
from pathlib import Path

from tests.jobs.conftest import LEASE, Cloister, Place

LONG = LEASE * 40


def limit(place: Place, line: str) -> None:
    """Another limit in site.yaml, instead of all others."""
    site = place.root / "site.yaml"
    site.write_text(f"{site.read_text().partition('limits:')[0]}limits: {{{line}}}\n")


def failed(place: Place) -> list[Path]:
    return [path for path in (place.root / "failed" / "sort").rglob("*") if path.is_file()]


def test_a_raised_limit_and_a_retry(ready: Place, cloister: Cloister) -> None:
    limit(ready, "text_characters: 1000")
    ready.drop("sort", "long.txt", LONG)
    ready.drop("sort", "broken.pdf", "%PDF-1.7 broken")
    first = cloister("run", "sort")
    assert first.code == 1
    assert "long.txt: too_large: " in first.out
    assert "cloister retry sort takes them up again" in first.out
    limit(ready, "text_characters: 100000")
    done = cloister("retry", "sort", "--class", "too_large", "--json")
    (run,) = done.json["runs"]
    assert (done.code, run["seen"], run["counts"]["done"], run["retried"]) == (0, 1, 1, True)
    assert {path.name for path in failed(ready)} == {"broken.pdf", "broken.pdf.reason.json"}
    assert cloister("retry", "sort").code == 1
    assert cloister("audit", "verify").code == 0


def test_nothing_to_retry(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "new.txt", LEASE)
    done = cloister("retry", "sort")
    assert done.code == 0
    assert "nothing to do: no such failed document" in done.out
    assert (ready.root / "inbox" / "sort" / "new.txt").exists()


def test_a_class_that_is_none(ready: Place, cloister: Cloister) -> None:
    done = cloister("retry", "sort", "--class", "bored", "--class", "timeout")
    assert done.code == 2
    assert "--class bored: no class of failures" in done.err
    assert "needs_ocr" in done.err


def test_a_file_that_is_too_large_is_not_shown_as_waiting_once_it_has_failed(ready: Place, cloister: Cloister) -> None:
    path = ready.drop("sort", "huge.txt", "")
    os.truncate(path, 257 << 20)
    assert cloister("run", "sort").code == 1
    (job,) = cloister("status", "--json").json["jobs"]
    assert (job["ready"], job["ignored"]) == (0, 1)
    assert cloister("run", "sort").code == 0
    assert path.exists()
