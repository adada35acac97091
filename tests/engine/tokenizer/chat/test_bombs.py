"""Templates that cost without an end in few steps: each is refused when it is loaded, and what comes after it is
rendered as ever."""

import os
import resource
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

import engine.tokenizer.chat.template as templates
from engine.errors import EngineError, UnsupportedModel
from engine.tokenizer.chat.rendering import Renderer, TemplateCost
from engine.tokenizer.chat.template import ChatTemplate
from engine.tokenizer.prompts import CHATML, Specials

LOOP = "{% for m in messages %}{{ m.content }}{% endfor %}"
LIST = "{% set n = namespace(t=[1]) %}{% for i in range(COUNT) %}{% set n.t = [n.t, n.t] %}{% endfor %}"
"""A list of 2^COUNT leaves in COUNT steps, and of little memory."""
WIDE = "{% set n = namespace(t='ab') %}{% for i in range(20) %}{% set n.t = n.t + n.t %}{% endfor %}"
"""A text of 2 MiB, as templates may make it."""


def doubled(count: int, then: str) -> str:
    return LIST.replace("COUNT", str(count)) + then + LOOP


BOMBS = {
    "a doubled list as JSON": doubled(60, "{{ n.t | tojson | length }}"),
    "a doubled list as indented JSON": doubled(60, "{{ n.t | tojson(indent=2) | length }}"),
    "a doubled list as text": doubled(60, "{{ n.t | string | length }}"),
    "a doubled list written out": doubled(60, "{{ n.t }}"),
    "a doubled list compared": doubled(40, "{% set a = n.t %}") + doubled(40, "{{ a == n.t }}"),
    "a doubled list sorted": doubled(40, "{% set a = n.t %}") + doubled(40, "{{ [a, n.t, a] | sort | length }}"),
    "a doubled list joined": doubled(60, "{{ [n.t, n.t] | join(',') | length }}"),
    "a doubled list in a list": doubled(40, "{% set a = n.t %}") + doubled(40, "{{ a in [n.t] }}"),
    "a doubled list counted": doubled(40, "{% set a = n.t %}") + doubled(40, "{{ [n.t, n.t].count(a) }}"),
    "a doubled list as a key": doubled(40, "{{ {'a': n.t} | dictsort(by='value') | string | length }}"),
    "the largest of doubled lists": doubled(40, "{% set a = n.t %}") + doubled(40, "{{ [a, n.t] | max | length }}"),
    "long texts compared again and again": WIDE
    + "{% set a = n.t + 'a' %}{% for i in range(30000) %}{% if a.count('aba') %}{% endif %}{% endfor %}" + LOOP,
    "long texts looked through": WIDE
    + "{% for i in range(30000) %}{% if n.t.find('bb') > 0 %}{% endif %}{% endfor %}" + LOOP,
    "long texts changed": WIDE
    + "{% for i in range(30000) %}{% set a = n.t | upper | lower | title %}{% endfor %}" + LOOP,
    "long texts cut to letters": WIDE
    + "{% for i in range(30000) %}{% set a = n.t | list | unique | list %}{% endfor %}" + LOOP,
    "long texts escaped": WIDE + "{% for i in range(30000) %}{% set a = n.t | e %}{% endfor %}" + LOOP,
    "ranges as lists": "{% for i in range(900) %}{% set a = range(99) | list | sort | reverse | list %}{% endfor %}"
    + doubled(60, "{{ n.t | tojson }}"),
    "lists without an end": "{% set n = namespace(t=[1]) %}{% for i in range(40) %}"
    "{% set n.t = n.t | list + n.t | list %}{% endfor %}{{ n.t | length }}" + LOOP,
    "lists of long texts": WIDE + "{% set m = namespace(t=[]) %}{% for i in range(30000) %}"
    "{% set m.t = [m.t, n.t | upper] %}{% endfor %}" + LOOP,
    "a date without an end": "{{ strftime_now('%999999999d' * 1) }}{{ strftime_now('%1999999999d') }}" + LOOP,
    "large powers": "{% set n = namespace(t=3) %}{% for i in range(60) %}{% set n.t = n.t | int * n.t %}{% endfor %}"
    + LOOP,
    "numbers of many digits": "{{ ('9' * 9) | int }}{{ " + "9" * 4000 + " | string | int }}" + doubled(60, "{{ n.t }}"),
    "slices": WIDE + "{% for i in range(30000) %}{% set a = n.t[::-1] %}{% endfor %}" + LOOP,
    "splits": WIDE + "{% for i in range(30000) %}{% set a = n.t.split('a') | length %}{% endfor %}" + LOOP,
}  # fmt: skip


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[Renderer]:
    """A renderer with less than a second of computing for each."""
    renderer = Renderer(0)
    monkeypatch.setattr(templates, "RENDERER", renderer)
    yield renderer
    renderer.close()


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_fine() -> bool:
    """Whether a usual template is rendered."""
    found = ChatTemplate(CHATML, {}, Specials()).render([{"role": "user", "content": "Hi"}])
    return [piece.text for piece in found if piece.is_content] == ["Hi"]


