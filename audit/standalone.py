#!/usr/bin/env python3
"""Checks a folder that `cloister audit export` made: with Python 3.8 or newer, and nothing else.

    python3 verify.py [--key KEY] [--against CHECKPOINT] [FOLDER]

KEY is the log's public key, or a file with it, that came to you in another way than the folder; without it the one in
the folder is taken, and shown. CHECKPOINT is one that was kept: the folder has to hold the same history, gone on. Exit
code 0: whole. 1: something is wrong, and named. 2: not checked: KEY or CHECKPOINT is none, or a file cannot be read.
3: log and records are whole, but the log has no record of this export (export.proof): nobody signed export.json.
"""

# fmt: off
from __future__ import annotations

import argparse
import hashlib
import json
import re
from base64 import b64decode, b64encode
from decimal import Decimal
from pathlib import Path
from typing import Any

P = 2**255 - 19  # Ed25519, RFC 8032: the field, the order of the base point, the curve's d
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
WIDTH = 256  # hashes in a tile
BROKEN = (ValueError, LookupError, TypeError, AttributeError, RecursionError)  # what malformed input leads to
CHECKPOINT = re.compile(rb"[^\n]+\n\d+\n[+/\w]{43}=\n([^\n]+\n)*\n\xe2\x80\x94 ")
class WrongError(ValueError): ...  # the same, told in words of ours

