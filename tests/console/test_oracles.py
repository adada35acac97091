"""Nothing that a reader asks tells of private documents: two workspaces that differ only in what these are called, how
large they are, what they say and why they failed give the same answer to every address."""

import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from urllib.parse import unquote, urlencode

import pytest

import jobs.console.pages.queue
import pipeline
from jobs.console.house import House
from jobs.console.page import Page
from jobs.console.pages import PAGES
from jobs.console.rights import RIGHTS, Right, Role
from tests.console.browsing import Browser, command, open_house
from tests.jobs.conftest import INVOICE, LEASE, Place

Both = tuple[str, str]
"""What is asked of the one workspace, and of the other."""

PRIVATE: tuple[dict[str, str], dict[str, str]] = (
    {"Aalto Anna.txt": LEASE, "Aalto/Berg.txt": LEASE * 9, "Cold.pdf": "%PDF-1.7\nbroken", "Dora.txt": ""},
    {"empty/Mia.txt": "", "Noor.txt": "", "Oslo.txt": INVOICE * 30, "Zorn Zoe.txt": INVOICE},
)
PUBLIC = {"Berg.txt": LEASE + "Public.", "Mia.txt": INVOICE + "Public.", "bad.pdf": "%PDF-1.7\nbroken", "no.txt": ""}
SEES_LISTS = Role.READER


def make(root: Path, private: dict[str, str], model: Path) -> None:
    """A workspace after two runs of a private job, and one of another."""
    command("init", root, "--origin", "test.example/log")
    shutil.copy(model, root / "models" / "tiny.gguf")
    place = Place(root)
    secret = place.job("secret")
    secret.write_text(secret.read_text() + "private: true\n")
    place.job("sort")
    for job, files in (("secret", private), ("sort", PUBLIC)):
        for name, text in files.items():
            (root / "inbox" / job / name).parent.mkdir(exist_ok=True)
            place.drop(job, name, text)
        command("run", job, "--workspace", root, code=1)
    command("retry", "secret", "--workspace", root, code=1)


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[tuple[House, House]]:
    """The consoles of both workspaces, which show one document at a time."""
    opened = []
    for private in PRIVATE:
        make(root := tmp_path_factory.mktemp("oracle") / "ws", private, tiny_model)
        opened.append(open_house(root))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs.console.pages.queue, "_LIMIT", 1)
        yield opened[0], opened[1]
    for house in opened:
        house.close()


def runs_of(house: House) -> list[str]:
    """The names of all runs, the first first."""
    with pipeline.index.open_index(house.site) as index:
        index.refresh()
        return [run.run for run in index.runs(limit=100)][::-1]


def model_of(house: House) -> str:
    with pipeline.index.open_index(house.site) as index:
        return index.models()[0].sha256


def plain(house: House) -> Callable[[str], str]:
    """Makes a page of a workspace alike with that of another one: without its clock, its folder, and random numbers."""
    runs = {name: f"RUN-{number}" for number, name in enumerate(runs_of(house))}

    def made(text: str) -> str:
        for name, alike in runs.items():
            text = text.replace(name, alike)
        text = text.replace(str(house.workspace.root), "ROOT")
        text = re.sub(r"(?s)<svg class=\"plot\".*?</svg>|at most \d+ in 15 minutes", "PLOT", text)
        text = re.sub(r"\b[0-9a-f]{32}(?=\[|%5B|&#)", "SEAL", text)
        text = re.sub(r"\b[0-9a-f]{32}\.[0-9a-f]{64}\b|\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b", "HEX", text)
        text = re.sub(r"\d{4}-\d\d-\d\d(T|, | )?\d\d:\d\d(:\d\d)?|\b\d\d:\d\d(:\d\d)?\b", "TIME", text)
        text = re.sub(r"\(?\b[\d,]+ (an hour|seconds|s|min)\b\)?|[\d.,]+ GiB|(max|value)=\"\d{9,}\"", "AMOUNT", text)
        return re.sub(r"(AMOUNT\s*)+", "AMOUNT ", text)

    return made


