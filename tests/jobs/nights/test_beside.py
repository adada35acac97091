"""Jobs that lie beside each other: folders that two of them empty, and jobs that come after each other."""

import pytest

from tests.jobs.conftest import LEASE, SORT, Cloister, Place

SHARED = SORT.replace("settle_seconds: 0,", "settle_seconds: 0, folder: inbox/shared,")


def share(ready: Place, first: str = SHARED, second: str = SHARED) -> None:
    (ready.root / "inbox" / "shared").mkdir()
    ready.job("sort", first)
    ready.job("other", second)


def test_two_jobs_on_one_folder_are_refused_where_they_stand(ready: Place, cloister: Cloister) -> None:
    share(ready)
    (ready.root / "inbox" / "shared" / "lease.txt").write_text(LEASE)
    done = cloister("check", "--json")
    assert done.code == 2
    problems = [problem for job in done.json["jobs"] for problem in job["problems"]]
    assert [(each["where"], each["line"], each["column"]) for each in problems] == [
        ("jobs/other.yaml", 2, 36), ("jobs/sort.yaml", 2, 36)
    ]  # fmt: skip
    assert "the job 'sort' takes files too" in problems[0]["found"]
    assert cloister("run", "sort").code == 2
    assert (ready.root / "inbox" / "shared" / "lease.txt").exists()


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ('include: ["*.pdf"],', 'include: ["*.txt", "*.eml"],', 0),
        ('include: ["*.pdf"],', 'include: ["*.txt", "*.PDF"],', 2),
        ('include: ["*.pdf"],', 'include: ["a*"],', 2),
    ],
)
def test_jobs_that_take_other_files_may_share_a_folder(
    ready: Place, cloister: Cloister, first: str, second: str, code: int
) -> None:
    share(ready, *(SHARED.replace("settle_seconds", f"{each} settle_seconds") for each in (first, second)))
    assert cloister("check").code == code


def test_jobs_that_keep_the_files_may_share_a_folder(ready: Place, cloister: Cloister) -> None:
    share(ready, *[SHARED.replace("{afterwards}", "keep")] * 2)
    assert cloister("check").code == 0


def test_a_folder_below_that_of_another_job_is_the_same_mistake(ready: Place, cloister: Cloister) -> None:
    share(ready, SORT.replace("settle_seconds: 0,", "settle_seconds: 0, folder: inbox,"), SORT)
    assert cloister("check", "other").code == 2


def test_a_job_comes_after_one_that_there_is(ready: Place, cloister: Cloister) -> None:
    ready.job("other", SORT + "after: srot\n")
    (problem,) = cloister("check", "other", "--json").json["jobs"][0]["problems"]
    assert (problem["line"], problem["column"]) == (10, 8)
    assert problem["found"] == "after: srot, which is no job"
    assert problem["remedy"] == "did you mean 'sort'?"


def test_a_circle_of_jobs_is_refused_wherever_it_begins(ready: Place, cloister: Cloister) -> None:
    for name, after in (("a", "b"), ("b", "c"), ("c", "a")):
        ready.job(name, SORT + f"after: {after}\n")
    ready.job("d", SORT + "after: a\n")
    told = {job["name"]: job["problems"] for job in cloister("check", "--json").json["jobs"]}
    assert [name for name, problems in told.items() if problems] == ["jobs/a.yaml", "jobs/b.yaml", "jobs/c.yaml"]
    assert told["jobs/a.yaml"][0]["found"] == "a circle: a after b after c after a"


def test_a_job_with_a_schedule_comes_after_none(ready: Place, cloister: Cloister) -> None:
    ready.job("other", SORT + 'after: sort\nschedule: {{cron: "@daily", timezone: UTC}}\n')
    (problem,) = cloister("check", "other", "--json").json["jobs"][0]["problems"]
    assert problem["found"] == "after: sort beside a schedule"
    ready.job("other", SORT + "after: other\n")
    assert cloister("check", "other").code == 2
