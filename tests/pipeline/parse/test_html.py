"""HTML: what is visible, in blocks; and no cut in silence."""

import pytest

from pipeline.errors import Failure


def test_blocks_lines_and_tables(parse) -> None:
    parsed = parse(
        b"""<!DOCTYPE html><html><head><title>The  title</title><style>p{}</style><script>"<p>no</p>"</script></head>
        <body><h1>Head</h1><p>One <b>bo</b>ld<br>line two</p><!-- no --><div>A</div><div>B</div>
        <ul><li>first<li>second</ul><ol start=3><li>three<li>four</ol>
        <p hidden>no</p><p style="display: none">no</p><template>no</template>
        <table><tr><th>Name<th>Sum<tr><td>Ann &amp; Co<td><p>1</p><p>2</p></table><pre>  a\n   b</pre>
        <input type=hidden value=no><input value="typed"><input type=checkbox checked>yes tail</body></html>"""
    )
    assert parsed.media_type == "text/html"
    assert parsed.text == (
        "The title\n\nHead\n\nOne bold\nline two\n\nA\nB\n\n- first\n- second\n\n3. three\n4. four\n\n"
        "Name | Sum\nAnn & Co | 1 2\n\n"
        "  a\n   b\n\ntyped [x] yes tail"
    )


def test_a_table_for_layout_becomes_blocks(parse) -> None:
    inner = "<table><tr><td>x<td>y</table>"
    parsed = parse(f"<html><table><tr><td>{inner}<td>side</table>".encode())
    assert parsed.text == "x | y\n\nside"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252", "koi8-r"])
def test_encodings_by_mark_or_meta(parse, encoding: str) -> None:
    word = "Привет" if encoding == "koi8-r" else "Grüße"
    data = f'<html><meta charset="{encoding}"><p>{word}</p></html>'.encode(encoding)
    assert parse(data).text == word


def test_a_lie_about_the_encoding_is_seen_through(parse) -> None:
    assert parse('<html><meta charset="iso-8859-1"><p>Grüße, 你好</p>'.encode()).text == "Grüße, 你好"


def test_too_deep_is_a_failure_and_never_a_cut(parse, fail) -> None:
    deep = b"<html><p>before" + b"<div>" * 1500 + b"inner" + b"</div>" * 1500 + b"<p>after"
    assert [word in parse(deep).text for word in ("before", "inner", "after")] == [True] * 3
    error = fail(b"<html><p>before" + b"<div>" * 5000 + b"inner")
    assert error.failure is Failure.CORRUPT
    assert "depth" in error.reason


def test_bad_markup_is_read_to_its_end(parse) -> None:
    parsed = parse(b"<html><p>one<td>two</b></p></div><unknown>three</unknown>&nosuch; <a href='x>four</a>five")
    for word in ("one", "two", "three", "&nosuch;"):
        assert word in parsed.text


def test_zero_bytes_do_not_end_it(parse) -> None:
    assert parse(b"<html><p>one\x00two<p>three").text == "onetwo\n\nthree"


def test_a_page_without_text_is_empty(fail) -> None:
    assert fail(b"<html><body><script>x()</script><img src=a.png></body></html>").failure is Failure.EMPTY
