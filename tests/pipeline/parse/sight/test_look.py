"""The one rule by which text is seen or not, whatever format it comes from."""

import itertools

import pytest

from pipeline.parse.sight.colours import BLACK, WHITE, Colour, alike, mixed
from pipeline.parse.sight.hidden import KINDS
from pipeline.parse.sight.look import Appearance, overlap

SLIDE = (0.0, 0.0, 720.0, 540.0)


def grey(share: float) -> Colour:
    """A grey by its share of white, 0 to 1, as PDF writes it."""
    level = round(255 * share)
    return level, level, level


@pytest.mark.parametrize(
    "seen",
    [
        Appearance(),
        Appearance(
            colour=BLACK, background=WHITE, opacity=1.0, size=6.0, stretch=0.66, line=7.2, box=SLIDE, clip=SLIDE
        ),
        Appearance(colour=WHITE),
        Appearance(colour=WHITE, background=(68, 114, 196)),
        Appearance(background=WHITE, opacity=0.3),
        Appearance(colour=(0x99, 0x99, 0x99), background=WHITE),
        Appearance(colour=(0x76, 0x76, 0x76), background=WHITE),
        Appearance(colour=(0xE6, 0xE6, 0xE6), background=WHITE),
        Appearance(colour=(255, 255, 0), background=WHITE),
        Appearance(colour=(255, 0, 0), background=(0, 130, 0)),
        Appearance(colour=BLACK, background=WHITE, opacity=0.15),
        Appearance(size=4.0, stretch=0.5),
        Appearance(size=-12.0),
        Appearance(size=12.0, stretch=3.0),
        Appearance(size=9.0, stretch=-1.0),
        Appearance(box=(-100.0, 10.0, 120.0, 20.0), clip=SLIDE),
        Appearance(box=(5000.0, 10.0, 20.0, 20.0)),
        Appearance(colour="canvastext", background="canvas"),
    ],
)
def test_what_is_drawn_legibly_or_not_known_is_seen(seen: Appearance) -> None:
    assert seen.hides is None


@pytest.mark.parametrize(
    ("unseen", "kind"),
    [
        (Appearance(shown=False, colour=BLACK, background=WHITE), "marked_hidden"),
        (Appearance(size=1.0), "tiny"),
        (Appearance(size=0.0), "tiny"),
        (Appearance(size=0.5, stretch=40.0), "tiny"),
        (Appearance(size=11.0, stretch=0.01), "tiny"),
        (Appearance(stretch=0.05), "tiny"),
        (Appearance(size=11.0, line=1.0), "tiny"),
        (Appearance(colour="transparent"), "invisible"),
        (Appearance(opacity=0.01), "invisible"),
        (Appearance(opacity=0.0, colour=BLACK, background=WHITE), "invisible"),
        (Appearance(colour=(0x99, 0x99, 0x99), background=WHITE, opacity=0.1), "invisible"),
        (Appearance(colour=WHITE, background=WHITE), "same_colour"),
        (Appearance(colour=WHITE, background=WHITE, opacity=0.5), "same_colour"),
        (Appearance(colour=grey(0.95), background=WHITE), "same_colour"),
        (Appearance(colour=(0xFF, 0xFF, 0xF0), background=WHITE), "same_colour"),
        (Appearance(colour=(10, 10, 10), background=BLACK), "same_colour"),
        (Appearance(colour="canvas", background="canvas"), "same_colour"),
        (Appearance(box=(800.0, 10.0, 100.0, 20.0), clip=SLIDE), "off_page"),
        (Appearance(box=(-100.0, 10.0, 100.2, 20.0), clip=SLIDE), "off_page"),
        (Appearance(box=(10.0, 10.0, 0.0, 0.0), clip=SLIDE), "clipped"),
        (Appearance(box=(10.0, 10.0, 50.0, 20.0), clip=(0.0, 0.0, 720.0, 0.1)), "clipped"),
        (Appearance(covered=True), "covered"),
    ],
)
def test_what_cannot_be_read_is_of_a_kind(unseen: Appearance, kind: str) -> None:
    assert unseen.hides == kind
    assert kind in KINDS


def test_darker_letters_are_never_lost_where_paler_ones_are_read() -> None:
    lost = [Appearance(colour=(level,) * 3, background=WHITE).hides for level in range(256)]
    assert lost == sorted(lost, key=lambda one: one is not None)
    assert lost.count("same_colour") == 255 - 0xEB + 1


def test_a_pair_of_colours_is_alike_in_either_order() -> None:
    levels = (0, 7, 20, 128, 236, 255)
    colours = list(itertools.product(levels, levels, levels))
    for one, other in itertools.islice(itertools.product(colours, colours), 0, None, 7):
        assert alike(one, other) == alike(other, one)


def test_an_opacity_lets_the_background_through() -> None:
    assert mixed(BLACK, WHITE, 0.0) == WHITE
    assert mixed(BLACK, WHITE, 1.0) == BLACK
    assert mixed(BLACK, WHITE, 0.2) == (204, 204, 204)
    assert mixed(None, WHITE, 0.2) is None


def test_opacity_hides_no_later_than_the_faintest_whatever_the_colours() -> None:
    colours: list[Colour | None] = [None, BLACK, WHITE, (255, 0, 0), (0, 0, 255)]
    for colour, background in itertools.product(colours, colours):
        assert Appearance(colour=colour, background=background, opacity=0.05).hides


def test_boxes_that_share_an_edge_do_not_overlap() -> None:
    assert overlap((0, 0, 10, 10), (9, 9, 10, 10))
    assert not overlap((0, 0, 10, 10), (10, 0, 10, 10))
    assert not overlap((0, 0, 10, 10), (0, 30, 10, 10))