@pytest.mark.parametrize("name", BOMBS)
def test_what_costs_without_an_end_is_refused_when_it_is_loaded(name: str, hasty: Renderer) -> None:
    before = children()
    with pytest.raises(UnsupportedModel, match=r"^tokenizer\.chat_template: .{5,250}$"):
        ChatTemplate(BOMBS[name], {}, Specials())
    assert is_fine()
    hasty.close()
    assert children() - before < 30


def test_it_is_said_what_was_too_much(hasty: Renderer) -> None:
    for name, told in (
        ("a doubled list as JSON", "memory|computes"),
        ("long texts looked through", "computes for longer"),
    ):
        with pytest.raises(UnsupportedModel, match=told):
            ChatTemplate(BOMBS[name], {}, Specials())


def test_one_that_waits_for_a_document_costs_that_document() -> None:
    bomb = LIST.replace("COUNT", "60") + "{{ n.t | tojson | length }}"
    template = ChatTemplate(LOOP + "{% if messages[0].content | length > 99 %}" + bomb + "{% endif %}", {}, Specials())
    with pytest.raises(EngineError, match=r"refuses these messages: (computes for longer|takes more memory)"):
        template.render([{"role": "user", "content": "a" * 100}])
    assert template.render([{"role": "user", "content": "a" * 50}])[0].text == "a" * 50


def test_a_signal_is_heard_while_a_template_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    patient = Renderer(10_000)
    monkeypatch.setattr(templates, "RENDERER", patient)
    heard = threading.Event()

    class HeardError(Exception):
        """What the handler raises."""

    def hear(number: int, frame: FrameType | None) -> None:
        heard.set()
        raise HeardError

    before = signal.signal(signal.SIGUSR1, hear)
    timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        timer.start()
        with pytest.raises(HeardError):
            ChatTemplate(BOMBS["long texts looked through"], {}, Specials())
        assert heard.is_set()
        assert is_fine()
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGUSR1, before)
        patient.close()


def test_a_renderer_that_somebody_ended_is_started_anew(hasty: Renderer) -> None:
    assert is_fine()
    for number in (signal.SIGKILL, signal.SIGTERM):
        assert hasty._process
        os.kill(hasty._process.pid, number)
        assert is_fine()


def test_several_threads_get_each_its_own() -> None:
    template, found = ChatTemplate(CHATML, {}, Specials()), dict[int, Any]()

    def render(number: int) -> None:
        for _ in range(20):
            found[number] = template.render([{"role": "user", "content": f"I am {number}."}])

    threads = [threading.Thread(target=render, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = {n: [piece.text for piece in pieces if piece.is_content] for n, pieces in found.items()}
    assert said == {n: [f"I am {n}."] for n in range(8)}


def test_long_documents_have_time_and_memory_in_proportion() -> None:
    text = "\u00c4 word and \U0001f600. " * 400_000
    found = ChatTemplate(CHATML, {}, Specials()).render([{"role": "user", "content": text}])
    assert [piece.text for piece in found if piece.is_content] == [text]


def test_odd_characters_come_back_as_they_are() -> None:
    text = '\x00\x01\u2028\ud800\U0010ffff"\\'
    found = ChatTemplate(CHATML, {}, Specials()).render([{"role": "user", "content": text}])
    assert [piece.text for piece in found if piece.is_content] == [text]


def test_a_process_that_cannot_render_is_told(monkeypatch: pytest.MonkeyPatch, hasty: Renderer) -> None:
    monkeypatch.setattr("engine.tokenizer.chat.rendering._BOOT", "/nowhere/boot.py")
    with pytest.raises(TemplateCost, match="ends the process that renders it"):
        hasty.render({"source": "", "messages": []})
