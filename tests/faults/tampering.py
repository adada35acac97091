"""What somebody without the key can do to a workspace, drawn at random: each kind is a function of the victim and a
random.Random, and gives the files that change and the names that a verification has to say."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import audit
from audit.merkle import leaf_hash
from tests.faults.victim import Victim

Change = dict[str, bytes | None]
"""Path below the workspace -> what it has then; None: it is gone."""
SEGMENT = "audit/entries/000000000000.jsonl"


@dataclass(frozen=True)
class Tampering:
    """Of each set in `named`, a finding has to say one. `apart`: FORMAT.md tells that this may be no finding."""

    change: Change
    named: list[set[str]]
    apart: bool = False


def files_of(victim: Victim, top: str) -> list[str]:
    """Below the workspace, sorted."""
    root = victim.site.root
    return sorted(str(path.relative_to(root)) for path in (root / top).rglob("*") if path.is_file())


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Other bytes: bits flipped, bytes taken out, put in or doubled, the end cut off."""
    changed = data
    while changed == data:
        at = rng.randrange(len(data)) if data else 0
        match rng.randrange(8) if data else 6:
            case 0 | 1 | 2 | 3:
                changed = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
            case 4:
                changed = data[:at] + data[at + rng.randint(1, 40) :]
            case 5:
                changed = data[:at]
            case 6:
                changed = data[:at] + rng.randbytes(rng.randint(1, 40)) + data[at:]
            case 7:
                end = at + rng.randint(1, 64)
                changed = data[:end] + data[at:end] + data[end:]
    return changed


# The log


def in_log(name: str) -> set[str]:
    return {name.removeprefix("audit/")}


def of_lines(old: bytes, new: bytes) -> Tampering:
    """The first line that differs names the entry. What was only added behind the last one looks torn, perhaps."""
    before, after = old.split(b"\n"), new.split(b"\n")
    pairs = enumerate(zip(before, after, strict=False))
    n = next((n for n, (one, other) in pairs if one != other), min(len(before), len(after)) - 1)
    behind = n >= len(before) - 1
    where = f"entries/000000000000.jsonl, line {n + 1}"
    return Tampering({SEGMENT: new}, [{where if behind else f"entry {n} (entries/000000000000.jsonl, line {n + 1})"}],
                     apart=behind)  # fmt: skip


def flip_in_log(victim: Victim, rng: random.Random) -> Tampering:
    name = rng.choice(files_of(victim, "audit"))
    old = (victim.site.root / name).read_bytes()
    new = damaged(old, rng)
    return of_lines(old, new) if name == SEGMENT else Tampering({name: new}, [in_log(name)])


def flip_in_entries(victim: Victim, rng: random.Random) -> Tampering:
    old = (victim.site.root / SEGMENT).read_bytes()
    return of_lines(old, damaged(old, rng))


def remove_in_log(victim: Victim, rng: random.Random) -> Tampering:
    name = rng.choice(files_of(victim, "audit"))
    entry = {"entry 0 (entries/000000000000.jsonl, line 1)"} if name == SEGMENT else set()
    return Tampering({name: None}, [in_log(name) | entry])


def change_lines(victim: Victim, rng: random.Random) -> Tampering:
    """Records cut off at a line's end, taken out, swapped, turned around, replayed, moved."""
    old = (victim.site.root / SEGMENT).read_bytes()
    lines = old.splitlines(keepends=True)
    new = list(lines)
    while b"".join(new) == old:
        one, two = sorted(rng.sample(range(len(lines)), 2))
        match rng.randrange(7):
            case 0:
                new = lines[:two]
            case 1:
                new = lines[:one] + lines[two:]
            case 2:
                new[one], new[two] = lines[two], lines[one]
            case 3:
                new[one:two] = lines[one:two][::-1]
            case 4:
                new.insert(one, lines[two])
            case 5:
                new[one] = lines[two]
            case 6:
                new.insert(two, new.pop(one))
    return of_lines(old, b"".join(new))


def replay_behind(victim: Victim, rng: random.Random) -> Tampering:
    """Old records once more behind the last one, as they are or with numbers that go on."""
    old = (victim.site.root / SEGMENT).read_bytes()
    lines = old.splitlines(keepends=True)
    first = rng.randrange(len(lines))
    again = lines[first : first + rng.randint(1, 5)]
    if rng.random() < 0.5:
        again = [renumbered(line, len(lines) + i) for i, line in enumerate(again)]
    where = f"entries/000000000000.jsonl, line {len(lines) + 1}"
    return Tampering({SEGMENT: old + b"".join(again)}, [{where, "checkpoint"}], apart=True)


def renumbered(line: bytes, n: int) -> bytes:
    return audit.canonical(json.loads(line) | {"n": n}) + b"\n"


