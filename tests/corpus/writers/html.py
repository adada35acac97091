"""A page as a portal or an office program saves it: head with style and script, body with tables and entities."""

from html import escape

from markup import Block, Source

_PAGE = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>body {{ font: 11pt serif; max-width: 46em }} td, th {{ padding: 2pt 8pt; text-align: left }}</style>
<script>window.addEventListener("load", function () {{ document.body.dataset.ready = "1"; }});</script>
</head>
<body>
{body}
</body>
</html>
"""


def write(source: Source) -> bytes:
    """The body as HTML."""
    body = "\n".join(_element(block) for block in source.blocks)
    headers = source.headers
    return _PAGE.format(language=headers["Language"], title=escape(headers["Title"]), body=body).encode()


def _element(block: Block) -> str:
    if block.kind == "heading":
        return f"<h{block.level}>{escape(block.text)}</h{block.level}>"
    if block.kind == "table":
        head, *rest = block.rows
        return "<table>\n" + "\n".join([_row(head, "th"), *(_row(row, "td") for row in rest)]) + "\n</table>"
    if block.kind == "items":
        return "<ul>\n" + "\n".join(f"<li>{escape(line)}</li>" for line in block.lines) + "\n</ul>"
    return f"<p>{'<br>'.join(map(escape, block.lines)) if block.kind == 'lines' else escape(block.text)}</p>"


def _row(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