class Asking:
    """Somebody who asks both consoles the same."""

    def __init__(self, houses: tuple[House, House], name: str) -> None:
        self.browsers = [Browser(house, name) for house in houses]
        self.plain = [plain(house) for house in houses]
        self.ask = cache(self._ask)

    def _ask(self, paths: Both) -> tuple[tuple[int, str], tuple[int, str]]:
        found = [browser.get(path) for browser, path in zip(self.browsers, paths, strict=True)]
        one, other = ((answer.status, alike(answer.text)) for answer, alike in zip(found, self.plain, strict=True))
        return one, other

    def differs(self, paths: Both) -> bool:
        one, other = self.ask(paths)
        return one != other

    def cursors(self) -> list[Both]:
        """The places behind the first page of each order, and of some filters."""
        found = []
        for asked in ("", *(f"sort={sort}" for sort in jobs.console.pages.queue.SORTS), "sort=path&job=sort"):
            pages = [re.search(r"after=([^\"&]+)", browser.get(f"/queue?{asked}").text) for browser in self.browsers]
            found += [(unquote(one[1]), unquote(two[1])) for one, two in [pages] if one and two]
        return found


def paths_of(page: Page, houses: tuple[House, House]) -> list[Both]:
    """The addresses of a page: each name in its path stands for what there is of it, and for what there is not."""
    known: dict[str, list[Both]] = {
        "job": [("secret", "secret"), ("sort", "sort"), ("x", "x")],
        "run": list(zip(*map(runs_of, houses), strict=True)),
        "sha256": [(model_of(houses[0]), model_of(houses[1]))],
    }
    found: list[Both] = [(page.path, page.path)]
    for name, kind in re.findall(r"\{(\w+):(\w+)\}", page.path):
        values = known.get(name) or ([(str(n), str(n)) for n in (1, 5, 12)] if kind == "int" else [("x", "x")])
        mark = f"{{{name}:{kind}}}"
        found = [(one.replace(mark, a), two.replace(mark, b)) for one, two in found for a, b in values]
    return found


def words(houses: tuple[House, House], cursors: list[Both]) -> list[Both]:
    """What may stand behind a name of an address: everything that private documents are and are not, and places."""
    same = {name for files in PRIVATE for path in files for name in (path, path[:1], path[:5], path.split("/")[0])}
    same |= {each.value for each in (*pipeline.Failure, *pipeline.State)} | {"lease", "invoice", "secret", "sort", "0"}
    same |= {*jobs.console.pages.queue.SORTS, *jobs.console.pages.queue.REVIEWS, "current", "1", "9", "the landlord"}
    with pipeline.index.open_index(houses[0].site) as queue:
        queue.refresh()
        same |= {night.night for night in queue.nights()} | {
            str(item.size) for item in queue.page(pipeline.index.Filter()).items
        }
    same |= {'["Aalto",0]', '["M",0]', "[300,0]", "[0,0.5,3]", "[1e999]", "[-1]", '{"a":1}'}
    return [(word, word) for word in sorted(same)] + cursors


def with_query(paths: Both, *pairs: tuple[str, Both]) -> Both:
    one, other = (f"{path}?{urlencode([(name, both[at]) for name, both in pairs])}" for at, path in enumerate(paths))
    return one, other


def test_a_reader_finds_no_difference_in_anything_that_can_be_asked(houses: tuple[House, House]) -> None:
    reader, reviewer = Asking(houses, "rob"), Asking(houses, "ann")
    places = reader.cursors()
    assert len(places) > 3
    pool = words(houses, places + [(place, place) for place, _ in reviewer.cursors()])
    told, seen = list[Both](), 0
    for page in (page for page in PAGES if page.method == "GET"):
        may = page.right is None or page.right in RIGHTS[SEES_LISTS]
        for paths in paths_of(page, houses):
            asked = [paths] + ([with_query(paths, (name, word)) for name in page.asks for word in pool] if may else [])
            if may:
                asked += pairs_of(reader, paths, page.asks, pool)
            told += [each for each in asked if reader.differs(each)]
            seen += len(asked)
            assert may or {status for status, _ in reader.ask(paths)} <= {403, 404}
    assert told == []
    assert seen > 1000


