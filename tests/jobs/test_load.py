"""Each mistake in a job file: the exact line and column, what was found, what was expected, the remedy."""

import os
from pathlib import Path

import pytest

import pipeline
from jobs.config import load
from jobs.config.job import JobConfig
from jobs.config.load import load_job, load_site, shown
from jobs.config.source import parse_source
from jobs.errors import ConfigError, Problem
from pipeline.text.values import VALUES

GOOD = """\
job: contract-triage
input:
  folder: inbox/contracts
  include: ["*.pdf", "*.txt"]
schedule: {cron: "0 22 * * 1-5", timezone: Europe/Berlin}
model: {name: minilm, sha256: "0123456789012345678901234567890123456789012345678901234567890123"}
task:
  type: classify
  labels:
    - {name: nda, description: "a non-disclosure agreement"}
    - {name: lease, description: "a rental agreement"}
output: {formats: [parquet, markdown]}
"""
EXTRACT = "job: j\nmodel: {name: m}\ntask:\n  type: extract\n  fields:\n"
SUMMARY = "job: j\nmodel: {name: m}\ntask: {type: summarize, sentences: 5}\n"

_TOP = "one of after, input, job, model, notify, output, priority, private, quality, retention, schedule, task, versions, window"

# ruff: noqa: E501 - each row is a table row
# (what is changed in GOOD, or a whole file), then for each problem: line, column, found, expected, remedy
MISTAKES: list[tuple[str, tuple[str, str] | str, list[tuple[int, int, str, str, str | None]]]] = [
    ("unknown key", ("include:", "inlcude:"),
     [(4, 3, "unknown key 'inlcude' in input", "one of afterwards, duplicates, folder, hidden, include, mounted, ocr, priority, settle_seconds", "did you mean 'include'?")]),
    ("unknown key at the top", ("output:", "ouput:"),
     [(12, 1, "unknown key 'ouput'", "one of after, input, job, model, notify, output, priority, private, quality, retention, schedule, task, versions, window", "did you mean 'output'?")]),
    ("unknown key in the task", ("  type: classify", "  type: classify\n  classify: 3"),
     [(9, 3, "unknown key 'classify' in task", "one of accept, calibrate, labels, max_tokens, threshold, type", None)]),
    ("unknown key in a label", ("lease, description:", "lease, descripton:"),
     [(11, 21, "unknown key 'descripton' in task labels 2", "one of accept, description, examples, name", "did you mean 'description'?")]),
    ("a late that is neither word nor mapping", ("timezone: Europe/Berlin", "timezone: Europe/Berlin, late: never"),
     [(5, 65, "late: never", 'run, skip, or {before: "02:00"}', None)]),
    ("unknown key in a late", ("timezone: Europe/Berlin", "timezone: Europe/Berlin, late: {befor: '02:00'}"),
     [(5, 59, "no key 'before' in schedule late", "the key 'before'", None),
      (5, 66, "unknown key 'befor' in schedule late", "before", "did you mean 'before'?")]),
    ("a late before no time", ("timezone: Europe/Berlin", "timezone: Europe/Berlin, late: {before: '2:00'}"),
     [(5, 74, "the time of day '2:00'", 'hours and minutes from "00:00" to "23:59", such as "06:00"', None)]),
    ("a day that does not exist", ("timezone: Europe/Berlin", "timezone: Europe/Berlin, skip_dates: ['02-30']"),
     [(5, 72, "the date '02-30'", 'a day that exists, such as "2026-12-24", or "12-25" for every year', None)]),
    ("a day in another form", ("timezone: Europe/Berlin", "timezone: Europe/Berlin, skip_dates: ['20261224']"),
     [(5, 72, "the date '20261224'", 'a day that exists, such as "2026-12-24", or "12-25" for every year', None)]),
    ("a late that excludes every start", ("timezone: Europe/Berlin", "timezone: Europe/Berlin, late: {before: '22:00'}"),
     [(5, 74, "late before 22:00 for a job that only starts at 22:00: it excludes every start", "a time that is later than a start", None)]),
    ("a window is no key of the schedule", ("timezone: Europe/Berlin", "timezone: Europe/Berlin, window: {until: '06:00'}"),
     [(5, 59, "unknown key 'window' in schedule", "one of cron, late, missed, overlap, skip_dates, timezone", "it belongs at the top of the file")]),
    ("a key of the task at the top", ("task:\n", "threshold: 0.5\ntask:\n"),
     [(7, 1, "unknown key 'threshold'", _TOP, "it belongs under task")]),
    ("a key of the task at the top, of another task", EXTRACT + "    - {name: a}\nthreshold: 0.5\n",
     [(7, 1, "unknown key 'threshold'", _TOP, "it belongs under task: fields")]),
    ("a key of a field in its task", EXTRACT.replace("  fields", "  many: true\n  fields") + "    - {name: a}\n",
     [(5, 3, "unknown key 'many' in task", "one of accept, fields, max_tokens, type", "it belongs under task: fields")]),
    ("a key of the model in its task", ("  type: classify", "  type: classify\n  context: 4096"),
     [(9, 3, "unknown key 'context' in task", "one of accept, calibrate, labels, max_tokens, threshold, type", "it belongs under model")]),
    ("a key of the input at the top", ("task:\n", "afterwards: keep\ntask:\n"),
     [(7, 1, "unknown key 'afterwards'", _TOP, "it belongs under input")]),
    ("a key of several mappings", ("task:\n", "sha256: x\ntask:\n"),
     [(7, 1, "unknown key 'sha256'", _TOP, "it belongs under model or under model: head")]),
    ("a key of site.yaml", ("task:\n", "document_mib: 5\ntask:\n"),
     [(7, 1, "unknown key 'document_mib'", _TOP, "it belongs into site.yaml, under limits")]),
    ("a mapping of site.yaml", ("task:\n", "limits: {document_mib: 5}\ntask:\n"),
     [(7, 1, "unknown key 'limits'", _TOP, "it belongs into site.yaml, at the top of the file")]),
    ("number for text", ("name: minilm", "name: 3"),
     [(6, 15, "'name' in model is the number 3", "a text", 'put it in quotes: "3"')]),
    ("text for list", ('["*.pdf", "*.txt"]', '"*.pdf"'),
     [(4, 12, "'include' in input is the text '*.pdf'", "a list", 'put it in brackets: ["*.pdf"]')]),
    ("text for number", ("  include:", "  settle_seconds: '5'\n  include:"),
     [(4, 19, "'settle_seconds' in input is the text '5'", "a number", "remove the quotes")]),
    ("text for mapping", ("input:\n  folder: inbox/contracts\n  include: [\"*.pdf\", \"*.txt\"]\n", "input: inbox/contracts\n"),
     [(2, 8, "'input' is the text 'inbox/contracts'", "a mapping of keys to values", None)]),
    ("a number for a model", SUMMARY.replace("{name: m}", "3"),
     [(2, 8, "'model' is the number 3", "a mapping of keys to values, or a name", None)]),
    ("a path for a model", SUMMARY.replace("{name: m}", "../m"),
     [(2, 8, "'name' in model is the text '../m'",
       "letters, digits, '.', '_' and '-', at most 128, first a letter or digit: the file models/NAME.gguf of the workspace", None)]),
    ("a boolean of YAML 1.1", ("task:\n", "private: yes\ntask:\n"),
     [(7, 10, "'private' is the text 'yes'", "true or false", "write true, as YAML 1.2 does: yes is a text")]),
    ("another boolean of YAML 1.1", ("task:\n", "private: Off\ntask:\n"),
     [(7, 10, "'private' is the text 'Off'", "true or false", "write false, as YAML 1.2 does: Off is a text")]),
    ("a number for a boolean", ("task:\n", "private: 1\ntask:\n"),
     [(7, 10, "'private' is the number 1", "true or false", "write true")]),
    ("a word that is no boolean", ("task:\n", "private: perhaps\ntask:\n"),
     [(7, 10, "'private' is the text 'perhaps'", "true or false", None)]),
    ("a boolean for the word off", ("  include:", "  ocr: no\n  include:"),
     [(4, 8, "ocr: no", "off, or languages", "write ocr: off")]),
    ("false for the word off", ("  include:", "  ocr: false\n  include:"),
     [(4, 8, "ocr: false", "off, or languages", "write ocr: off")]),
    ("a pattern in double quotes", EXTRACT + '    - {name: a, type: regex, pattern: "PO-\\d{5}"}\n',
     [(6, 43, "not YAML: \\d in double quotes, in which \\ begins an escape", "a text as it is", "use single quotes: 'PO-\\d{5}'")]),
    ("a pattern with a quote in double quotes", EXTRACT + '    - {name: a, type: regex, pattern: "l\'[a-z]+\\."}\n',
     [(6, 48, "not YAML: \\. in double quotes, in which \\ begins an escape", "a text as it is", "use single quotes")]),
    ("a pattern whose escapes YAML knows", EXTRACT + '    - {name: a, type: regex, pattern: "\\bPO"}\n',
     [(6, 39, "a pattern with the character U+0008, which \\b means in double quotes", "a regular expression with \\b", "use single quotes")]),
    ("number below the range", ("  include:", "  settle_seconds: -1\n  include:"),
     [(4, 19, "'settle_seconds' in input is the number -1", "greater than or equal to 0", None)]),
    ("a number without end", ("  include:", "  settle_seconds: 1e999\n  include:"),
     [(4, 19, "'settle_seconds' in input is the number inf", "a finite number", None)]),
    ("key without a value", ("  folder: inbox/contracts", "  folder: inbox/contracts\n  afterwards:"),
     [(4, 3, "'afterwards' in input is nothing", "a value", "write one, or remove the key")]),
    ("missing keys", "job: j\n",
     [(1, 1, "no key 'model'", "the key 'model'", None), (1, 1, "no key 'task'", "the key 'task'", None)]),
    ("missing type", "job: j\nmodel: {name: m}\ntask: {sentences: 5}\n",
     [(3, 7, "no key 'type' in task", "one of classify, extract, summarize, ask, batch", None)]),
    ("a time of day without a zero", ("task:\n", "window: {until: '6:00'}\ntask:\n"),
     [(7, 17, "the time of day '6:00'", 'hours and minutes from "00:00" to "23:59", such as "06:00"', None)]),
    ("a window that excludes every start", ("task:\n", "window: {until: '22:00'}\ntask:\n"),
     [(7, 17, "a window until 22:00 for a job that only starts at 22:00: it excludes every start", "an end that is later than a start", "another time in one of the two")]),
    ("missing timezone", (", timezone: Europe/Berlin", ""),
     [(5, 1, "no key 'timezone' in schedule", "the key 'timezone'", None)]),
    ("missing name of a label", ("{name: lease, ", "{"),
     [(11, 7, "no key 'name' in task labels 2", "the key 'name'", None)]),
    ("unknown task", ("type: classify", "type: clasify"),
     [(8, 9, "'type' in task is the text 'clasify'", "one of classify, extract, summarize, ask, batch", "did you mean 'classify'?")]),
    ("unknown format", ("markdown]", "markdwon]"),
     [(12, 29, "item 2 in output formats is the text 'markdwon'", "one of parquet, markdown", "did you mean 'markdown'?")]),
    ("formats without parquet", ("[parquet, markdown]", "[markdown]"),
     [(12, 19, "formats without parquet", "parquet among them: it is always written", None)]),
    ("same label twice", ("name: lease", "name: nda"),
     [(11, 14, "'nda', which is already label 1", "every label once", "rename or remove one of the two")]),
    ("one label only", ('    - {name: lease, description: "a rental agreement"}\n', ""),
     [(10, 5, "'labels' in task is a list of 1", "at least 2 labels", None)]),
    ("no label", "job: j\nmodel: {name: m}\ntask: {type: classify, labels: []}\n",
     [(3, 32, "'labels' in task is a list of 0", "at least 2 labels", None)]),
    ("labels without a list", "job: j\nmodel: {name: m}\ntask:\n  type: classify\n  labels:\n",
     [(5, 3, "'labels' in task is nothing", "a value", "write one, or remove the key")]),
    ("label that is a number", ('{name: lease, description: "a rental agreement"}', "3"),
     [(11, 7, "item 2 in task labels is the number 3", "a mapping of keys to values, or a name", None)]),
    ("label that is a blank word", ('{name: lease, description: "a rental agreement"}', "' '"),
     [(11, 7, "a text without anything in it", "a text that says something", None)]),
    ("label that says nothing", ("name: lease", "name: ' '"),
     [(11, 14, "a text without anything in it", "a text that says something", None)]),
    ("label that YAML 1.1 took for a boolean", ("name: lease", "name: false"),
     [(11, 14, "'name' in task labels 2 is the value false", "a text", 'put it in quotes: "false"')]),
    ("bad cron line", ('"0 22 * * 1-5"', '"0 25 * * 1-5"'),
     [(5, 18, "the cron line '0 25 * * 1-5': '25' is no hour: it takes 0 to 23",
       'five fields, such as "0 22 * * 1-5", or @daily and the like', None)]),
    ("bad time zone", ("Europe/Berlin", "Europe/Berln"),
     [(5, 44, "'Europe/Berln' is no time zone; did you mean 'Europe/Berlin'?",
       "a name of the IANA time zone data base, such as Europe/Berlin or UTC", None)]),
    ("bad sha256", ("012345678901234567890123\"", "X\""),
     [(6, 31, "'sha256' in model is the text '0123456789012345678901234567890123456789X'",
       "64 hexadecimal digits in lower case: the model file's sha256; any file will do if left out", None)]),
    ("bad job name", ("job: contract-triage", "job: Contract Triage"),
     [(1, 6, "'job' is the text 'Contract Triage'",
       "a-z, 0-9, '.', '_' and '-', at most 64, first a letter or digit: the job's name", None)]),
    ("job name that is a path", ("job: contract-triage", "job: ../x"),
     [(1, 6, "'job' is the text '../x'",
       "a-z, 0-9, '.', '_' and '-', at most 64, first a letter or digit: the job's name", None)]),
    ("model that is a path", ("name: minilm", "name: ../minilm"),
     [(6, 15, "'name' in model is the text '../minilm'",
       "letters, digits, '.', '_' and '-', at most 128, first a letter or digit: the file models/NAME.gguf of the workspace",
       None)]),
    ("folder out of the workspace", ("inbox/contracts", "inbox/../../x"),
     [(3, 11, "the folder 'inbox/../../x'", "a path below the workspace, or an absolute one", "remove '..'")]),
    ("folder of a person", ("inbox/contracts", "~/x"),
     [(3, 11, "the folder '~/x'", "a path without '~'", "write the whole path")]),
    ("folder of Windows out of the workspace", ("inbox/contracts", "../C:\\Scans\\x"),
     [(3, 11, "the folder '../C:\\Scans\\x'", "a path below the workspace, or an absolute one", "remove '..'")]),
    ("a model by its path on Windows", ("name: minilm", "name: C:\\m"),
     [(6, 15, "'name' in model is the text 'C:\\m'",
       "letters, digits, '.', '_' and '-', at most 128, first a letter or digit: the file models/NAME.gguf of the workspace",
       None)]),
    ("a priority that leads away", ("  include:", "  priority: [urgent, ../x]\n  include:"),
     [(4, 22, "the pattern '../x'", "a folder below the input folder, such as urgent or */urgent",
       "write it without '..', and as it lies there")]),
    ("duplicates by another word", ("  include:", "  duplicates: skpi\n  include:"),
     [(4, 15, "'duplicates' in input is the text 'skpi'", "one of skip, process, warn", "did you mean 'skip'?")]),
    ("ocr by another word", ("  include:", "  ocr: on\n  include:"),
     [(4, 8, "ocr: on", "off, or languages", "such as ocr: {languages: [eng]}")]),
    ("ocr without a language", ("  include:", "  ocr: {languages: []}\n  include:"),
     [(4, 20, "'languages' in input ocr is a list of 0", "at least 1 languages", None)]),
    ("ocr with a key of another program", ("  include:", "  ocr: {language: [eng]}\n  include:"),
     [(4, 3, "no key 'languages' in input ocr", "the key 'languages'", None),
      (4, 9, "unknown key 'language' in input ocr", "languages", "did you mean 'languages'?")]),
    ("an option for a language", ("  include:", "  ocr: {languages: [--psm]}\n  include:"),
     [(4, 21, "the language '--psm'", "a name as `tesseract --list-langs` shows it, such as eng", None)]),
    ("unknown field type", EXTRACT + "    - {name: a, type: regexp}\n",
     [(6, 23, "'type' in task fields 1 is the text 'regexp'",
       "one of text, date, money, number, percent, email, phone, iban, reference, title, organisation, regex", "did you mean 'regex'?")]),
    ("regex without pattern", EXTRACT + "    - {name: a, type: regex}\n",
     [(6, 23, "a field of type regex without a pattern", "the key 'pattern'", None)]),
    ("pattern without regex", EXTRACT + "    - {name: a, type: date, pattern: x}\n",
     [(6, 38, "a pattern in a field of type date", "a pattern only with type: regex", None)]),
    ("same field twice", EXTRACT + "    - {name: a}\n    - {name: b}\n    - {name: a}\n",
     [(8, 14, "'a', which is already field 1", "every field once", "rename or remove one of the two")]),
    ("summary without length", SUMMARY.replace(", sentences: 5", ""),
     [(3, 7, "neither 'sentences' nor 'words'", "one of the two", "such as sentences: 5")]),
    ("summary with two lengths", SUMMARY.replace("sentences: 5", "sentences: 5, words: 9"),
     [(3, 46, "both 'sentences' and 'words'", "one of the two", "such as sentences: 5")]),
    ("half a sentence", SUMMARY.replace("5", "2.5"),
     [(3, 36, "'sentences' in task is the number 2.5", "a whole number", None)]),
    ("several at once, in the order of the file", "job: J\nmodel: {nam: m}\ntask: {type: summarize, sentences: x}\n",
     [(1, 6, "'job' is the text 'J'", "a-z, 0-9, '.', '_' and '-', at most 64, first a letter or digit: the job's name", None),
      (2, 1, "no key 'name' in model", "the key 'name'", None),
      (2, 9, "unknown key 'nam' in model", "one of cache_mib, context, head, kv, name, precision, sha256", "did you mean 'name'?"),
      (3, 36, "'sentences' in task is the text 'x'", "a whole number", None)]),
]  # fmt: skip