def edit_entry(victim: Victim, rng: random.Random) -> Tampering:
    """A well-formed entry with another value, or another one's in its place; sometimes with its hash in the tile, so
    that the two fit each other."""
    old = (victim.site.root / SEGMENT).read_bytes()
    lines = old.splitlines(keepends=True)
    n = rng.randrange(len(lines))
    entry = json.loads(lines[n])
    name = rng.choice(
        [name for name, value in entry.items() if isinstance(value, str) and name not in ("time", "boot")]
    )
    entry[name] += "x"
    new = audit.canonical(entry) if rng.random() < 0.7 else renumbered(lines[n - 1], n)[:-1]
    found = of_lines(old, b"".join([*lines[:n], new + b"\n", *lines[n + 1 :]]))
    tile = next(t for t in files_of(victim, "audit/tile/0") if t.startswith(f"audit/tile/0/{n // 256:03d}"))
    if rng.random() < 0.5:
        return found
    hashes = (victim.site.root / tile).read_bytes()
    at = n % 256 * 32
    changed = hashes[:at] + leaf_hash(new) + hashes[at + 32 :]
    return Tampering({**found.change, tile: changed}, [found.named[0] | {"checkpoint"} | in_log(tile)])


def old_checkpoint(victim: Victim, rng: random.Random) -> Tampering:
    """An earlier one put back alone: the tiles that it needs are gone, or it covers less than what lies there."""
    log = rng.choice([*victim.logs, *(state / "audit" for state in victim.states)])
    tiles = {str(path.relative_to(log)) for path in (log / "tile").rglob("*.p/*")}
    return Tampering({"audit/checkpoint": (log / "checkpoint").read_bytes()}, [tiles | {"checkpoint"}])


def old_checkpoint_with_tiles(victim: Victim, rng: random.Random) -> Tampering:
    """With the tiles of its edge. What lies beyond it is of more than one commit, or looks like one that was
    interrupted."""
    log = rng.choice(victim.logs)
    change: Change = {"audit/checkpoint": (log / "checkpoint").read_bytes()}
    change |= {f"audit/{path.relative_to(log)}": path.read_bytes() for path in (log / "tile").rglob("*.p/*")}
    return Tampering(change, [{"checkpoint"}], apart=log == victim.logs[-1])


def false_checkpoint(victim: Victim, rng: random.Random) -> Tampering:
    """Another size, root or number of bytes under the old signature; lines more or less; the one of another log."""
    lines = victim.kept.decode().split("\n")
    match rng.randrange(5):
        case 0:
            lines[1] = str(int(lines[1]) + rng.choice((-1, 1, 10)))
        case 1:
            lines[2] = lines[2][::-1]
        case 2:
            lines[3] += "0"
        case 3:
            lines.insert(rng.randrange(len(lines)), rng.choice(("", "x 1", lines[0])))
        case 4:
            del lines[rng.randrange(len(lines) - 1)]
    return Tampering({"audit/checkpoint": "\n".join(lines).encode()}, [{"checkpoint"}])


def add_to_log(victim: Victim, rng: random.Random) -> Tampering:
    names = [
        "notes.txt", ".hidden", "checkpoint.bak", "checkpoint.tmp", "entries/x", "entries/000000004096.jsonl",
        "entries/000000000001.jsonl", "tile/0/001.p/7", "tile/0/009", "tile/7/000", "tile/x", "lock.tmp",
    ]  # fmt: skip
    name = f"audit/{rng.choice(names)}"
    body = rng.choice((b"", rng.randbytes(rng.randint(1, 300)), victim.kept, b"{}\n"))
    if name == SEGMENT or (victim.site.root / name).exists():
        name = "audit/extra"
    segment = {f"{name.removeprefix('audit/')}, line 1"}
    return Tampering({name: body}, [in_log(name) | segment], apart=name.endswith((".tmp", ".p/7")))


def swap_tiles(victim: Victim, rng: random.Random) -> Tampering:
    root = victim.site.root
    one, two = rng.sample(files_of(victim, "audit/tile"), 2)
    return Tampering({one: (root / two).read_bytes(), two: (root / one).read_bytes()}, [in_log(one) | in_log(two)])


# Results, archive, failed documents


def damage_results(victim: Victim, rng: random.Random) -> Tampering:
    name = rng.choice(files_of(victim, rng.choice(("outbox", "archive", "failed"))))
    return Tampering({name: damaged((victim.site.root / name).read_bytes(), rng)}, [{name}])


def remove_results(victim: Victim, rng: random.Random) -> Tampering:
    top = rng.choice(("outbox", "archive", "failed"))
    names = rng.sample(files_of(victim, top), rng.choice((1, 1, 2)))
    return Tampering(dict.fromkeys(names), [{name} for name in names])


def swap_results(victim: Victim, rng: random.Random) -> Tampering:
    """Two parts, two Markdown files, two archived documents or texts, two failed ones or their reasons."""
    root = victim.site.root
    suffix = rng.choice((".parquet", ".md", ".txt", ".reason.json"))
    files = [name for top in ("outbox", "archive", "failed") for name in files_of(victim, top) if name.endswith(suffix)]
    one, two = rng.sample(files, 2)
    while (root / one).read_bytes() == (root / two).read_bytes():
        one, two = rng.sample(files, 2)
    return Tampering({one: (root / two).read_bytes(), two: (root / one).read_bytes()}, [{one}, {two}])