def pairs_of(reader: Asking, paths: Both, names: tuple[str, ...], pool: list[Both]) -> Iterator[Both]:
    """The addresses with two names each, of words that made a difference to the page."""
    usual = reader.ask(paths)
    works = {
        name: [word for word in pool if reader.ask(with_query(paths, (name, word))) != usual][:3] for name in names
    }
    for one, other in combinations(names, 2):
        yield from (with_query(paths, (one, a), (other, b)) for a in works[one] for b in works[other])


def test_who_may_open_documents_finds_what_a_reader_does_not(houses: tuple[House, House]) -> None:
    """So the comparison above sees what there is to see."""
    reviewer = Asking(houses, "ann")
    for asked in ("", "sort=path", "sort=size", "failure=corrupt", "label=lease", "text=Aalto", "folder=Aalto"):
        assert reviewer.differs((f"/queue?{asked}",) * 2), asked
    assert reviewer.differs(("/jobs/secret", "/jobs/secret"))
    assert reviewer.differs(("/", "/"))


def test_a_reader_is_told_how_many_are_kept_back(houses: tuple[House, House]) -> None:
    reader = Browser(houses[0], "rob")
    assert "Not listed: 4 documents of private jobs" in reader.get("/queue").words
    assert "Not listed: 2 documents of private jobs" in reader.get("/queue?state=failed").words
    assert "Private documents are left out" in reader.get("/queue?failure=empty").words
    assert "2 documents, the first 1. Private documents" in reader.get("/queue?failure=empty&failure=corrupt").words


def test_a_place_is_good_for_whom_it_was_made_and_in_its_order(houses: tuple[House, House]) -> None:
    reader, reviewer = Asking(houses, "rob"), Asking(houses, "ann")
    place = re.search(r"after=([^\"&]+)", reader.browsers[0].get("/queue?sort=path").text)
    assert place
    for browser, order, found in (
        (reader, "path", True), (reader, "size", False), (reviewer, "path", False),
    ):  # fmt: skip
        text = browser.browsers[0].get(f"/queue?sort={order}&after={place[1]}").text
        assert ("There is no such place" in text) != found


@pytest.mark.parametrize(
    "place",
    ["[1e999,0]", f"[{9**99},1]", '["\\ud800",1]', "x", "0" * 32, "0" * 32 + '["Aalto",0]', "NaN", "\u00e9" * 40],
)
@pytest.mark.parametrize("sort", ["path", "score", "age"])
def test_an_odd_place_is_one_sentence_and_leaves_no_crash_file(
    houses: tuple[House, House], place: str, sort: str
) -> None:
    answer = Browser(houses[0], "ann").get(f"/queue?{urlencode({'sort': sort, 'after': place})}")
    assert (answer.status, "There is no such place in this order" in answer.text) == (200, True)
    assert not (houses[0].workspace.root / "state" / "crashes").exists()


def test_an_operator_takes_up_all_private_failures_or_none(houses: tuple[House, House]) -> None:
    """How many a class takes up would tell why each failed."""
    from jobs.console.access.people import Person

    house = houses[0]
    house.proxied["olaf"] = Person("Olaf", (Role.OPERATOR,))  # type: ignore[index]
    operator = Browser(house, "olaf")
    page = operator.get("/jobs/secret")
    token = page.page.xpath("//main//form[contains(@action, 'retry')]//input[@name='token']/@value")[0]
    answer = operator.post("/jobs/secret/retry", {"token": token, "failure": "corrupt"})
    assert (answer.status, "told to those who may open them" in answer.words) == (403, True)
    assert Right.DOCUMENTS not in RIGHTS[Role.OPERATOR]