def test_the_good_one_is_good(tmp_path: Path) -> None:
    file = tmp_path / "contract-triage.yaml"
    file.write_text(GOOD)
    job = load_job(file)
    assert job.name == "contract-triage"
    assert job.config.input.include == ("*.pdf", "*.txt")
    assert job.config.input.afterwards == "archive"
    assert job.config.task.type == "classify"
    assert [label.name for label in job.config.task.labels] == ["nda", "lease"]
    assert job.source.sha256 == parse_source(GOOD.encode(), "f").sha256


@pytest.mark.parametrize(("change", "problems"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_mistakes(
    tmp_path: Path, change: tuple[str, str] | str, problems: list[tuple[int, int, str, str, str | None]]
) -> None:
    file = tmp_path / "j.yaml"
    text = change if isinstance(change, str) else GOOD.replace(*change)
    assert text != GOOD
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_job(file)
    assert list(error.value.problems) == [
        Problem(str(file), found, expected, remedy, line, column) for line, column, found, expected, remedy in problems
    ]


@pytest.mark.parametrize(
    ("word", "type_"),
    [
        ("amount", "money"), ("Price", "money"), ("currency", "money"), ("MONEY", "money"), ("integer", "number"),
        ("float", "number"), ("percentage", "percent"), ("datetime", "date"), ("string", "text"),
        ("company", "organisation"), ("organization", "organisation"), ("name", "text"), ("e-mail", "email"),
        ("telephone", "phone"), ("IBAN", "iban"), ("id", "reference"), ("pattern", "regex"), ("heading", "title"),
    ],
)  # fmt: skip
def test_types_by_the_words_of_others(tmp_path: Path, word: str, type_: str) -> None:
    file = tmp_path / "j.yaml"
    file.write_text(EXTRACT + f"    - {{name: a, type: {word}}}\n")
    with pytest.raises(ConfigError) as error:
        load_job(file)
    (problem,) = error.value.problems
    assert (problem.line, problem.column, problem.remedy) == (6, 23, f"did you mean {type_!r}?")


def test_words_of_others_mean_words_that_there_are() -> None:
    known = {*pipeline.TASKS, *VALUES, "regex", "parquet", "markdown"}
    assert set(load._MEANT.values()) <= known
    assert not set(load._MEANT) & known, "a word that is known means itself"


def test_a_name_stands_for_its_mapping(tmp_path: Path) -> None:
    long = "job: j\nmodel: {name: m, head: {name: h}}\ntask: {type: classify, labels: [{name: a}, {name: b}]}\n"
    short = "job: j\nmodel: {name: m, head: h}\ntask: {type: classify, labels: [a, {name: b}]}\n"
    others = (
        EXTRACT + "    - {name: a}\n    - {name: b, type: date}\n",
        EXTRACT + "    - a\n    - {name: b, type: date}\n",
    )
    file = tmp_path / "j.yaml"
    for pair in ((long, short), others, (SUMMARY, SUMMARY.replace("{name: m}", "m"))):
        configs = []
        for text in pair:
            file.write_text(text)
            configs.append(load_job(file).config)
        assert configs[0] == configs[1]


def test_a_key_of_a_job_in_site_yaml(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text("log: {origin: a, key: k, public_key: k}\ndocument_mib: 5\nretention: {rows_days: 5}\n")
    with pytest.raises(ConfigError) as error:
        load_site(file)
    assert [(each.line, each.remedy) for each in error.value.problems] == [
        (2, "it belongs under limits"),
        (3, "it belongs into a job, at the top of the file"),
    ]


def test_a_problem_reads_well() -> None:
    problem = Problem("jobs/x.yaml", "unknown key 'inlcude'", "one of folder, include", "did you mean 'include'?", 7, 3)
    assert str(problem) == (
        "jobs/x.yaml:7:3: unknown key 'inlcude'\n"
        "    expected: one of folder, include\n"
        "    remedy:   did you mean 'include'?"
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        load_job(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match=": a folder"):
        load_job(tmp_path)


def test_site(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(
        "log: {origin: a b, key: keys/log.key, public_key: k}\nlimits: {parse_seconds: 0, parse_memory: 1}\n"
    )
    with pytest.raises(ConfigError) as error:
        load_site(file)
    assert [(p.line, p.column) for p in error.value.problems] == [(1, 15), (2, 25), (2, 28)]
    assert error.value.problems[2].remedy == "did you mean 'parse_memory_mib'?"


def test_a_limit_of_memory_that_no_document_could_be_read_in_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text("log: {origin: o, key: keys/log.key, public_key: k}\nlimits: {parse_memory_mib: 64}\n")
    with pytest.raises(ConfigError, match="greater than or equal to 128"):
        load_site(file)


def test_paths_are_shown_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown(tmp_path / "jobs" / "a.yaml") == "jobs/a.yaml"
    assert shown(Path("jobs/a.yaml")) == "jobs/a.yaml"
    assert shown(tmp_path.parent / "b") == os.fspath(tmp_path.parent / "b")


def test_the_models_defaults_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        JobConfig.model_fields["input"].default.afterwards = "keep"
