"""An example for each key of a job and of site.yaml, as it stands in such a file: configs/README.md shows them."""

_LABELS = "labels: [{name: nda}, {name: lease}]"
_SORT = f"task: {{type: classify, {_LABELS}}}\n"
_FIND = "task: {type: extract, fields: [{name: total, type: money}]}\n"
_LOG = """\
log:
  origin: example.org/cloister
  key: {key}
  public_key: example.org/cloister+d00f0de1+Af7BsBX15d8fKW46WlpdVrK3JLxv60GUX0kAT/IwDe7U"""

JOB = {
    "job": "job: contract-triage",
    "input": "input: {folder: inbox/contracts, afterwards: keep}",
    "input.folder": "input: {folder: inbox/contracts}",
    "input.mounted": "input: {folder: /mnt/scans, mounted: true}",
    "input.include": 'input: {include: ["*.pdf", "*.docx"]}',
    "input.settle_seconds": "input: {settle_seconds: 2}",
    "input.afterwards": "input: {afterwards: keep}",
    "input.duplicates": "input: {duplicates: warn}",
    "input.hidden": "input: {hidden: review}",
    "input.ocr": "input: {ocr: off}",
    "input.ocr.languages": "input: {ocr: {languages: [deu, eng]}}",
    "input.priority": 'input: {priority: [urgent, "2026-*"]}',
    "schedule": 'schedule: {cron: "@daily", timezone: UTC}',
    "schedule.cron": 'schedule: {cron: "0 22 * * 1-5", timezone: Europe/Berlin}',
    "schedule.timezone": 'schedule: {cron: "*/15 6-20 * * *", timezone: America/New_York}',
    "schedule.skip_dates": """\
schedule:
  cron: "0 22 * * *"
  timezone: Europe/Berlin
  skip_dates: ["12-25", "2026-12-31"]""",
    "schedule.late": 'schedule: {cron: "0 22 * * *", timezone: UTC, late: skip}',
    "schedule.late.before": """\
schedule:
  cron: "0 22 * * *"
  timezone: Europe/Berlin
  late: {before: "02:00"}""",
    "schedule.missed": 'schedule: {cron: "0 22 * * *", timezone: UTC, missed: none}',
    "schedule.overlap": 'schedule: {cron: "*/5 * * * *", timezone: UTC, overlap: skip}',
    "after": "after: correspondence-triage",
    "priority": "priority: 5",
    "window": 'window: {until: "06:00"}',
    "window.until": 'window: {until: "05:30"}',
    "window.share": 'window: {until: "06:00", share: 3}',
    "versions": "versions: newest",
    "model": "model: {name: all-minilm-l6-v2-q8_0}",
    "model.name": "model: {name: smollm2-135m-instruct-q4_1}",
    "model.sha256": "model: {name: small, sha256: b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53}",
    "model.precision": "model: {name: minilm-f16, precision: file}",
    "model.head": "model: {name: small, head: {name: contract-triage}}",
    "model.head.name": "model: {name: small, head: {name: contract-triage}}",
    "model.head.sha256": """\
model:
  name: small
  head: {name: triage, sha256: b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53}""",
    "model.context": "model: {name: smollm2-135m-instruct-q4_1, context: 4096}",
    "model.kv": "model: {name: smollm2-135m-instruct-q4_1, kv: int8}",
    "model.cache_mib": "model: {name: smollm2-135m-instruct-q4_1, cache_mib: 4096}",
    "task": "task: {type: summarize, sentences: 3}",
    "task<classify>.type": f"task: {{type: classify, {_LABELS}}}",
    "task<classify>.max_tokens": f"task: {{type: classify, {_LABELS}, max_tokens: 64}}",
    "task<classify>.labels": "task: {type: classify, labels: [{name: complaint}, {name: praise}]}",
    "task<classify>.labels.name": f"task: {{type: classify, {_LABELS}}}",
    "task<classify>.labels.description": "task: {type: classify, labels: [{name: nda}, "
    "{name: lease, description: a flat is let for rent}]}",
    "task<classify>.labels.examples": "task: {type: classify, labels: [{name: nda}, "
    "{name: lease, examples: [The tenant pays rent.]}]}",
    "task<classify>.labels.accept": """\
task:
  type: classify
  labels: [{name: lease}, {name: nda, accept: {risk: 0.01}}]
  accept: {risk: 0.05}
model: {name: small, head: {name: triage}}""",
    "task<classify>.labels.accept.risk": """\
task: {type: classify, labels: [{name: nda}, {name: lease, accept: {risk: 0.02}}]}
model: {name: small, head: {name: triage}}""",
    "task<classify>.threshold": f"task: {{type: classify, {_LABELS}, threshold: 0.3}}",
    "task<classify>.calibrate": f"task: {{type: classify, {_LABELS}, calibrate: true}}",
    "task<classify>.accept": f"""\
task: {{type: classify, {_LABELS}, accept: {{risk: 0.02}}}}
model: {{name: small, head: {{name: triage}}}}""",
    "task<classify>.accept.risk": f"""\
task: {{type: classify, {_LABELS}, accept: {{risk: 0.02}}}}
model: {{name: small, head: {{name: triage}}}}""",
    "task<extract>.type": "task: {type: extract, fields: [{name: total, type: money}]}",
    "task<extract>.max_tokens": "task: {type: extract, fields: [{name: total, type: money}], max_tokens: 600}",
    "task<extract>.fields": "task: {type: extract, fields: [{name: total, type: money}, {name: due, type: date}]}",
    "task<extract>.fields.name": "task: {type: extract, fields: [{name: invoice_number}]}",
    "task<extract>.fields.type": "task: {type: extract, fields: [{name: account, type: iban}]}",
    "task<extract>.fields.description": "task: {type: extract, fields: [{name: due, type: date, "
    'description: "pay by, due on, zahlbar bis"}]}',
    "task<extract>.fields.entity": "task: {type: extract, fields: [{name: customer, entity: PER}]}",
    "task<extract>.fields.pattern": r"task: {type: extract, fields: [{name: po, type: regex, pattern: 'PO-\d{5}'}]}",
    "task<extract>.fields.many": "task: {type: extract, fields: [{name: parties, type: organisation, many: true}]}",
    "task<extract>.fields.threshold": "task: {type: extract, fields: [{name: title, type: title, threshold: 0.5}]}",
    "task<extract>.fields.accept": """\
task:
  type: extract
  fields: [{name: due, type: date}, {name: total, type: money, accept: {risk: 0.02}}]
  accept: {risk: 0.05}
model: {name: small, head: {name: invoices}}""",
    "task<extract>.fields.accept.risk": """\
task: {type: extract, fields: [{name: due, type: date}, {name: total, type: money, accept: {risk: 0.05}}]}
model: {name: small, head: {name: invoices}}""",
    "task<extract>.accept": """\
task: {type: extract, fields: [{name: total, type: money}], accept: {risk: 0.05}}
model: {name: small, head: {name: invoices}}""",
    "task<extract>.accept.risk": """\
task: {type: extract, fields: [{name: total, type: money}], accept: {risk: 0.05}}
model: {name: small, head: {name: invoices}}""",
    "task<summarize>.type": "task: {type: summarize, words: 120}",
    "task<summarize>.max_tokens": "task: {type: summarize, sentences: 3, max_tokens: 600}",
    "task<summarize>.sentences": "task: {type: summarize, sentences: 5}",
    "task<summarize>.words": "task: {type: summarize, words: 120}",
    "task<ask>.type": "task: {type: ask, question: Who pays for repairs?}",
    "task<ask>.max_tokens": "task: {type: ask, question: Who pays for repairs?, max_tokens: 300}",
    "task<ask>.question": "task: {type: ask, question: 'Can this contract be ended by notice, and how?'}",
    "task<ask>.schema": """\
task:
  type: ask
  question: How long is the notice, and how high is the rent?
  schema: {type: object, properties: {days: {type: integer}, rent: {type: number, format: value, x-type: money}}}""",
    "task<batch>.type": "task: {type: batch}",
    "task<batch>.max_tokens": "task: {type: batch, max_tokens: 500}",
    "task<batch>.models": "task: {type: batch, models: [gpt-4o-mini]}",
    "private": "private: true",
    "quality": f"{_SORT}quality: {{eval: evaluation/contracts.csv, floor: {{macro_f1: 0.9}}}}",
    "quality.eval": "quality: {eval: evaluation/digests.jsonl}",
    "quality.floor": f"{_SORT}quality: {{eval: evaluation/contracts.csv, floor: {{macro_f1: 0.9, answered: 0.95}}}}",
    "quality.floor.accuracy": f"{_SORT}quality: {{eval: evaluation/contracts.csv, floor: {{accuracy: 0.95}}}}",
    "quality.floor.macro_f1": f"{_SORT}quality: {{eval: evaluation/contracts.csv, floor: {{macro_f1: 0.9}}}}",
    "quality.floor.answered": f"{_SORT}quality: {{eval: evaluation/contracts.csv, floor: {{answered: 0.98}}}}",
    "quality.floor.token_f1": f"{_FIND}quality: {{eval: evaluation/invoices.jsonl, floor: {{token_f1: 0.85}}}}",
    "quality.floor.exact": f"{_FIND}quality: {{eval: evaluation/invoices.jsonl, floor: {{exact: 0.7}}}}",
    "quality.floor.normalised": f"{_FIND}quality: {{eval: evaluation/invoices.jsonl, floor: {{normalised: 0.8}}}}",
    "quality.floor.absent_empty": f"{_FIND}quality: {{eval: evaluation/invoices.jsonl, floor: {{absent_empty: 0.9}}}}",
    "quality.floor.rouge_1": "quality: {eval: evaluation/digests.jsonl, floor: {rouge_1: 0.35}}",
    "quality.floor.rouge_2": "quality: {eval: evaluation/digests.jsonl, floor: {rouge_2: 0.15}}",
    "quality.floor.rouge_l": "quality: {eval: evaluation/digests.jsonl, floor: {rouge_l: 0.3}}",
    "quality.floor.over_lead": "quality: {eval: evaluation/digests.jsonl, floor: {over_lead: 0.0}}",
    "quality.require": "quality: {eval: evaluation/digests.jsonl, require: false}",
    "retention": "retention: {archive_days: 90, rows_days: 3650}",
    "retention.archive_days": "retention: {archive_days: 90}",
    "retention.rows_days": "retention: {rows_days: 3650}",
    "output": "output: {formats: [parquet, markdown], part_documents: 200}",
    "output.formats": "output: {formats: [parquet, markdown]}",
    "output.part_documents": "output: {part_documents: 200}",
    "output.part_minutes": "output: {part_minutes: 2}",
    "notify": "notify: {command: [/etc/cloister/mail.sh, claims@example.org], on: [success, failure]}",
    "notify.command": "notify: {command: [/etc/cloister/file.sh, /srv/claims/night.jsonl]}",
    "notify.on": "notify: {command: [/etc/cloister/syslog.sh], on: [nothing_arrived]}",
    "notify.seconds": "notify: {command: [/etc/cloister/syslog.sh], seconds: 10}",
}
"""Path of a key -> what a job file says to use it."""

