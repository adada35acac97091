#!/usr/bin/env python3
# fmt: off
"""Checks a folder that `cloister audit export` made: with Python 3.8 or newer, and nothing else.

    python3 verify.py [--key KEY] [--against CHECKPOINT] [FOLDER]

KEY is the log's public key, or a file with it, that came to you in another way than the folder; without it the one in
the folder is taken, and shown. CHECKPOINT is one that was kept: the folder has to hold the same history, gone on. Exit
code 0: whole, all CLAIMS are proved. 1: something is wrong, and named. 2: not checked: KEY or CHECKPOINT is none, or a
file cannot be read. 3: the log has no record of this export (export.proof), so nobody signed export.json; else whole.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

CLAIMS = {  # what has to be proved, each by the method of that name: (the file to accuse, what is to be proved before)
    "key": ("keys/log.pub", ""), "checkpoint": ("log/checkpoint", "key"), "about": ("export.json", "checkpoint"),
    "trust": ("keys/log.pub", "checkpoint"), "kept": ("--against", "checkpoint"), "record": ("export.proof", "about"),
    "history": ("log/checkpoint", "checkpoint"), "records": ("records.jsonl", "about"),
    "files": ("export.json", "about"), "sums": ("SHA256SUMS", ""),
}
NAMED = {"keys/log.pub", "records.jsonl", "records.parquet", "report.html", "verify.py"}  # in export.json
OTHER = "not of this log, which has other, or not as many, entries"
TIME, HASH, NUMBER = r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{6}Z", "[0-9a-f]{64}", "(0|[1-9][0-9]{0,18})"
ABOUT: dict[str, Any] = {"v": int, "origin": str, "from": TIME, "before": TIME, "first": int, "end": int,
                         "size": int, "root": HASH, "bundles": list, "software": str, "files": dict}
ENTRY: dict[str, Any] = {**dict.fromkeys(("boot", "host", "user", "type", "run"), str), "time": TIME, "uptime_us": int}
CHECKPOINT = re.compile(rb"[^\n]+\n[0-9]+\n[+/0-9A-Za-z]{43}=\n([^\n]+\n)*\n\xe2\x80\x94 ")
WIDTH, LEVELS, FOLDERS = 256, 64, 12  # hashes in a tile; how deep JSON and folders are nested at most
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # Ed25519, RFC 8032: field, base point's order, d
D = -121665 * pow(121666, P - 2, P) % P
BROKEN = (ValueError, LookupError, TypeError, AttributeError, RecursionError)  # what malformed input leads to
class WrongError(ValueError): ...  # the same, told in words of ours
def demand(right: object, message: str) -> None:
    if not right:
        raise WrongError(message)
def decode_point(data: bytes) -> tuple[int, ...]:
    sign, y = int.from_bytes(data, "little") >> 255, int.from_bytes(data, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    demand(len(data) == 32 and y < P and x * x % P == square and (x or not sign), "not a point of the curve")
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P  # X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z
def add(p: tuple[int, ...], q: tuple[int, ...]) -> tuple[int, ...]:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    return (b - a) * (d - c) % P, (d + c) * (b + a) % P, (d - c) * (d + c) % P, (b - a) * (b + a) % P
def multiply(number: int, point: tuple[int, ...]) -> tuple[int, ...]:
    rest = multiply(number >> 1, add(point, point)) if number else (0, 1, 1, 0)
    return add(rest, point) if number & 1 else rest
def is_signed(key: bytes, signature: bytes, data: bytes) -> bool:
    """RFC 8032, 5.1.7, without the cofactor: R = S B - k A, each in its one form. ValueError if A is no point."""
    x, y, z, t = decode_point(key)
    s = int.from_bytes(signature[32:64], "little")
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + data).digest(), "little") % L
    x, y, z, t = add(multiply(s, decode_point(b"\x58" + 31 * b"\x66")), multiply(k, (P - x, y, z, P - t)))
    x, y = x * pow(z, P - 2, P) % P, y * pow(z, P - 2, P) % P
    return len(signature) == 64 and s < L and (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]
def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
def parse_key(text: str) -> tuple[str, bytes, bytes]:
    """Origin, key id and key of a C2SP verifier key."""
    origin, _, rest = text.partition("+")
    data = b64decode(rest.partition("+")[2])
    key_id = sha256(origin.encode() + b"\n" + data)[:4]
    right = len(data) == 33 and data[0] == 1 and text == f"{origin}+{key_id.hex()}+{b64encode(data).decode()}"
    demand(origin.split() == [origin] and right, "not a public key (ORIGIN+HASH+BASE64)")
    return origin, key_id, data[1:]
def open_checkpoint(note: bytes, keys: Iterable[str], alone: bool, more: str = "") -> tuple[str, int, bytes, int]:
    """Key, size, root, segment-bytes of a checkpoint, `more` at its end, that one of `keys` signed, `alone`. BROKEN."""
    text, _, rest = note.decode().rpartition("\n\n")
    for key, line in [(key, line) for key in keys for line in ([rest[:-1]] if alone else rest.split("\n")[:-1])]:
        (origin, key_id, raw), signature = parse_key(key), b64decode(line.rpartition(" ")[2])
        form = f"{re.escape(origin)}\n{NUMBER}\n(.{{43}}=)\nsegment-bytes {NUMBER}{re.escape(more)}"
        ours = line == f"\u2014 {origin} {b64encode(signature).decode()}" and signature[:4] == key_id
        if ours and note[-1:] == b"\n" and is_signed(raw, signature[4:], text.encode() + b"\n"):
            found = re.fullmatch(form, text)
            if found and b64encode(b64decode(found[2])).decode() == found[2]:
                return key, int(found[1]), b64decode(found[2]), int(found[3])
    raise WrongError(f"not a checkpoint: none of the keys here signed it: {', '.join(keys)}")
def root_of(hashes: list[bytes]) -> bytes:
    """RFC 6962, 2.1, over subtrees of one size, of which only the last may be smaller."""
    while len(hashes) > 1:
        pairs = [hashes[i : i + 2] for i in range(0, len(hashes), 2)]
        hashes = [sha256(b"\1" + pair[0] + pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return hashes[0] if hashes else sha256(b"")
def root_from(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bytes:
    """The root that an inclusion proof gives (RFC 6962, 2.1.1). BROKEN if it has not the right length."""
    if size == 1 and not proof:
        return leaf
    split = 1 << ((size - 1).bit_length() - 1)
    if index < split:
        return sha256(b"\1" + root_from(index, split, leaf, proof[:-1]) + proof[-1])
    return sha256(b"\1" + proof[-1] + root_from(index - split, size - split, leaf, proof[:-1]))
def tile_path(level: object, start: int, width: int) -> str:
    *groups, last = [digits.zfill(3) for digits in f"{start // WIDTH:,}".split(",")]
    return f"log/tile/{level}/{''.join(f'x{g}/' for g in groups)}{last}" + (f".p/{width}" if width < WIDTH else "")
quote = json.JSONEncoder(ensure_ascii=False).encode
def write_number(value: float) -> str:
    """RFC 8785, 3.2.2.3: as ECMAScript does."""
    if not value or 1e-6 <= abs(value) < 1e21:
        return f"{Decimal(repr(value)).normalize():f}"
    return re.sub("e([+-])0", r"e\1", repr(value))
def encode(value: Any, levels: int = LEVELS) -> str:
    """RFC 8785. ValueError for what is nested deeper than so many levels."""
    if not isinstance(value, (dict, list)):
        return write_number(value) if isinstance(value, float) else quote(value)
    demand(levels, f"nested deeper than {LEVELS} levels")
    if isinstance(value, list):
        return f"[{','.join([encode(each, levels - 1) for each in value])}]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join([f"{quote(name)}:{encode(value[name], levels - 1)}" for name in names]) + "}"
decode = json.JSONDecoder(parse_int=lambda n: int(n) if len(n) < 18 and abs(int(n)) < 2**53 else float(n)).decode
def parse(data: bytes, n: int | None = None, **form: Any) -> dict[str, Any]:
    """The object of these canonical bytes, entry n if given, its members of the types or patterns in `form`. BROKEN."""
    demand(len(data) < (2**20 if n is None else 2**16), "longer than it may be")
    value: dict[str, Any] = decode(data.decode())
    demand(encode(value).encode() == data, "not canonical JSON")
    demand(encode([value["v"], value.get("n")]) == encode([1, n]), "of another version, or not this entry")
    for name, kind in form.items():
        right = re.fullmatch(kind, value[name], re.A) if isinstance(kind, str) else type(value[name]) is kind
        demand(right and (kind is not int or value[name] >= 0), f"its member {name} is not what it has to be")
    return value
def files_below(folder: Path, above: str = "", levels: int = FOLDERS) -> Iterator[str]:
    """The paths of all that is no folder, and of folders that lie deeper than any of an export."""
    for item in (folder / above).iterdir():
        deeper = levels and item.is_dir() and not item.is_symlink()
        yield from files_below(folder, f"{above}{item.name}/", levels - 1) if deeper else [above + item.name]
class Export:
    """`wrong` is what is wrong, by file; `keys` are the log's, today's first, and how many entries each may sign for;
    `states` are those (file, size, root) that the log has to have had, or what to say if not; `told` is export.json."""
    def __init__(self, folder: Path, trusted: str | None, against: bytes | None) -> None:
        self.folder, self.paths, self.trusted, self.against = folder, {*files_below(folder)}, trusted, against
        self.wrong: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self.states: list[tuple[str, int, bytes, str]] = []
    def verdict(self) -> int:
        """The exit code. A claim is proved if nothing at all is wrong when its method has ended."""
        proved, asked = {""}, [claim for claim in CLAIMS if claim != "kept" or self.against is not None]
        for claim in asked:
            path, before = CLAIMS[claim]
            if before in proved and (claim != "record" or path in self.paths):
                self.attempt(path, getattr(self, claim))
                proved |= set() if self.wrong else {claim}
        return 0 if {*asked} <= proved else 3 if {*asked} - proved == {"record"} else 1
    def attempt(self, path: str, check: Any, *arguments: Any, **more: Any) -> Any:
        try:
            return check(*arguments, **more)
        except BROKEN as error:
            self.expect(path, False, error if isinstance(error, WrongError) else "not in the form that it has to have")
    def expect(self, path: str, right: object, message: object) -> None:
        if not right:
            self.wrong.setdefault(path, str(message))
    def read(self, path: str) -> bytes:
        found = path in self.paths and (self.folder / path).is_file() and not (self.folder / path).is_symlink()
        self.expect(path, found, "missing, or not a regular file")
        data = (self.folder / path).read_bytes() if found else b""
        self.digests[path] = sha256(data).hex()
        return data
    def key(self) -> None:
        text = self.read("keys/log.pub").decode()
        demand(parse_key(text[:-1]) and text[-1] == "\n", "not a line with a public key")
        self.keys = {text[:-1]: 0}
    def checkpoint(self) -> None:
        self.note = self.read("log/checkpoint")
        key, self.size, self.root, self.length = open_checkpoint(self.note, self.keys, True)
        demand(self.size <= WIDTH * len(self.paths), f"signs {self.size} entries, of which the hashes are not here")
        self.keys[key] = self.size
        self.states.append(("log/checkpoint", self.size, self.root, "signs another root than log/tile/0 gives"))
    def about(self) -> None:
        data = self.read("export.json")
        told = self.told = parse(data[:-1], **ABOUT)
        right = told.keys() == ABOUT.keys() and data[-1:] == b"\n" and told["origin"] == parse_key(*self.keys)[0]
        demand(right and told["first"] <= told["end"] <= told["size"] <= self.size, "its members do not fit")
        demand({path for path in told["files"] if path[:11] != "keys/until-"} == NAMED, "names other files")
        self.states.append(("export.json", told["size"], bytes.fromhex(told["root"]), OTHER))
    def proven(self, path: str, kind: str) -> dict[str, Any]:
        """The entry of this type that a C2SP tlog-proof proves under log/checkpoint. BROKEN."""
        text = self.read(path).decode()
        _, extra, index, *rest = text.partition("\n\n")[0].split("\n")
        data, n, proof = b64decode(extra[6:]), int(index[6:22]), [b64decode(line) for line in rest]
        lines = [f"extra {b64encode(data).decode()}", f"index {n}", *(b64encode(each).decode() for each in proof)]
        right = text == "\n".join(["c2sp.org/tlog-proof@v1", *lines, "", self.note.decode()]) and 0 <= n < self.size
        demand(right and root_from(n, self.size, sha256(b"\0" + data), proof) == self.root, f"does not prove entry {n}")
        entry = parse(data, n, **ENTRY)
        demand(entry["type"] == kind and "handed" not in entry, f"entry {n} is not said by the log itself as {kind}")
        return entry
    def handed_over(self, path: str) -> None:
        """Adds the key from which the last of `keys` took over, in an entry in which both signed that. BROKEN."""
        entry, key = self.proven(path, "key.rotated"), [*self.keys][-1]
        n, old, note = entry["n"], entry["old_key"], entry["note"].encode()
        more, both = f"\nold-key {old}\nnew-key {key}", (old, key) if note.count(b"\n") == 9 else ()  # they alone
        *_, (_, size, root, _) = [open_checkpoint(note, [each], False, more) for each in both]
        right = size == n and path == f"keys/rotated-{n:012d}.proof" and old not in self.keys
        demand(right and self.read(f"keys/until-{n:012d}.pub").decode() == old + "\n", f"not the handover to {key}")
        self.keys[old] = n
        self.states.append((path, size, root, OTHER))
    def trust(self) -> None:
        for path in sorted((path for path in self.paths if path[:13] == "keys/rotated-"), reverse=True):
            self.attempt(path, self.handed_over, path)
        demand(self.wrong or self.trusted in [None, *self.keys], f"not {self.trusted}, nor did that hand over to it")
    def kept(self) -> None:
        key, size, root, length = open_checkpoint(self.against or b"", self.keys, False)
        self.states.append(("log/checkpoint", size, root, OTHER))
        self.expect("log/checkpoint", size <= self.keys[key] and (size < self.size or length == self.length), OTHER)
    def record(self) -> None:
        entry, told = self.proven("export.proof", "exported"), {**self.told, "sha256": self.digests["export.json"]}
        found = [entry.get(name) for name in ("from", "before", "first", "end", "n", "export_sha256")]
        right = found == [told[name] for name in ("from", "before", "first", "end", "size", "sha256")]
        self.expect("export.json", right, f"not the one of which entry {entry['n']} of the log tells")
    def tile(self, level: int, start: int, count: int) -> tuple[str, list[bytes]]:
        data, width = self.read(path := tile_path(level, start, count - start)), min(WIDTH, count - start)
        self.expect(path, len(data) == 32 * width, f"not {width} hashes of 32 bytes")
        return path, [data[i : i + 32].ljust(32, b"\0") for i in range(0, 32 * width, 32)]
    def history(self) -> None:
        count, level, below, known = self.size, 0, [b""], {(0, 0): sha256(b"")}
        while count:
            roots: list[bytes] = []
            for start in range(0, count, WIDTH):
                path, hashes = self.tile(level, start, count)
                self.expect(path, level == 0 or hashes == below[start : start + len(hashes)], "not of the tiles below")
                for size in {*range(start + 1, start + 1 + len(hashes))} & {state[1] for state in self.states}:
                    known[level, size] = root_of([*roots, root_of(hashes[: size - start])])
                roots.append(root_of(hashes))
            count, level, below = count // WIDTH, level + 1, roots
        for path, size, root, message in self.states:
            self.expect(path, known.get((0, size)) == root, message)
    def records(self) -> None:
        """All entries in the bundles of the range and its neighbours: as signed, and those outside not of its times."""
        digest, told, first, end = hashlib.sha256(), self.told, self.told["first"], self.told["end"]
        bundles = encode([max(first - 1, 0) // WIDTH * WIDTH, min(end + 1, told["size"])])
        self.expect("export.json", encode(told["bundles"]) == bundles, f"its bundles are not {bundles}")
        size = told["size"] if "export.proof" in self.paths else self.size  # of so many entries none is left out
        for start in range(max(first - 1, 0) // WIDTH * WIDTH, min(end + 1, size), WIDTH):
            tile, hashes = self.tile(0, start, self.size)
            data, at = self.read(path := tile.replace("tile/0", "tile/entries")), 0
            for n, hash_ in enumerate(hashes, start):
                begin, at = at + 2, at + 2 + int.from_bytes(data[at : at + 2], "big")
                entry, inside = data[begin:at], first <= n < end
                self.expect(path, sha256(b"\0" + entry) == hash_, f"entry {n} has not its hash in {tile}: one is wrong")
                time = (self.attempt(path, parse, entry, n, **ENTRY) or {"time": ""})["time"]
                fits = inside or n >= size or (time < told["from"] if n < first else time >= told["before"])
                self.expect("records.jsonl", fits, f"entry {n} is of the range too, and was left out, or times fall")
                digest.update(entry + b"\n" if inside else b"")
            self.expect(path, at == len(data), "not a bundle of entries")
        right = sha256(self.read("records.jsonl")) == digest.digest()
        self.expect("records.jsonl", right, f"not the entries {first} to {end - 1} of the log")
    def files(self) -> None:
        for path in [] if "export.json" in self.wrong else self.told["files"]:
            self.expect(path, sha256(self.read(path)).hex() == self.told["files"][path], "not what was exported")
            self.read(re.sub(r"keys/until-(\d+)\.pub", r"keys/rotated-\1.proof", path))  # has to be there
        for path in self.paths - {*self.digests, *self.told["files"], "SHA256SUMS"}:
            self.expect(path, False, "no part of the export")
    def sums(self) -> None:
        for path in self.paths - {*self.digests, "SHA256SUMS"}:
            self.read(path)
        sums = "".join(f"{digest}  {path}\n" for path, digest in sorted(self.digests.items()))
        listed = self.read("SHA256SUMS").decode("utf-8", "surrogateescape")
        odd = {line[66:] for line in {*listed.split("\n")} ^ {*sums.split("\n")}}
        for path in odd & {*self.digests} if self.wrong and listed else ():
            self.expect(path, False, "not the file that was exported, says SHA256SUMS")
        self.expect("SHA256SUMS", listed == sums or self.wrong, f"does not fit {sorted(odd)[:9]}")
def say(text: str) -> None:  # all output: of plain characters alone, which no terminal obeys or hides
    print(ascii(text)[1:-1])
def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("--key")
    parser.add_argument("--against", type=lambda path: Path(path).read_bytes())
    try:
        options = parser.parse_args(arguments)
        key, kept = options.key, options.against
        key = Path(key).read_text("utf-8").strip() if key and "+" not in key else key
        demand((key is None or parse_key(key)) and (kept is None or CHECKPOINT.match(kept)), "")
        export = Export(options.folder, key, kept)
        code = export.verdict()
    except OSError as error:
        parser.error(ascii(f"not checked: {error.filename} cannot be read: {error.strerror}")[1:-1])
    except ValueError:
        parser.error("--key takes a public key (ORIGIN+HASH+BASE64) or a file with it, --against a kept checkpoint")
    for path, message in sorted(export.wrong.items()):
        say(f"WRONG    {path}: {message}")
    if code != 1:
        say(f"log      '{export.told['origin']}', {export.size} entries, root {export.root.hex()}")
        say("records  {first} to before {end}, {from} to {before}, none left out".format(**export.told))
        say(f"key      {key or 'not given; compare ' + next(iter(export.keys))}")
    say(("WHOLE", "THIS EXPORT CANNOT BE TRUSTED", "", "LOG AND RECORDS ARE WHOLE, the other files unsigned")[code])
    return code
if __name__ == "__main__":
    raise SystemExit(main())
