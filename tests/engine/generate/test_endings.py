"""Where an answer ends that its model goes on with: at the place that the definition says, of its tokens alone."""

import random
from itertools import product

import pytest

from engine.generate.constraint.spec import AnyObject
from engine.generate.endings import EVERY, LEAST, LONGEST, Endings, repeated
from engine.generate.request import Request
from tests.language import ids_of
from tests.reference.generation import is_decided, says_again

BYTES = [bytes([i]) for i in range(256)]
PROMPT = ids_of("x")


def end_of(text: str, request: Request) -> tuple[int, str | None]:
    """How many of its bytes are written, and how that ends."""
    endings, ids = Endings(request, BYTES), list[int]()
    for number in text.encode():
        ids.append(number)
        if how := endings.after(ids):
            return len(ids), how
    return len(ids), None


def test_a_repetition_is_found_by_its_definition() -> None:
    chance = random.Random(5)
    for _ in range(100):
        times, period = chance.randint(2, 5), chance.randint(1, 40)
        passage = [chance.randrange(3) for _ in range(period)]
        ids = [chance.randrange(3) for _ in range(chance.randint(1, 9))] + passage * chance.randint(1, 9)
        ids += passage[: chance.randrange(period + 1)]
        ids[-chance.randrange(1, len(ids)) - 1] += chance.randrange(2)
        for size in range(1, len(ids) + 1):
            assert bool(repeated(ids[:size], times)) == says_again(ids[:size], times)


@pytest.mark.parametrize("period", [1, LEAST - 1, LEAST, LEAST + 1, LONGEST, LONGEST + 1])
def test_how_long_and_how_often(period: int) -> None:
    passage = list(range(period))
    needed = 3 * max(period, LEAST)
    ids = passage * (needed // period + 2)
    assert repeated(ids[: needed - 1], 3) == 0
    assert repeated(ids[:needed], 3) == (period if period <= LONGEST else 0)


def test_an_answer_ends_soon_after_it_began_to_repeat_itself() -> None:
    said, again = "It began so. ", "Then it went on as before. "
    size, how = end_of(said + again * 20, Request(PROMPT, 999, repeats=3))
    assert how == "repeated"
    assert size % EVERY == 0
    assert 0 <= size - len(said) - 3 * len(again) < EVERY
    assert end_of(said + again * 20, Request(PROMPT, 999)) == (553, None)


@pytest.mark.parametrize(
    "text",
    [
        "DE00 0000 0000 0000 0000 00, 0000000000000000000000000000000000000000000000000000000000000000000000",
        "0.0, " * 100, "| 0 | 0 |\n" * 50, "Yes. Yes. Yes. No.", "the same sentence, twice over. " * 2,
        "\n".join(f"{i}. the same words in a list with its number" for i in range(30)),
        "\n".join(f"| Monday {i} | 9:00 | 17:00 | open |" for i in range(30)),
    ],
)  # fmt: skip
def test_what_may_be_equal_is_no_repetition(text: str) -> None:
    assert end_of(text, Request(PROMPT, 9999, repeats=8)) == (len(text), None)


def test_numbers_may_be_equal_four_times_as_often() -> None:
    for text, size in (("0, " * 99, 192), ("12345678" * 99, 192), ("0a, " * 99, 48), (" .. " * 99, 48)):
        assert end_of(text, Request(PROMPT, 9999, repeats=3)) == (size, "repeated")


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ('{"a":[' + "null," * 99, False), ('{"a":[' + '"x y",' * 99, False), ('{"a":"' + "xy" * 99, False),
        ('{"a":"' + "x y, " * 99, True), ('{"a":"' + "字" * 99, True),
    ],
)  # fmt: skip
def test_in_json_texts_alone_may_not_repeat_themselves(text: str, ends: bool) -> None:
    assert (end_of(text, Request(PROMPT, 9999, AnyObject(), repeats=4))[1] == "repeated") == ends


def test_a_stop_ends_an_answer_where_nothing_can_change_it() -> None:
    """Against every text of four letters and three stops: the place of the stop is that in the whole text, and it is
    found as early as it is certain."""
    stops = [("b",), ("ab", "b"), ("aab", "ba"), ("abcb", "b", "cc"), ("cba", "ab"), ("é", "bé")]
    for asked, letters in product(stops, product("abcé", repeat=6)):
        text = "".join(letters)
        size, how = end_of(text, Request(PROMPT, 99, stop=asked))
        written = text.encode()[:size].decode()
        assert how == ("stopped" if is_decided(written, asked) else None)
        places = [{at for at in map(one.find, asked) if at >= 0} for one in (written, text)]
        assert min(places[0], default=-1) == min(places[1], default=-1)
        before = text.encode()[: size - 1].decode(errors="ignore")
        assert not is_decided(before, asked)


def test_stops_across_tokens_and_bytes() -> None:
    endings = Endings(
        Request(PROMPT, 99, stop=("</end>", "日本")), [b"a</e", b"nd", b"> \xe6\x97", b"\xa5", b"\xe6\x9c\xac"]
    )
    assert [endings.after([number]) for number in (0, 1, 2)] == [None, None, "stopped"]
    endings = Endings(Request(PROMPT, 99, stop=("日本",)), [b"a</e", b"nd", b"> \xe6\x97", b"\xa5", b"\xe6\x9c\xac"])
    assert [endings.after([number]) for number in (0, 2, 3, 4)] == [None, None, None, "stopped"]