def decode_point(data: bytes) -> tuple[int, ...]:
    sign, y = int.from_bytes(data, "little") >> 255, int.from_bytes(data, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    if len(data) != 32 or y >= P or x * x % P != square or (x == 0 and sign):
        raise WrongError("not a point of the curve")
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P  # X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z

def add(p: tuple[int, ...], q: tuple[int, ...]) -> tuple[int, ...]:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P

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
    if len(data) != 33 or data[0] != 1 or text != f"{origin}+{key_id.hex()}+{b64encode(data).decode()}":
        raise WrongError("not a public key (ORIGIN+HASH+BASE64)")
    return origin, key_id, data[1:]

def open_checkpoint(note: bytes, key: str, cosigned: bool = False) -> tuple[int, bytes]:
    """Size and root; ValueError unless `key` signed this C2SP checkpoint, and nobody else if not `cosigned`."""
    origin, key_id, raw = parse_key(key)
    text, _, rest = note.decode().rpartition("\n\n")
    for line in rest.split("\n")[:-1] if cosigned else [rest[:-1]]:
        signature = b64decode(line.rpartition(" ")[2])
        ours = line == f"\u2014 {origin} {b64encode(signature).decode()}" and signature[:4] == key_id
        if ours and note[-1:] == b"\n" and is_signed(raw, signature[4:], text.encode() + b"\n"):
            name, size, root, *_ = text.split("\n")
            if name == origin and str(int(size)) == size:
                return int(size), b64decode(root)
    raise WrongError(f"not a checkpoint that is signed by {key}")

def root_of(hashes: list[bytes]) -> bytes:
    """RFC 6962, 2.1, over subtrees of one size, of which only the last may be smaller."""
    while len(hashes) > 1:
        pairs = range(0, len(hashes) - 1, 2)
        hashes = [sha256(b"\1" + hashes[i] + hashes[i + 1]) for i in pairs] + hashes[len(hashes) & ~1 :]
    return hashes[0] if hashes else sha256(b"")

def root_from(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bytes:
    """The root that an inclusion proof gives (RFC 6962, 2.1.1). BROKEN if it has not the right length."""
    if size == 1 and not proof:
        return leaf
    split = 1 << ((size - 1).bit_length() - 1)
    if index < split:
        return sha256(b"\1" + root_from(index, split, leaf, proof[:-1]) + proof[-1])
    return sha256(b"\1" + proof[-1] + root_from(index - split, size - split, leaf, proof[:-1]))

def write_number(value: float) -> str:
    """RFC 8785, 3.2.2.3: as ECMAScript does."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)  # the value is 0.DIGITS * 10**point
    if 0 < point <= 21:
        text = text.ljust(point, "0")[:point] + "." * (len(text) > point) + text[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + text
    else:
        text = text[0] + "." * (len(text) > 1) + text[1:] + f"e{point - 1:+d}"
    return "-" * sign + text

def read_number(text: str) -> float:
    if text.lstrip("-").isdigit() and abs(int(text)) < 2**53:
        return int(text)
    if write_number(float(text)) != text:
        raise WrongError(f"{text} is not in the one form of a number")
    return float(text)

encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
decode = json.JSONDecoder(parse_float=read_number, parse_int=read_number, parse_constant=read_number).decode

def parse(data: bytes, n: int | None = None) -> dict[str, Any]:
    """The object of which these are the canonical bytes (RFC 8785), and which is entry n if that is given. BROKEN."""
    text = data.decode()
    if any(lead in data for lead in range(0xF0, 0xF5)):  # as UTF-16 has it, since names are sorted by its units
        text = "".join(map(chr, memoryview(text.encode("utf-16")).cast("H")[1:]))
    value: dict[str, Any] = decode(text)
    if encode(value) != text:  # `encode` writes some numbers otherwise, but they were looked at already
        text = re.sub(r'"(?:[^"\\]|\\.)*"|[-0-9][-+.0-9eE]*', lambda token: token[0] if '"' in token[0] else "0", text)
        if encode(decode(text)) != text:
            raise WrongError("not canonical JSON")
    if value["v"] != 1 or value.get("n") != n:
        raise WrongError(f"found version {value['v']} and number {value.get('n')}, expected 1 and {n}")
    return value

def tile_path(level: object, start: int, width: int) -> str:
    *groups, last = [digits.zfill(3) for digits in f"{start // WIDTH:,}".split(",")]
    return f"log/tile/{level}/{''.join(f'x{g}/' for g in groups)}{last}" + (f".p/{width}" if width < WIDTH else "")

class Export:
    """`wrong` has what is wrong, by file; `wanted` are states (file, size, root) which the log has to go on from."""
    def __init__(self, folder: Path) -> None:
        self.folder, self.size, self.root, self.note = folder, 0, b"", b""
        self.wrong: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self.wanted: list[tuple[str, int, bytes]] = []
        self.files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()}
    def bad(self, path: str, message: object) -> None:
        self.wrong.setdefault(path, str(message))
    def attempt(self, path: str, check: Any, *arguments: Any) -> Any:
        try:
            return check(*arguments)
        except BROKEN as error:
            return self.bad(path, error if isinstance(error, WrongError) else "not in the form that it has to have")
    def read(self, path: str) -> bytes:
        file, data = self.folder / path, b""
        if path in self.files and file.is_file() and not file.is_symlink():
            data = file.read_bytes()
        else:
            self.bad(path, "missing, or not a regular file")
        self.digests[path] = sha256(data).hex()
        return data
    def proven(self, path: str) -> dict[str, Any]:
        """The entry that this C2SP tlog-proof proves under log/checkpoint. BROKEN."""
        head, _, note = self.read(path).partition(b"\n\n")
        _, extra, index, *rest = head.decode().split("\n")
        data, n, proof = b64decode(extra[6:]), int(index[6:]), [b64decode(line) for line in rest]
        lines = [f"extra {b64encode(data).decode()}", f"index {n}", *(b64encode(each).decode() for each in proof)]
        proved = root_from(n, self.size, sha256(b"\0" + data), proof) == self.root and note == self.note
        if not proved or head.decode() != "\n".join(["c2sp.org/tlog-proof@v1", *lines]):
            raise WrongError(f"does not prove entry {n} under log/checkpoint, in the one form of a proof")
        return parse(data, n)
    def handed_over(self, path: str, key: str) -> str:
        """The key from which `key` took over, in an entry in which the former signed that. BROKEN."""
        entry = self.proven(path)
        old, note = entry["old_key"], entry["note"]
        before = open_checkpoint(note.encode(), old, True)
        if f"\nold-key {old}\nnew-key {key}\n\n" not in note or before[0] != entry["n"]:
            raise WrongError(f"not the handover to {key}")
        self.wanted.append((path, *before))
        return str(old)
    def hashes(self, path: str, count: int) -> list[bytes]:
        data = self.read(path) if count else b""
        if len(data) != 32 * count:
            self.bad(path, f"{len(data)} bytes, expected {32 * count}")
        return [data[i : i + 32].ljust(32, b"\0") for i in range(0, 32 * count, 32)]
    def bundle(self, path: str, count: int) -> list[bytes]:
        data, entries, at = self.read(path), [], 0
        while at < len(data):
            length = int.from_bytes(data[at : at + 2], "big")
            entries.append(data[at + 2 : at + 2 + length])
            at += 2 + length
        if at != len(data) or len(entries) != count:
            self.bad(path, f"not a bundle of {count} entries")
        return entries[:count] if at == len(data) else []
    def check_log(self, about: dict[str, Any]) -> bool:
        """Hashes against the signed root, entries against the hashes, records against the entries."""
        roots: list[bytes] = []
        records = hashlib.sha256()
        wanted = [*self.wanted, ("export.json", about["size"], bytes.fromhex(about["root"]))]
        for start in range(0, self.size or 1, WIDTH):  # an empty log is held against what was kept too
            width = min(WIDTH, self.size - start)
            tile, path = tile_path(0, start, width), tile_path("entries", start, width)
            leaves, needed = self.hashes(tile, width), about["bundles"][0] <= start < about["bundles"][1]
            for n, data in enumerate(self.bundle(path, width) if needed or path in self.files else [], start):
                time = (self.attempt(path, parse, data, n) or {}).get("time", "")
                if sha256(b"\0" + data) != leaves[n - start]:
                    self.bad(path, f"entry {n} has not its hash in {tile}: one of them is wrong")
                if about["first"] <= n < about["end"]:
                    records.update(data + b"\n")
                elif n < about["size"] and about["from"] <= time < about["before"]:
                    self.bad("records.jsonl", f"entry {n} is of the range too, and was left out")
            for path, size, root in wanted:
                here = start < size <= start + width or start + width == self.size < size
                if here and root_of([*roots, root_of(leaves[: size - start])]) != root:
                    self.bad(path, f"not of this log, which has other, or not as many, entries than its {size}")
            roots.append(root_of(leaves))
        if root_of(roots) != self.root:
            self.bad("log/checkpoint", "signs another root than log/tile/0 gives: one of them is wrong")
        level, count = 1, self.size // WIDTH
        while count:
            for start in range(0, count, WIDTH):
                part = roots[start : min(start + WIDTH, count)]
                found = self.hashes(path := tile_path(level, start, len(part)), len(part))
                for i in [i for i, hash_ in enumerate(part) if hash_ != found[i]]:
                    self.bad(path, f"hash {i}: not of {tile_path(level - 1, (start + i) * WIDTH, WIDTH)}: one is wrong")
            roots = [root_of(roots[i : i + WIDTH]) for i in range(0, count, WIDTH)]
            level, count = level + 1, count // WIDTH
        if sha256(self.read("records.jsonl")) != records.digest():
            self.bad("records.jsonl", f"not the entries {about['first']} to {about['end'] - 1} of the log")
        return True
    def check(self, trusted: str, against: bytes) -> dict[str, Any]:
        """Everything; what export.json says. Without a signed checkpoint nothing else can be judged but SHA256SUMS."""
        self.note, key = self.read("log/checkpoint"), self.read("keys/log.pub").decode("latin-1")[:-1]
        if self.attempt("keys/log.pub", parse_key, key):
            self.size, self.root = self.attempt("log/checkpoint", open_checkpoint, self.note, key) or (0, b"")
        about = self.attempt("export.json", parse, self.read("export.json")[:-1]) or {}
        if self.root:
            self.check_signed(about, [key], trusted, against)
        told = about.get("files", {}) if "export.json" not in self.wrong else {}
        for path in {*self.files, *told} - {*self.digests, "SHA256SUMS"}:
            self.read(path)
        for path in [path for path, digest in told.items() if self.digests.get(path) != digest]:
            self.bad(path, "not the file that was exported")
        sums = "".join(f"{digest}  {path}\n" for path, digest in sorted(self.digests.items()))
        listed = self.read("SHA256SUMS").decode("latin-1")
        odd = sorted({line[66:] for line in {*listed.splitlines()} ^ {*sums.splitlines()}})
        for path in odd if self.wrong and listed else []:
            self.bad(path, "not the file that was exported, says SHA256SUMS")
        if listed != sums and not self.wrong:
            self.bad("SHA256SUMS", f"does not fit {odd}")
        return about
    def check_signed(self, about: dict[str, Any], keys: list[str], trusted: str, against: bytes) -> None:
        for path in sorted((path for path in self.files if path.startswith("keys/rotated-")), reverse=True):
            keys.append(self.attempt(path, self.handed_over, path, keys[-1]) or "")
        if trusted and trusted not in keys and "" not in keys:
            self.bad("keys/log.pub", f"not {trusted}, nor has that key handed over to it")
        kept = [self.attempt("", open_checkpoint, against, key, True) for key in keys] if against else []
        self.wanted += [("log/checkpoint", *state) for state in kept if state]
        if self.wrong.pop("", None) and not any(kept):
            self.bad("log/checkpoint", "the kept checkpoint is of another log: none of the keys here signed it")
        record = self.attempt("export.proof", self.proven, "export.proof") if "export.proof" in self.files else {}
        if record and record.get("export_sha256") != self.digests["export.json"]:
            self.bad("export.json", f"not the one of which entry {record['n']} of the log tells")
        checked = self.attempt("export.json", self.check_log, about)
        for path in self.files - {*self.digests, *about.get("files", {}), "SHA256SUMS"} if checked else ():
            self.bad(path, "no part of the export")

def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("--key", default="")
    parser.add_argument("--against", type=lambda path: Path(path).read_bytes(), default=b"")
    try:
        options = parser.parse_args(arguments)
        key = Path(options.key).read_text().strip() if options.key and "+" not in options.key else options.key
        if (key and not parse_key(key)) or (options.against and not CHECKPOINT.match(options.against)):
            raise WrongError
        next(options.folder.iterdir(), None)  # which says so where there is none
        export = Export(options.folder)
        about = export.attempt("export.json", export.check, key, options.against) or {}
    except OSError as error:
        parser.error(f"not checked: {error.filename} cannot be read: {error.strerror}")
    except ValueError:
        parser.error("--key takes a public key (ORIGIN+HASH+BASE64) or a file with it, --against a kept checkpoint")
    for path, message in sorted(export.wrong.items()):
        print(f"WRONG    {ascii(path)[1:-1]}: {ascii(message)[1:-1]}")
    if not export.wrong:
        print(f"log      {about.get('origin')!a}, {export.size} entries, root {export.root.hex()}")
        print("records  {first} to before {end}, {from} to {before}, none left out".format(**about))
        print(f"key      {key or 'not given; compare ' + export.read('keys/log.pub').decode().strip()}")
    code = 1 if export.wrong else 0 if "export.proof" in export.files else 3
    print(("WHOLE", "THIS EXPORT CANNOT BE TRUSTED", "", "LOG AND RECORDS ARE WHOLE, the other files unsigned")[code])
    return code

if __name__ == "__main__":
    raise SystemExit(main())
