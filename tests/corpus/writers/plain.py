"""Plain text, wrapped as a typist would, and Markdown; `Encoding` names an encoding other than UTF-8."""

from textwrap import fill

from markup import Block, Source


def write_txt(source: Source) -> bytes:
    """The body as a text file; Windows line ends where the encoding is of that world."""
    text = "\n\n".join(_plain(block) for block in source.blocks) + "\n"
    encoding = source.headers.get("Encoding", "utf-8")
    return text.encode(encoding) if encoding == "utf-8" else text.replace("\n", "\r\n").encode(encoding)


def write_md(source: Source) -> bytes:
    """The body as Markdown; lines that stay lines end in two spaces, and the head of a table gets its rule."""
    return ("\n\n".join(_markdown(block) for block in source.blocks) + "\n").encode()


def _plain(block: Block) -> str:
    if block.kind == "heading":
        return f"{block.text.upper()}\n{'=' * len(block.text)}" if block.level == 1 else block.text
    if block.kind == "table":
        return _columns(block.rows)
    if block.kind == "items":
        return "\n".join(fill(line, 78, initial_indent="- ", subsequent_indent="  ") for line in block.lines)
    return "\n".join(block.lines) if block.kind == "lines" else fill(block.text, 78)


def _columns(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _markdown(block: Block) -> str:
    if block.kind == "heading":
        return f"{'#' * block.level} {block.text}"
    if block.kind == "table":
        head, *rest = block.lines
        return "\n".join([head, "|" + " --- |" * len(block.rows[0]), *rest])
    if block.kind == "items":
        return "\n".join(f"- {line}" for line in block.lines)
    return "  \n".join(block.lines) if block.kind == "lines" else "\n".join(block.lines)
