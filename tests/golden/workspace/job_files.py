"""The job files of the golden workspace: each task on each kind of model that it takes, and the settings of inputs."""

_BERT = "model: {name: tiny}"
_WRITER = "model: {name: writer, context: 1500, cache_mib: 64}"
_LABELS = """\
  labels:
    - {name: lease, description: "a lease of a flat: landlord, tenant"}
    - {name: invoice, description: "an invoice: total due"}
"""
_FIELDS = """\
  fields:
    - {name: total, type: money, description: "what is due"}
    - {name: day, type: date, description: "the day on which it is due"}
    - {name: who, description: "who has to pay"}
    - {name: order, type: regex, pattern: 'PO-(\\d+)', description: "our order"}
"""
_EXAMPLE = "The tenant pays the rent on the first of the month. " * 170  # more than one record of settings holds

JOBS = {
    "sort": f"""\
job: sort
input: {{settle_seconds: 0, hidden: review, include: ["*.txt", "*.pdf", "*.html", "*.zip"], ocr: "off"}}
{_BERT}
task:
  type: classify
  threshold: THRESHOLD
{_LABELS}output: {{formats: [parquet, markdown]}}
""",
    "quiet": f"""\
job: quiet
input: {{settle_seconds: 0, include: ["*.txt", "*.zip"], ocr: "off"}}
{_BERT}
private: true
task:
  type: classify
  threshold: 0.0
  labels:
    - {{name: lease, description: "a lease of a flat: landlord, tenant", examples: ["{_EXAMPLE.strip()}"]}}
    - {{name: invoice, description: "an invoice: total due"}}
output: {{formats: [parquet, markdown]}}
""",
    "fields": f"""\
job: fields
input: {{settle_seconds: 0, afterwards: keep, duplicates: warn, hidden: keep, priority: [urgent]}}
{_BERT}
task:
  type: extract
{_FIELDS}""",
    "digest": f"""\
job: digest
input: {{settle_seconds: 0, duplicates: process, ocr: "off"}}
{_BERT}
task: {{type: summarize, words: 12}}
retention: {{archive_days: 30, rows_days: 60}}
output: {{formats: [parquet, markdown], part_documents: 1}}
""",
    "choose": f"""\
job: choose
input: {{settle_seconds: 0, ocr: "off"}}
{_WRITER}
task:
  type: classify
  calibrate: true
  threshold: 0.0
{_LABELS}""",
    "quotes": f"""\
job: quotes
input: {{settle_seconds: 0, ocr: "off"}}
model: {{name: writer, context: 1500, cache_mib: 64, kv: int8}}
task:
  type: extract
  max_tokens: 300
{_FIELDS}""",
    "gist": f"""\
job: gist
input: {{settle_seconds: 0, ocr: "off"}}
{_WRITER}
task: {{type: summarize, sentences: 1, max_tokens: 400}}
""",
    "ask": f"""\
job: ask
input: {{settle_seconds: 0, ocr: "off"}}
{_WRITER}
task:
  type: ask
  question: Who pays, and when?
  schema:
    type: object
    properties:
      passages: {{type: array, maxItems: 1, items: {{type: string, format: quote}}}}
      paid: {{type: boolean}}
      by: {{enum: [tenant, landlord, nobody]}}
    required: [passages, paid, by]
    additionalProperties: false
  max_tokens: 200
""",
    "batch": f"""\
job: batch
input: {{settle_seconds: 0, ocr: "off"}}
{_WRITER}
task: {{type: batch, models: [gpt-4o-mini], max_tokens: 40}}
""",
    "refused": f"""\
job: refused
input: {{settle_seconds: 0}}
model: {{name: tiny, sha256: "{64 * "0"}"}}
task: {{type: summarize, sentences: 2}}
""",
}


def job_file(name: str, threshold: float = 0.6) -> str:
    """The text of jobs/NAME.yaml."""
    return JOBS[name].replace("THRESHOLD", str(threshold))
