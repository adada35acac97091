"""A run without a cluster loads nothing of Dask."""

import subprocess
import sys

from tests.jobs.conftest import LEASE, SORT, Place

RUN = """
import sys
from jobs.cli import main
code = 1
try:
    code = main()
except SystemExit as end:
    code = end.code
dask = ("dask", "distributed", "tornado", "msgpack", "pipeline.cluster.crew")
print("loaded:", *(name for name in dask if sys.modules.get(name)))  # None stands for what may never be loaded
sys.exit(code)
"""


def test_a_run_on_one_machine_loads_nothing_of_a_cluster(ready: Place) -> None:
    ready.job("sort", SORT)
    ready.drop("sort", "lease.txt", LEASE)
    command = [sys.executable, "-P", "-c", RUN, "run", "sort", "--workspace", str(ready.root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"
