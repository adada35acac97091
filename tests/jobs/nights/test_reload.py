"""SIGHUP: site.yaml and job files are read again at once; with a mistake in site.yaml, the last one that was right
holds. And the file of the service's lines."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError
from jobs.nights.watch import read_again
from jobs.progress import log_file, start_logging
from tests.jobs.conftest import LEASE, SORT, Cloister, Place, entries
from tests.jobs.nights.serving import serve, wait_for
from tests.jobs.nights.test_calling import FILE, site, told


def hang_up(served: "subprocess.Popen[str]") -> None:
    """Asks the service to read its files again, and waits until it did."""
    served.send_signal(signal.SIGHUP)
    wait_for(served, "read again")


def test_sighup_reads_site_yaml_again_and_keeps_the_last_good_one(ready: Place, cloister: Cloister) -> None:
    good = (ready.root / "site.yaml").read_text()
    with serve(ready) as served:
        wait_for(served, "ready")
        site(ready, f"notify: {{command: [{FILE}, told.jsonl], on: [success]}}")
        hang_up(served)
        (ready.root / "site.yaml").write_text(good + "notifi: {}\n")
        served.send_signal(signal.SIGHUP)
        wait_for(served, "site.yaml is not read again, the last one that was right holds")
        wait_for(served, "read again")
        ready.drop("sort", "lease.txt", LEASE)
        wait_for(served, "run finished")
        served.terminate()
        served.communicate(timeout=600)
    assert served.returncode == 0
    assert [said["cause"] for said in told(ready)] == ["success"], "by the last site.yaml that was right"
    (ready.root / "site.yaml").write_text(good)
    good_one, bad_one = entries(ready, "service.reloaded")
    assert good_one["problem"] is None
    assert "unknown key 'notifi'" in bad_one["problem"]
    assert cloister("audit", "verify").code == 0


def test_sighup_reads_a_changed_job_at_once_and_tries_a_refused_one_again(ready: Place) -> None:
    with serve(ready) as served:
        wait_for(served, "ready")
        site(ready, "models: {require_admission: true}")
        hang_up(served)
        ready.drop("sort", "lease.txt", LEASE)
        wait_for(served, "job refused until its files change", "sort")
        file = ready.root / "site.yaml"
        file.write_text(file.read_text().replace("require_admission: true", "require_admission: false"))
        hang_up(served)
        wait_for(served, "run finished", "sort")
        ready.job("other")
        served.send_signal(signal.SIGHUP)
        wait_for(served, "job read", "other")
        served.terminate()
        served.communicate(timeout=600)
    assert served.returncode == 0


def test_another_log_or_key_needs_a_new_start(ready: Place) -> None:
    place, file = open_workspace(ready.root), ready.root / "site.yaml"
    text = file.read_text()
    file.write_text(text.replace("log.key", "other.key"))
    with pytest.raises(ConfigError, match=r"log\.key: changed while the service runs"):
        read_again(place)
    file.write_text(text + "service: {log_file: state/other.log}\n")
    with pytest.raises(ConfigError, match=r"service\.log_file: changed while the service runs"):
        read_again(place)
    file.write_text(text + "service: {log_keep: 3}\n")
    assert read_again(place).site.service.log_keep == 3


def test_a_broken_site_yaml_at_the_start_is_exit_2(ready: Place) -> None:
    site(ready, "notifi: {}")
    with serve(ready) as served:
        _, err = served.communicate(timeout=600)
    assert served.returncode == 2
    assert "unknown key 'notifi'" in err


SECRET = "Zanzibar"


@pytest.mark.parametrize("private", [False, True])
def test_the_log_file_has_the_lines_and_no_text_of_a_document(ready: Place, private: bool) -> None:
    site(ready, "service: {log_file: state/service.log}")
    ready.job("sort", SORT + f"private: {str(private).lower()}\n")
    ready.drop("sort", "wasserfall.txt", f"{LEASE} {SECRET}")
    ready.drop("sort", "regenbogen.json", f'{{"{SECRET}": ')
    ready.drop("sort", "sternwarte.pdf", f"%PDF-1.7 {SECRET}")
    with serve(ready) as served:
        wait_for(served, "run finished")
        served.terminate()
        served.communicate(timeout=600)
    text = (ready.root / "state" / "service.log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert {"serving", "ready", "job read", "document failed", "run finished", "stopped"} <= {
        line["event"] for line in lines
    }
    assert SECRET not in text
    assert ("sternwarte" in text) is not private
    failed = next(line for line in lines if line["event"] == "document failed")
    assert (failed["reason"] == "corrupt") is private


def test_a_log_file_is_put_aside_when_it_is_full_and_so_many_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    with (tmp_path / "stderr").open("w") as out, log_file(path, 1000, 2) as file:
        log = start_logging(out, file)
        for number in range(100):
            log.info("a line", number=number)
    kept = [path.with_name("service.log.2"), path.with_name("service.log.1"), path]
    assert sorted(tmp_path.glob("service.log*")) == sorted(kept)
    assert all(each.stat().st_size <= 1000 for each in kept)
    numbers = [json.loads(line)["number"] for each in kept for line in each.read_text().splitlines()]
    assert numbers == list(range(numbers[0], 100))
    assert len((tmp_path / "stderr").read_text().splitlines()) == 100


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no device that is always full")
def test_a_log_file_that_cannot_be_written_is_told_once_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "service.log"
    path.symlink_to("/dev/full")
    with log_file(path, 10**6, 2) as file:
        log = start_logging(sys.stdout, file)
        log.info("one")
        log.info("two")
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 2
    assert told.err.count("log lines cannot be written") == 1
    assert "No space left" in told.err


def test_a_log_file_without_a_folder_is_exit_2(ready: Place) -> None:
    site(ready, "service: {log_file: none/service.log}")
    with serve(ready) as served:
        _, err = served.communicate(timeout=600)
    assert served.returncode == 2
    assert "none/service.log: service.log_file: the file cannot be opened" in err