_PROXY = (
    "console:\n  hosts: [cloister.example]\n  proxy: {header: X-Remote-User, from: socket}\n"
    "  people:\n    anna: [reviewer]\n    otto: [operator, auditor]"
)
SITE = {
    "log": _LOG.format(key="keys/log.key"),
    "log.origin": _LOG.format(key="keys/log.key"),
    "log.key": _LOG.format(key="/etc/cloister/log.key"),
    "log.public_key": _LOG.format(key="keys/log.key"),
    "log.passphrase_file": _LOG.format(key="keys/log.key") + "\n  passphrase_file: /etc/cloister/passphrase",
    "log.verify_days": _LOG.format(key="keys/log.key") + "\n  verify_days: 7",
    "models": "models: {require_admission: true}",
    "models.require_admission": "models: {require_admission: true}",
    "limits": "limits: {document_mib: 512, parse_seconds: 120}",
    "limits.document_mib": "limits: {document_mib: 512}",
    "limits.parse_seconds": "limits: {parse_seconds: 120}",
    "limits.parse_memory_mib": "limits: {parse_memory_mib: 2048}",
    "limits.text_characters": "limits: {text_characters: 20000000}",
    "limits.document_tokens": "limits: {document_tokens: 200000}",
    "limits.document_seconds": "limits: {document_seconds: 900}",
    "limits.isolation": "limits: {isolation: best_effort}",
    "limits.unpacked_depth": "limits: {unpacked_depth: 3}",
    "limits.unpacked_documents": "limits: {unpacked_documents: 50000}",
    "limits.unpacked_mib": "limits: {unpacked_mib: 4096}",
    "limits.unpacked_ratio": "limits: {unpacked_ratio: 500}",
    "console": 'console: {port: 8080, url: "https://cloister.example", hosts: [cloister.example]}',
    "console.port": "console: {port: 8080}",
    "console.url": 'console: {url: "https://cloister.example"}',
    "console.hosts": "console: {hosts: [cloister.example]}",
    "console.idle_minutes": "console: {idle_minutes: 30}",
    "console.session_hours": "console: {session_hours: 8}",
    "console.proxy": _PROXY,
    "console.proxy.header": _PROXY,
    "console.proxy.from": _PROXY,
    "console.people": _PROXY,
    "notify": "notify: {command: [/etc/cloister/mail.sh, night@example.org]}",
    "notify.command": "notify: {command: [/etc/cloister/syslog.sh]}",
    "notify.on": "notify: {command: [/etc/cloister/syslog.sh], on: [failure, nothing_arrived, unlike, not_verified]}",
    "notify.seconds": "notify: {command: [/etc/cloister/syslog.sh], seconds: 10}",
    "encryption": "encryption: {key_file: keys/rest.key}",
    "encryption.key_file": "encryption: {key_file: /etc/cloister/rest.key}",
    "encryption.previous_key_file": "encryption: {key_file: keys/rest-2.key, previous_key_file: keys/rest.key}",
    "encryption.new_files": "encryption: {key_file: keys/rest.key, new_files: clear}",
    "service": "service: {log_file: state/service.log}",
    "service.log_file": "service: {log_file: /var/log/cloister/office.log}",
    "service.log_bytes": "service: {log_file: state/service.log, log_bytes: 1000000}",
    "service.log_keep": "service: {log_file: state/service.log, log_keep: 30}",
    "cluster": 'cluster: {scheduler: "tls://head.example:8786"}',
    "cluster.scheduler": 'cluster: {scheduler: "tls://head.example:8786"}',
    "cluster.credential": 'cluster: {scheduler: "tls://head.example:8786", credential: /etc/cloister/head.pem}',
    "metrics": "metrics: /var/lib/node_exporter/cloister.prom",
}
"""Path of a key -> what site.yaml says to use it."""
