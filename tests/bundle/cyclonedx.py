"""What CycloneDX 1.6 demands of a parts list, written down from the specification for what our lists use.

https://cyclonedx.org/docs/1.6/json/: members and their types, which of them must be there, enumerations and patterns,
and beyond the schema: references are unique, and lead to something.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Check = Callable[[Any, str], Iterator[str]]

# identifiers of SPDX that the lists of these tests and of the real bundle use
SPDX = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-0", "MIT-CMU",
    "PSF-2.0", "Zlib",
}  # fmt: skip
COMPONENTS = {
    "application", "framework", "library", "container", "platform", "operating-system", "device", "device-driver",
    "firmware", "file", "machine-learning-model", "data", "cryptographic-asset",
}  # fmt: skip
DIGITS = {"MD5": 32, "SHA-1": 40, "SHA-256": 64, "SHA-384": 96, "SHA-512": 128}
SERIAL = "urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
PURL = r"pkg:[a-z][a-z0-9.+-]*/[^@?#\s]+@[^@?#\s]+(\?[a-z0-9_]+=[^&\s]+)?"
EXPRESSION = r"[A-Za-z0-9.-]+( (AND|OR|WITH) [A-Za-z0-9.-]+)+"


def mistakes(document: Any) -> list[str]:
    """What is wrong with a list; nothing if it is right."""
    found = list(bom(document, "$"))
    return found or list(references(document))


def text(pattern: str = ".*") -> Check:
    """A string of this form."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.S):
            yield f"{at}: {value!r} is not of the form {pattern}"

    return check


def one_of(values: set[str]) -> Check:
    """A string of an enumeration."""

    def check(value: Any, at: str) -> Iterator[str]:
        if value not in values:
            yield f"{at}: {value!r} is none of {sorted(values)}"

    return check


def array(item: Check) -> Check:
    """An array of distinct items."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{at}: no array"
            return
        if len({repr(one) for one in value}) != len(value):
            yield f"{at}: an item is there twice"
        for number, one in enumerate(value):
            yield from item(one, f"{at}[{number}]")

    return check


def members(required: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    """An object without other members."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at}: no object"
            return
        yield from (f"{at}: has no {name}" for name in required.keys() - value.keys())
        yield from (f"{at}: may not have {name}" for name in value.keys() - required.keys() - optional.keys())
        for name, rule in {**required, **optional}.items():
            if name in value:
                yield from rule(value[name], f"{at}.{name}")

    return check


def hashed(value: Any, at: str) -> Iterator[str]:
    """A digest has as many digits as its algorithm says."""
    yield from members({"alg": one_of(set(DIGITS)), "content": text("[a-fA-F0-9]+")}, {})(value, at)
    if isinstance(value, dict) and len(str(value.get("content"))) != DIGITS.get(str(value.get("alg"))):
        yield f"{at}: has not the length of its algorithm"


def licences(value: Any, at: str) -> Iterator[str]:
    """Either some licences, each by SPDX identifier or by name, or exactly one expression."""
    if isinstance(value, list) and len(value) == 1 and "expression" in value[0]:
        yield from members({"expression": text(EXPRESSION)}, {})(value[0], f"{at}[0]")
        return
    yield from array(members({"license": licence}, {}))(value, at)


def licence(value: Any, at: str) -> Iterator[str]:
    """A licence has an identifier or a name, and not both."""
    yield from members({}, {"id": one_of(SPDX), "name": text(".+")})(value, at)
    if not isinstance(value, dict) or len(value.keys() & {"id", "name"}) != 1:
        yield f"{at}: has to have id or name"


PROPERTIES = array(members({"name": text(".+")}, {"value": text()}))
MODEL_CARD = members({}, {"modelParameters": members({}, {"modelArchitecture": text()}), "properties": PROPERTIES})
TOOL = members({"type": one_of(COMPONENTS), "name": text(".+")}, {"version": text()})
COMPONENT = members(
    {"type": one_of(COMPONENTS), "name": text(".+")},
    {
        "bom-ref": text(".+"),
        "version": text(),
        "description": text(),
        "purl": text(PURL),
        "hashes": array(hashed),
        "licenses": licences,
        "modelCard": MODEL_CARD,
        "properties": PROPERTIES,
    },
)


def component(value: Any, at: str) -> Iterator[str]:
    """A component; only a model has a card."""
    yield from COMPONENT(value, at)
    if isinstance(value, dict) and "modelCard" in value and value.get("type") != "machine-learning-model":
        yield f"{at}: is no model, and has its card"


bom = members(
    {"bomFormat": text("CycloneDX"), "specVersion": text(r"1\.6")},
    {
        "serialNumber": text(SERIAL),
        "version": lambda value, at: iter([] if type(value) is int and value >= 1 else [f"{at}: no version"]),
        "metadata": members(
            {}, {"component": component, "tools": members({}, {"components": array(TOOL)})}
        ),
        "components": array(component),
        "dependencies": array(members({"ref": text(".+")}, {"dependsOn": array(text(".+"))})),
    },
)  # fmt: skip


def references(document: Any) -> Iterator[str]:
    """References are unique; every dependency leads to a component, and every component stands among them."""
    known = [one["bom-ref"] for one in [document["metadata"]["component"], *document["components"]]]
    yield from (f"{ref} is there twice" for ref in {ref for ref in known if known.count(ref) > 1})
    told = [one["ref"] for one in document["dependencies"]]
    yield from (f"{ref} says twice what it needs" for ref in {ref for ref in told if told.count(ref) > 1})
    yield from (f"{ref} is not there" for ref in {*told} - {*known})
    yield from (f"{ref} does not say what it needs" for ref in {*known} - {*told})
    for one in document["dependencies"]:
        yield from (f"{one['ref']} needs {ref}, which is not there" for ref in {*one.get("dependsOn", [])} - {*known})
