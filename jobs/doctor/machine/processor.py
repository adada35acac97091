"""The processor: what the engine computes with on it, and what a better one would give."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.doctor.base import Figures, Finding, Needs, ok, stop, warning
from jobs.doctor.compared import same
from jobs.doctor.patient import Patient

NEEDS = Needs.MACHINE
FIGURES: Figures = {"cpu": same, "isa": same}
_BETTER = {
    "amx": "AMX (Intel Xeon of the fourth generation and later) computes encoders about three times as fast",
    "avx512_vnni": "AVX-512 VNNI (AMD from Zen 4 on, Intel Xeon from the second generation on) is twice as fast",
    "avx2": "AVX2 (nearly every processor since 2015) is three times as fast",
}
"""What each instruction set gives over the next one, as measured (engine/BENCHMARKS.md)."""


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell which instruction set is used, and whether there is a better one here or elsewhere."""
    machine = patient.machine
    figures = {"cpu": machine.cpu, "isa": machine.isa}
    if machine.refused:
        remedy = "unset CLOISTER_ISA and CLOISTER_THREADS, or set them to what is expected"
        if machine.has is None:
            remedy = "use another machine; in a virtual one let it see the processor as it is (cpu mode: host)"
        yield stop(f"The engine does not compute here: {machine.refused}.", remedy, **figures)
        return
    assert machine.isa is not None
    told = f"{machine.cpu}: the engine computes with {machine.isa}"
    if machine.isa != machine.has:
        yield warning(f"{told}, though the processor has {machine.has}.", "unset CLOISTER_ISA", **figures)
    elif machine.lacking["amx"] == ("amx_tile",):
        remedy = "Linux 5.16 or later gives them, where the profile of the container allows arch_prctl"
        yield warning(f"{told}; it has AMX, whose tiles the kernel does not give.", remedy, **figures)
    elif machine.isa == "portable":
        lacks = ", ".join(machine.lacking["avx2"])
        remedy = "use a newer processor; in a virtual machine let it see the processor as it is (cpu mode: host)"
        yield warning(f"{told}, which is slow. It lacks {lacks}. {_BETTER['avx2']}.", remedy, **figures)
    else:
        better = [_BETTER[name] for name in reversed(machine.known[: machine.known.index(machine.isa)])]
        yield ok(f"{told}. {better[0]}." if better else f"{told}, the best there is.", **figures)
