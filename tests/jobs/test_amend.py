"""Values of a YAML file are replaced; every other byte stays, or nothing is written at all."""

import pytest

from jobs.config.amend import amend
from jobs.config.source import parse_source
from jobs.errors import ConfigError

VALUES = {"key": "keys/log-2.key", "public_key": 'ä "quoted" # no comment'}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "# a\nlog:\n  key: keys/log.key   # the key\n  public_key: 'it''s'\n  origin: x\n# z\nlimits: {}\n",
            '# a\nlog:\n  key: "keys/log-2.key"   # the key\n  public_key: "ä \\"quoted\\" # no comment"\n  origin: x\n'
            "# z\nlimits: {}\n",
        ),
        (
            'limits: {}\nlog: {origin: x, key: "k\\u0041", public_key: old} # c\n',
            'limits: {}\nlog: {origin: x, key: "keys/log-2.key", public_key: "ä \\"quoted\\" # no comment"} # c\n',
        ),
        (
            "log:\r\n    origin: x\r\n    key: a:b\r\n    public_key: o+1+A= \r\n",
            'log:\r\n    origin: x\r\n    key: "keys/log-2.key"\r\n    public_key: "ä \\"quoted\\" # no comment" \r\n',
        ),
        ("log:\n  public_key: a\n", 'log:\n  key: "keys/log-2.key"\n  public_key: "ä \\"quoted\\" # no comment"\n'),
        ("log: {public_key: a}", 'log: {key: "keys/log-2.key", public_key: "ä \\"quoted\\" # no comment"}'),
    ],
)
def test_only_the_values_change(before: str, after: str) -> None:
    assert amend(before.encode(), "f", "log", VALUES).decode() == after
    assert amend(after.encode(), "f", "log", VALUES).decode() == after
    marked = b"\xef\xbb\xbf" + before.encode()
    assert amend(marked, "f", "log", VALUES) == b"\xef\xbb\xbf" + after.encode()
    said = parse_source(before.encode(), "f").value
    said["log"] |= VALUES
    assert parse_source(after.encode(), "f").value == said


@pytest.mark.parametrize(
    "text",
    [
        "log:\n  key: |\n    keys/log.key\n  public_key: a\n",
        "log:\n  key: keys/\n    log.key\n  public_key: a\n",
        'log:\n  key: "keys/\n    log.key"\n  public_key: a\n',
        "log:\n  key: !!str k\n  public_key: a\n",
        "log: [\n",
    ],
)
def test_what_cannot_be_changed_without_a_doubt_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        amend(text.encode(), "site.yaml", "log", VALUES)
    assert "site.yaml" in str(raised.value)


HEAD = {"name": "h2", "sha256": "b"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("job: j\nmodel: headless  # ours\n", 'job: j\nmodel: {name: "m2", sha256: "a"}  # ours\n'),
        ('model: "m"\n', 'model: {name: "m2", sha256: "a"}\n'),
        (
            "model: {name: m, sha256: b, head: h}\n",
            'model: {name: "m2", sha256: "a", head: {name: "h2", sha256: "b"}}\n',
        ),
        (
            "model:\n  name: m\n  sha256: b\n  head: h # it\n",
            'model:\n  name: "m2"\n  sha256: "a"\n  head: {name: "h2", sha256: "b"} # it\n',
        ),
    ],
)
def test_a_name_that_stands_for_a_mapping(before: str, after: str) -> None:
    head = HEAD if "head:" in before else None
    values = {"name": "m2", "sha256": "a", "head": head}
    assert amend(before.encode(), "f", "model", values).decode() == after


@pytest.mark.parametrize(
    ("before", "head", "after"),
    [
        (
            "model: {name: tiny, head: {name: h, sha256: z}}  # c\ntask: {}\n",
            None,
            'model: {name: "old"}  # c\ntask: {}\n',
        ),
        ("model: {head: {name: h}, name: tiny}\n", None, 'model: {name: "old"}\n'),
        ("model: {name: tiny}\n", HEAD, 'model: {head: {name: "h2", sha256: "b"}, name: "old"}\n'),
        (
            "model:\n  # mine\n  name: tiny   # n\n  head:\n    # of May\n    name: h\n  kv: int8 # p\n# end\n",
            None,
            'model:\n  # mine\n  name: "old"   # n\n  kv: int8 # p\n# end\n',
        ),
        (
            "model:\n  name: tiny\n  head:\n    # of May\n    name: h # n\ntask: {}\n",
            HEAD,
            'model:\n  name: "old"\n  head:\n    # of May\n    sha256: "b"\n    name: "h2" # n\ntask: {}\n',
        ),
        ("model:\n  head: {name: '}'}\n  name: tiny\n", None, 'model:\n  name: "old"\n'),
        ('model: {head: {name: "},"} , name: tiny}\n', None, 'model: {name: "old"}\n'),
    ],
)
def test_a_mapping_comes_changes_or_goes(before: str, head: dict[str, str] | None, after: str) -> None:
    assert amend(before.encode(), "f", "model", {"name": "old", "head": head}).decode() == after


def test_what_cannot_go_without_a_doubt_stays_and_is_told_whole() -> None:
    with pytest.raises(ConfigError) as raised:
        amend(b"model: {head: {\n name: h}, name: tiny}\n", "f", "model", {"name": "old", "head": None})
    assert 'write into model: name: "old"; remove head' in str(raised.value)
