"""The report stands by itself: well-formed, nothing fetched, no script, and whatever names say, they are text."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pipeline.pages.axes import axis
from pipeline.quality.page import HEIGHT, LEFT, WIDTH, curve, page, scatter, write_page
from pipeline.quality.qualify import Measured, Prices, Qualification, costs, with_frontier
from pipeline.tasks.classify.judge import Classes
from pipeline.tasks.judging import Judgement, calibration, measured

EVIL = '<script src="https://example.org/x.js">'
LABELS = ("lease", "invoice", EVIL)
TRUTH = ["lease"] * 6 + ["invoice"] * 5 + [EVIL] * 4
PRICES = Prices(0.34, 0.1, 0.02)


def one(name: str, right: int, speed: float, size: int, own: bool = False) -> Measured:
    """A model that gets the first `right` documents right."""
    answers = [label if n < right else None if n % 2 else "lease" for n, label in enumerate(TRUTH)]
    found = Classes(LABELS, TRUTH, answers)
    scores = [0.1 + 0.06 * n for n in range(len(TRUTH))]
    judgement = Judgement(
        figures=measured(found.figures, len(TRUTH), 50),
        labels=found.labels(),
        confusion=found.confusion(),
        calibration=calibration(scores, [a == b for a, b in zip(TRUTH, answers, strict=True)]),
    )
    return Measured(
        name=name, own=own, model=name, model_sha256="0" * 64, head=None, head_sha256=None, job_digest="1" * 64,
        bytes=size, judgement=judgement, states={"done": 15}, tokens=1500, seconds=2.0, documents_an_hour=speed,
        tokens_an_hour=100 * speed, peak_bytes=200 << 20, missed=() if right > 12 else ("macro_f1 is less",),
        costs=costs(PRICES, speed, 100 * speed),
    )  # fmt: skip


def qualification() -> Qualification:
    each = [
        one("small", 10, 9000, 20 << 20, own=True),
        one("large", 14, 2000, 200 << 20),
        one("bad", 9, 800, 300 << 20),
    ]
    return Qualification(
        job="sort", task="classify", eval=Path("eval.csv"), eval_sha256="2" * 64, examples_sha256="3" * 64,
        documents=15, again=2, files=3, compared="macro_f1", floor={"macro_f1": 0.9}, prices=PRICES,
        numerics="cloister-int-7", threads=2, isa="avx2", notes=("something to know",),
        measured=tuple(with_frontier(each, "macro_f1")),
    )  # fmt: skip


class Strict(HTMLParser):
    """Refuses tags that are not closed, scripts, and whatever would be fetched."""

    VOID = frozenset({"meta", "path", "circle", "polyline", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "link", "img", "iframe", "object", "base"}
        assert not {name for name, _ in attributes} & {"src", "href", "onload", "onclick", "style"}
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing() -> None:
    text = page(qualification(), "Made today.")
    reader = Strict()
    reader.feed(text)
    assert reader.open == []
    assert "default-src 'none'" in text
    assert EVIL not in text
    assert "&lt;script" in text
    assert not re.search(r"url\(|@import|https?://(?!example)", text)
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        ElementTree.fromstring(svg)


def test_the_page_says_what_was_measured() -> None:
    found = qualification()
    text = page(found, "Made today.")
    for part in ("The job does not reach its floor:", "small (the job as it is)", "large", "something to know",
                 "9,000", "20.0 MiB", "Commonest mistakes", "2 further ones given twice",
                 "more than this machine can do", "Made today.", "3" * 64):  # fmt: skip
        assert part in text, part
    value = found.measured[1].figure("macro_f1").value
    assert value is not None
    assert f"{100 * value:.1f} %" in text


def test_a_page_is_written_whole(tmp_path: Path) -> None:
    write_page(tmp_path / "report.html", qualification(), "Made today.")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError):
        write_page(tmp_path / "none" / "report.html", qualification(), "")


def test_the_frontier() -> None:
    """Slower, larger and worse is off it; better at the price of speed or size is on it."""
    assert [each.frontier for each in qualification().measured] == [True, True, False]
    alike = with_frontier([one("a", 9, 100, 10), one("b", 9, 100, 10)], "macro_f1")
    assert [each.frontier for each in alike] == [True, True]


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.731, 0.742), (3.0, 3.0), (0.0, 0.0), (12.0, 48_000.0), (-0.02, 0.3)])
def test_axes_have_round_ticks_around_all_values(values: tuple[float, float]) -> None:
    made = axis(values, 0.0, 100.0)
    assert made.low <= min(values) <= max(values) <= made.high
    assert 3 <= len(made.ticks) <= 8
    places = [tick.at for tick in made.ticks]
    assert (places[0], places[-1]) == (0.0, 100.0)
    steps = [b - a for a, b in pairwise(places)]
    assert max(steps) - min(steps) < 0.1
    assert len({tick.label for tick in made.ticks}) == len(made.ticks)


def test_no_axis_goes_beyond_a_share_of_1() -> None:
    assert axis((1.0, 1.0), 0.0, 100.0).high == 1.0


def test_the_name_of_the_upright_axis_is_above_the_points() -> None:
    found = one("a", len(TRUTH), 100, 10)
    plot = scatter([found, found], "macro_f1", None, "speed")
    text = page(replace(qualification(), measured=(found, found)), "")
    (height,) = {float(at) for at in re.findall(r'y="([0-9.]+)">macro_f1</text>', text)}
    assert all(point.y - point.size > height for point in plot.points)


def test_points_lie_in_the_plot() -> None:
    found = qualification()
    plots = [scatter(found.measured, "macro_f1", 0.9, by) for by in ("speed", "size")]
    calibrated = found.measured[0].judgement.calibration
    assert calibrated is not None
    for plot in (*plots, curve(calibrated)):
        assert all(LEFT <= point.x <= WIDTH and 0 <= point.y <= HEIGHT for point in plot.points)
    assert plots[0].points[0].x > plots[0].points[1].x, "the small one is faster"
    assert plots[0].points[1].y < plots[0].points[0].y, "the large one is better, and so higher"
