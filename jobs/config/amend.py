"""A few values of a YAML file replaced, everything else kept to the byte: comments, order, quotes, line ends.

So site.yaml names another key; and a rotation of the key that was cut off is ended, or undone (rotation.py).
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import audit
from jobs.config.load import load_site, shown
from jobs.config.source import Place, Source, parse_source
from jobs.errors import ConfigError, Problem, Steps

SITE = "site.yaml"
NEXT = "site.yaml.next"


def settle_rotation(root: Path) -> bool:
    """End a rotation that was cut off, or undo what it had prepared. Whether site.yaml names another key now.
    ConfigError if it should and cannot be written."""
    if not (root / NEXT).exists():
        return False

    try:
        with audit.hold(root / "audit"):
            return _settle(root)
    except (audit.LogHeld, audit.LogUntrusted):  # held by the rotation itself; or no log, which is told by who opens it
        return False
    except audit.LogUnwritable as error:
        raise _unsettled(root, str(error)) from error


def _settle(root: Path) -> bool:
    if not (root / NEXT).exists():
        return False  # another process has just done it
    audit.sync_filesystem(root / "audit")  # what decides is on the disk before it decides
    now, new = load_site(root / SITE).log, load_site(root / NEXT).log
    try:
        signs = audit.current_key(root / "audit", now.public_key)
    except audit.LogUntrusted:
        return False  # a log that neither of them signs is not put right here; whoever opens it says what is wrong
    happened = signs == new.public_key != now.public_key
    try:
        if happened:
            replace_site(root)
        else:
            audit.remove_durably(root / NEXT)
    except OSError as error:
        raise _unsettled(root, f"{error.filename or SITE}: {error.strerror}") from error
    return happened


def replace_site(root: Path) -> None:
    """Let site.yaml name the key that site.yaml.next does: step 4 of a rotation. The rest of it, and its mode, stay."""
    file, new = (root / SITE).resolve(), load_site(root / NEXT).log
    mode = file.stat().st_mode & 0o777
    values = {"key": new.key, "public_key": new.public_key, "passphrase_file": new.passphrase_file}
    given = {key: value for key, value in values.items() if value is not None}
    audit.write_file_atomically(file, amend(file.read_bytes(), SITE, "log", given))
    file.chmod(mode)
    audit.remove_durably(root / NEXT)


def _unsettled(root: Path, why: str) -> ConfigError:
    found = f"the log's key is being replaced, which was cut off and cannot be ended: {why}"
    remedy = f"run any command as the user who owns {shown(root / SITE)}; it ends that"
    return ConfigError(Problem(shown(root / NEXT), found, None, remedy))


_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'')
_FLOW = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|[{}\[\]]')

Values = Mapping[str, "str | Values | None"]
"""What a mapping is to say: key -> its text; or a mapping for a key; or None where the key is to go."""
Edit = tuple[int, int, int, int, str]
"""(row, column, end row, end column, what takes the place between), each counted from 0."""


def amend(data: bytes, name: str, section: str, values: Values) -> bytes:
    """The file with these values in its mapping `section`; a key that it lacks comes first there. `name` is the file in
    messages. ConfigError if the file cannot be read, or not be changed so without a doubt."""
    source = parse_source(data, name)
    said = source.value[section]
    if isinstance(said, str):  # the name alone, which stands for a mapping
        said, values = {}, {"name": said, **values}
    going: Values = {key: None for key, value in values.items() if value is None and key in said}
    if going and len(going) < len(values):  # first, for what comes may come where they stand
        staying = {key: value for key, value in values.items() if value is not None}
        try:
            return amend(amend(data, name, section, going), name, section, staying)
        except ConfigError:
            raise _refusal(source, section, values) from None
    lines = data.decode("utf-8-sig").splitlines(keepends=True)
    edits = list(_edits(source, lines, (), {section: values}))
    for row, column, end_row, end_column, new in sorted(edits, reverse=True):
        rest = lines[end_row][end_column:]
        lines[row : end_row + 1] = [lines[row][:column] + new + rest]
    amended = "".join(lines).encode()
    if data.startswith(b"\xef\xbb\xbf"):
        amended = b"\xef\xbb\xbf" + amended
    # It says what it said, but for these values; the reader that reads it next is asked.
    wanted = {**source.value, section: _merged(source.value[section], values)}
    try:
        done = parse_source(amended, source.name).value == wanted
    except ConfigError:
        done = False
    if not done:
        raise _refusal(source, section, values)
    return amended


def _edits(source: Source, lines: list[str], section: Steps, values: Values) -> Iterator[Edit]:
    for key, value in values.items():
        path = (*section, key)
        there = path in source.values
        if value is None:
            yield from [_removed(source, lines, path)] if there else []
        elif not there:
            row, column = _at(source.values[section])
            new, braces = f"{key}: {_flow(value)}", lines[row][column:].startswith("{")
            yield row, column + braces, row, column + braces, f"{new}, " if braces else f"{new}\n{' ' * column}"
        elif isinstance(value, Mapping) and not isinstance(source.at(path), str):
            yield from _edits(source, lines, path, value)
        else:
            row, column = _at(source.values[path])
            quoted = _QUOTED.match(lines[row][column:])
            length = len(quoted[0]) if quoted else len(str(source.at(path)))
            yield row, column, row, column + length, _flow(value)


def _removed(source: Source, lines: list[str], path: Steps) -> Edit:
    """The key goes with its value: in a mapping in braces with a comma, else with its lines."""
    row, column = _at(source.keys[path])
    around_row, around_column = _at(source.values[path[:-1]])
    last = max(place.line for at, place in source.values.items() if at[: len(path)] == path) - 1
    if not lines[around_row][around_column:].startswith("{"):
        return row, 0, last, len(lines[last]), ""
    begin, end = column, _end_of_value(lines[row], _at(source.values[path])[1])
    if after := re.match(r"\s*,\s*", lines[row][end:]):
        return row, begin, row, end + after.end(), ""
    before = re.search(r"\s*,\s*$", lines[row][:begin])
    return row, before.start() if before else begin, row, end, ""


def _end_of_value(line: str, column: int) -> int:
    """The column behind the value that begins there, in a mapping in braces; of one that ends in another line, where
    its first line ends."""
    if not line[column:].startswith(("{", "[")):
        quoted = _QUOTED.match(line[column:])
        plain = re.match(r"[^,}\n]*", line[column:])
        return column + (quoted.end() if quoted else len((plain or [""])[0].rstrip()))
    depth = 0
    for found in _FLOW.finditer(line, column):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(line)


def _refusal(source: Source, section: str, values: Values) -> ConfigError:
    texts = [f"{key}: {_flow(value)}" for key, value in values.items() if value is not None]
    said = source.value[section]
    gone = [key for key, value in values.items() if value is None and isinstance(said, Mapping) and key in said]
    remedy = [f"write into {section}: {', '.join(texts)}"] * bool(texts) + [f"remove {', '.join(gone)}"] * bool(gone)
    found = "written in a way that cannot be changed by itself"
    return ConfigError(Problem(source.name, found, None, "; ".join(remedy)))


def _merged(before: object, values: Values) -> dict[str, object]:
    said = before if isinstance(before, Mapping) else {"name": before}
    merged = {key: value for key, value in said.items() if key not in values or values[key] is not None}
    for key, value in values.items():
        if value is not None:
            there = isinstance(value, Mapping) and key in said
            merged[key] = _merged(said[key], value) if there and isinstance(value, Mapping) else value
    return merged


def _flow(value: "str | Values") -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in value.items() if each is not None) + "}"


def _at(place: Place) -> tuple[int, int]:
    return place.line - 1, place.column - 1
