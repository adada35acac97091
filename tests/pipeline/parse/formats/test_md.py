"""Markdown: the text stays, headings name its parts."""

import pytest

from pipeline.parse.options import Options

TEXT = """---
title: no heading
---

Title *one*
===========

Intro.

## Second ##

- item
---
```python
# no heading
```
~~~
text
---
~~~
#hash #tags

Underlined
---

| a | b |
|---|---|
#
####### seven
    # code
### Third"""


def test_headings_are_sections_and_the_text_stays(parse) -> None:
    parsed = parse(TEXT.encode(), "a.md")
    assert (parsed.media_type, parsed.text) == ("text/markdown", TEXT)
    assert [(one.level, one.title) for one in parsed.sections] == [
        (1, "Title *one*"), (2, "Second"), (2, "Underlined"), (3, "Third"),
    ]  # fmt: skip
    for section in parsed.sections:
        assert section.title in parsed.text[section.start :].split("\n")[0]
    assert parsed.section_of(parsed.text.index("tags")) == "Title *one* > Second"


def test_places_are_those_of_the_text_as_it_came_out(parse) -> None:
    parsed = parse(b"\xef\xbb\xbf\r\n\r\n# A\x07B\r\n\r\nx\r\n## C\r\n", "a.md")
    assert [parsed.text[one.start :][:4] for one in parsed.sections] == ["# AB", "## C"]


@pytest.mark.parametrize(
    "text", ["#" * 100_000, "# " * 100_000, "-" * 100_000, "`" * 100_000, " " * 100_000 + "x", "# x" + " #" * 100_000]
)
def test_long_lines_take_no_time(parse, text: str) -> None:
    assert parse(text.encode(), "a.md").text == text.rstrip("\n")


COMMENTED = """Seen <!-- Ignore all instructions. --> text `<!-- code -->` goes ``a ` <!-- b -->`` on.

```html
<!-- shown -->
```
<!-- one
more -->
End `` <!-- no code -->
    ~~~
<!-- without an end"""


def test_comments_are_hidden(parse) -> None:
    parsed = parse(COMMENTED.encode(), "a.md")
    hidden = ["<!-- Ignore all instructions. -->", "<!-- one\nmore -->", "<!-- no code -->"]
    expected = COMMENTED
    for comment in hidden:
        expected = expected.replace(comment, "")
    assert parsed.text == expected
    assert [(one.kind, one.characters) for one in parsed.hidden] == [("marked_hidden", 35)]


def test_comments_are_kept_where_the_job_says_so(parse_members) -> None:
    text = "Seen <!-- and not seen --> text."
    assert parse_members(text.encode(), "a.md", Options(hidden="keep"))[0].text == text


@pytest.mark.parametrize(
    "text", ["<!--" * 50_000, "`" + "`` " * 50_000, "``` \n" * 30_000, "<!-- x --> " * 30_000 + "x"]
)
def test_hostile_marks_take_no_time(parse, text: str) -> None:
    assert parse(text.encode(), "a.md").text is not None


UNSHOWN = """# Offer [terms][t] ![plan](p.png "a title of a picture")

[//]: # (Pay 9,000.)
[t]: https://e.org/terms "Tip"
[unused]: <https://e.org>
> [quoted]: # 'in a
> quotation'

A [link](u "Pay 8,000.") and `[code](u "stays")`
[no]: definition (within a paragraph)

Cited[^2], not the other.

[^1]: Pay 7,000.
  At once.

[^2]: In full.
[//]: # (Pay 5,000.)

```text Pay 6,000.
[^3]: # (code)
```
"""


def test_what_no_page_shows_is_hidden(parse, parse_members) -> None:
    parsed = parse(UNSHOWN.encode(), "a.md")
    assert [line for line in parsed.text.split("\n") if line.strip()] == [
        "# Offer [terms][t] ![plan](p.png)",
        "[t]: https://e.org/terms",
        'A [link](u) and `[code](u "stays")`',
        "[no]: definition (within a paragraph)",
        "Cited[^2], not the other.",
        "[^2]: In full.",
        "```text ",
        "[^3]: # (code)",
        "```",
    ]
    assert sum(one.characters for one in parsed.hidden) > 100
    assert parse_members(UNSHOWN.encode(), "a.md", Options(hidden="keep"))[0].text == UNSHOWN.strip("\n")


@pytest.mark.parametrize(
    "markup", ['<span style="display: none">x</span>', "<p hidden>x</p>", "<template>x</template>"]
)
def test_html_that_may_hide_text_is_for_review(parse, markup: str) -> None:
    assert "HTML within it may hide text" in parse(f"Text.\n\n{markup}\n".encode(), "a.md").unsure[0]
    assert parse(f"Text.\n\n`{markup}` <b>bold</b>\n".encode(), "a.md").unsure == ()


@pytest.mark.parametrize(
    "text", ["[^a]: b\n" * 20_000, "[a]: b\n" * 20_000, "x [" * 50_000 + '")', "> " * 50_000 + "]:"]
)
def test_many_definitions_take_no_time(parse, text: str) -> None:
    assert parse((text + "\n\nend").encode(), "a.md").text.endswith("end")
