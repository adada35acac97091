"""Makes the head `contracts` of the package from CUAD: pipeline/heads/builtin/contracts.head.

    CLOISTER_DATA=FOLDER python -m tests.benchmarks.make_contract_head MODEL.gguf

It learns as `cloister learn` does, for the job configs/contract-fields.yaml. The same data and model give the same
file.
"""

import os
import sys
from pathlib import Path

import engine
from pipeline.heads import BUILTIN, HeadFile, write_head
from pipeline.learn.learning import facts_of
from pipeline.paths.names import file_sha256
from pipeline.tasks.extract import fit
from pipeline.tasks.extract.learn import head_of
from tests.benchmarks.bench_learned_fields import meanings_of, read, sought, task
from tests.benchmarks.contracts import ATTRIBUTION, contracts


def main() -> int:
    """Write the file; 0."""
    data = os.environ.get("CLOISTER_DATA")
    if not data or len(sys.argv) != 2:
        print("CLOISTER_DATA is not set, or no model is named: nothing is made")
        return 2
    path, settings = Path(sys.argv[1]), task()
    model = engine.load(path)
    every = read(model, settings, list(contracts(Path(data))))
    learned = fit.learn([one.taught for one in every], sought(settings), meanings_of(settings, model))
    texts = [(one.taught.document.text_sha256, dict(one.contract.places)) for one in every]
    facts = facts_of("contracts", "all-minilm-l6-v2-q8_0", file_sha256(path), texts)
    made, known = head_of(learned), {**facts, "attribution": ATTRIBUTION, "licence": "CC BY 4.0"}
    write_head(BUILTIN / "contracts.head", HeadFile({**known, **made.facts}, made.arrays))
    print(f"{BUILTIN / 'contracts.head'}, {(BUILTIN / 'contracts.head').stat().st_size:,} bytes, sha256 "
          f"{file_sha256(BUILTIN / 'contracts.head')}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
