"""A few values of a YAML file replaced, everything else kept to the byte: comments, order, quotes, line ends."""

import json
import re
from collections.abc import Mapping

from jobs.errors import ConfigError, Problem, Steps
from jobs.source import Source, parse_source

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'')


def amend(data: bytes, name: str, section: str, values: Mapping[str, str]) -> bytes:
    """The file with these texts in its mapping `section`; a key that it lacks comes first there. `name` is the file in
    messages. ConfigError if the file cannot be read, or not be changed so without a doubt."""
    source = parse_source(data, name)
    lines = data.decode("utf-8-sig").splitlines(keepends=True)
    edits = [_edit(source, lines, (section, key), text) for key, text in values.items()]
    for row, column, length, text in sorted(edits, reverse=True):
        lines[row] = lines[row][:column] + text + lines[row][column + length :]
    amended = "".join(lines).encode()
    if data.startswith(b"\xef\xbb\xbf"):
        amended = b"\xef\xbb\xbf" + amended
    _check(source, amended, section, values)
    return amended


def _edit(source: Source, lines: list[str], path: Steps, text: str) -> tuple[int, int, int, str]:
    """(row, column, how many characters go, what takes their place), the first two counted from 0."""
    section, key = source.value[str(path[0])], str(path[1])
    place = source.values[path if key in section else path[:1]]
    row, column = place.line - 1, place.column - 1
    rest, new = lines[row][column:], json.dumps(text, ensure_ascii=False)
    if key not in section:
        if rest.startswith("{"):
            return row, column + 1, 0, f"{key}: {new}, "
        return row, column, 0, f"{key}: {new}\n{' ' * column}"
    old = section[key]
    quoted = _QUOTED.match(rest)
    return row, column, len(quoted[0]) if quoted else len(str(old)), new


def _check(source: Source, amended: bytes, section: str, values: Mapping[str, str]) -> None:
    """It says what it said, but for these values; the reader that reads it next is asked."""
    wanted = {**source.value, section: {**source.value[section], **values}}
    try:
        done = parse_source(amended, source.name).value == wanted
    except ConfigError:
        done = False
    if not done:
        texts = ", ".join(f"{key}: {json.dumps(text, ensure_ascii=False)}" for key, text in values.items())
        remedy = f"write into {section}: {texts}"
        raise ConfigError(Problem(source.name, "written in a way that cannot be changed by itself", None, remedy))
