"""A failure by a limit names the key of site.yaml that is to be raised, with its value."""

import gzip
import re
from dataclasses import fields

import pytest

from jobs.config.job import section_at
from jobs.config.site import LimitsConfig, SiteConfig
from pipeline.errors import DocumentError, Failure
from pipeline.parse import Limits
from pipeline.parse.unpack.streams import GZIPPED, Concatenated

_OUR_OWN = {"documents_per_child"}


def test_every_limit_has_its_key() -> None:
    assert section_at(SiteConfig, ("limits",)) is LimitsConfig
    for each in fields(Limits):
        if each.name not in _OUR_OWN:
            key = re.fullmatch(r"limits\.(\w+) \([\d.,]+( s| MiB)?\)", Limits().named(each.name))
            assert key, each.name
            assert key[1] in LimitsConfig.model_fields


@pytest.mark.parametrize(
    ("limits", "shown"),
    [
        (Limits(), "limits.parse_seconds (60 s)"),
        (Limits(seconds=0.5), "limits.parse_seconds (0.5 s)"),
        (Limits(seconds=86400.0), "limits.parse_seconds (86,400 s)"),
    ],
)
def test_values_are_those_of_the_file(limits: Limits, shown: str) -> None:
    assert limits.named("seconds") == shown
    assert Limits(output_characters=10**9).named("output_characters") == "limits.text_characters (1,000,000,000)"


def test_a_stream_that_unpacks_to_more() -> None:
    stream = Concatenated(GZIPPED, b"\x1f\x8b", gzip.compress(bytes(2**21)), 2**20)
    with pytest.raises(DocumentError) as raised:
        list(stream.pieces())
    assert raised.value.failure is Failure.BOMB
    assert raised.value.reason == "it unpacks to more than 1,048,576 bytes, which limits.unpacked_mib allows"