def rename_results(victim: Victim, rng: random.Random) -> Tampering:
    top = rng.choice(("outbox", "archive", "failed"))
    name = rng.choice(files_of(victim, top))
    other = f"{Path(name).parent}/{rng.choice(('x', '~', '.'))}{Path(name).name}"
    return Tampering({name: None, other: (victim.site.root / name).read_bytes()}, [{name}, {other}])


def add_results(victim: Victim, rng: random.Random) -> Tampering:
    """A file that is there under another name, or anything else."""
    top = rng.choice(("outbox", "archive", "failed"))
    like = rng.choice(files_of(victim, top))
    body = (victim.site.root / like).read_bytes() if rng.random() < 0.5 else rng.randbytes(rng.randint(0, 99))
    folder, name = Path(like).parent, Path(like).name
    other = rng.choice((f"{top}/{name}.x", f"{folder}/{rng.randrange(10**6)}-{name}", f"{folder}/new/{name}",
                        f"{top}/other/{name}", f"{folder}/part-x.parquet", f"{folder}/.{name}"))  # fmt: skip
    return Tampering({other: body}, [{other}])


def edit_rows(victim: Victim, rng: random.Random) -> Tampering:
    """A row with another value in a part that is written anew, as a whole table that anybody can read."""
    part = rng.choice([name for name in files_of(victim, "outbox") if name.endswith(".parquet")])
    table = pq.read_table(victim.site.root / part)
    rows = table.to_pylist()
    at = rng.randrange(len(rows))
    column = rng.choice(["path", "document", "state", "reason", "label", "score", "parser", "tokens", "run", "size"])
    value = rows[at][column]
    rows[at][column] = (value or 0) + 1 if column in ("score", "tokens", "size") else f"{value or ''}x"
    return Tampering({part: _written(rows, table.schema)}, [{part}, {f"{part} row {at}"}])


def rearrange_rows(victim: Victim, rng: random.Random) -> Tampering:
    part = rng.choice([name for name in files_of(victim, "outbox") if name.endswith(".parquet")])
    table = pq.read_table(victim.site.root / part)
    rows = table.to_pylist()
    at = rng.randrange(len(rows))
    match rng.randrange(4):
        case 0:
            del rows[at]
        case 1:
            rows.insert(at, rows[at])
        case 2:
            rows = rows[at:] + rows[:at] if at else rows[:-1]
        case 3:
            rows = []
    return Tampering({part: _written(rows, table.schema)}, [{part}])


def _written(rows: list[dict[str, object]], schema: pa.Schema) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
    return sink.getvalue().to_pybytes()


# What only a kept checkpoint shows


def roll_back_all(victim: Victim, rng: random.Random) -> Tampering:
    """The whole workspace as it was after an earlier run: it is one that was true once."""
    return Tampering(_difference(victim.site.root, rng.choice(victim.states), ""), [], apart=True)


def roll_back_log(victim: Victim, rng: random.Random) -> Tampering:
    """The log alone. Results that it no longer knows are nobody's then; where there are none, only a kept one tells."""
    log = rng.choice([*victim.logs, *(state / "audit" for state in victim.states)])
    return Tampering(_difference(victim.site.root, log, "audit"), [], apart=True)


def _difference(root: Path, other: Path, top: str) -> Change:
    now = {str(path.relative_to(root / top)): path for path in (root / top).rglob("*") if path.is_file()}
    then = {str(path.relative_to(other)): path for path in other.rglob("*") if path.is_file()}
    prefix = f"{top}/" if top else ""
    gone: Change = {prefix + name: None for name in now.keys() - then.keys()}
    return gone | {
        prefix + name: body
        for name, path in then.items()
        if (body := path.read_bytes()) != (now[name].read_bytes() if name in now else None)
    }


KINDS: dict[str, tuple[int, Callable[[Victim, random.Random], Tampering]]] = {
    "flip, any file of the log": (16, flip_in_log),
    "flip, entries": (10, flip_in_entries),
    "file of the log removed": (4, remove_in_log),
    "records cut off, taken out, reordered, replayed": (12, change_lines),
    "records replayed behind the last": (3, replay_behind),
    "well-formed entry edited": (8, edit_entry),
    "stale checkpoint": (4, old_checkpoint),
    "stale checkpoint with its tiles": (2, old_checkpoint_with_tiles),
    "false checkpoint": (4, false_checkpoint),
    "file added to the log": (5, add_to_log),
    "tiles swapped": (2, swap_tiles),
    "result, archive or failed damaged": (10, damage_results),
    "result, archive or failed removed": (5, remove_results),
    "result, archive or failed swapped": (5, swap_results),
    "result, archive or failed renamed": (3, rename_results),
    "result, archive or failed added": (5, add_results),
    "row edited, part rewritten": (8, edit_rows),
    "rows rearranged, part rewritten": (3, rearrange_rows),
    "whole workspace rolled back": (1, roll_back_all),
    "log alone rolled back": (1, roll_back_log),
}


def draw(victim: Victim, seed: int, number: int) -> tuple[str, Tampering]:
    """Tampering `number` of this seed, and its kind."""
    rng = random.Random(f"{seed}/{number}")
    name = rng.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    return name, KINDS[name][1](victim, rng)
