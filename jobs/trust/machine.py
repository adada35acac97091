"""Checks of what computes: processor, CPUs, memory, limits, what holds parsers, compiled kernels, text recognition.

Each looks at one thing, tells what it found, and mends nothing. A check need not catch what it does not expect: what it
raises becomes a problem line (doctor.py).
"""

import os
import resource
from collections.abc import Iterator
from importlib.util import find_spec

import pipeline
from jobs.trust.finding import Figure, Found, found_or, ok, problem, shown_bytes, stop, warning
from jobs.trust.patient import Patient
from jobs.visible import counted

_BETTER = {
    "amx": "AMX (Intel Xeon of the fourth generation and later) computes encoders about three times as fast",
    "avx512_vnni": "AVX-512 VNNI (AMD from Zen 4 on, Intel Xeon from the second generation on) is twice as fast",
    "avx2": "AVX2 (nearly every processor since 2015) is three times as fast",
}
"""What each instruction set gives over the next one, as measured (engine/BENCHMARKS.md)."""
_FILES_NEEDED, _FILES_WANTED, _PROCESSES = 256, 1024, 256
_FILE_BYTES = 8 << 30
"""What a model file may easily have."""
_GIVE = "give it that (to a container, in its seccomp profile)"
_COMPILING = "10 to 40 seconds on idle CPUs"
_INSTALL = "install the system's packages tesseract-ocr and tesseract-ocr-LANGUAGE"


def processor(patient: Patient) -> Iterator[Found]:
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


def cores(patient: Patient) -> Iterator[Found]:
    """Tell how many threads compute, and why not more."""
    machine = patient.machine
    figures = {"cpus": machine.cpus, "threads": machine.threads}
    usable = min(machine.allowed, machine.quota or machine.allowed)
    if machine.threads is None:
        remedy = "unset CLOISTER_THREADS, or give it a number from 1 to 1024"
        yield problem("No thread computes, since CLOISTER_THREADS is refused.", remedy, **figures)
        return
    told = f"{counted(machine.threads, 'thread')} on {counted(machine.cpus, 'CPU')}"
    if machine.threads > usable:
        sentence = f"{told}, of which {usable} may be used: they wait for one another."
        yield warning(sentence, f"unset CLOISTER_THREADS, or set it to {usable}", **figures)
    elif machine.threads < usable:
        yield ok(f"{told}, of which {usable} may be used: CLOISTER_THREADS asks for less.", **figures)
    elif machine.quota is not None and machine.quota < machine.allowed:
        yield ok(f"{told}: the quota of a cgroup (CPUQuota, a container's limit) allows no more.", **figures)
    elif machine.allowed < machine.cpus:
        yield ok(f"{told}: the affinity of this process (taskset, a cpuset) allows no more.", **figures)
    else:
        yield ok(f"{told}: all of them compute.", **figures)


def memory(patient: Patient) -> Iterator[Found]:
    """Tell how much memory there is, and of which job it is too little."""
    total, free = patient.machine.memory, patient.machine.free
    if not total:
        yield warning("How much memory there is cannot be read.", "let this process read /proc/meminfo")
        return
    here = f"{shown_bytes(total)} of memory may be used, {shown_bytes(free)} of it now"
    needs = sorted(_needs(patient), key=lambda each: -(each[1] + each[2]))
    if not needs:
        yield ok(f"{here}; there is no job to hold that against.", bytes=total)
        return
    job, model, parsers = needs[0]
    told = f"{here}; the job {job} takes {shown_bytes(model)} at most, and {shown_bytes(parsers)} for parsers"
    if model > total:
        remedy = "take a smaller model (cloister model quantize), lower model.cache_mib, or allow more memory"
        yield problem(f"{told}: its model alone does not fit.", remedy, bytes=total)
    elif model + parsers > total:
        remedy = "lower limits.parse_memory_mib in site.yaml, set CLOISTER_THREADS to less, or allow more memory"
        yield warning(f"{told}: large documents may end what runs beside them.", remedy, bytes=total)
    elif model > free:
        yield warning(f"{told}: something else has the memory now.", "end that before the night", bytes=total)
    else:
        yield ok(f"{told}.", bytes=total)


def _needs(patient: Patient) -> Iterator[tuple[str, int, int]]:
    """Each job with the bytes that its model and texts take, and those that its parsers may take together. The check
    of the jobs tells of models that are not there."""
    for job, plan in patient.plans():
        try:
            memory = pipeline.stages.memory_of(plan)
        except (pipeline.ModelRefusedError, OSError):
            continue
        yield job.name, memory.model + memory.texts + (memory.cache or 0), memory.parsers


def limits(patient: Patient) -> Iterator[Found]:
    """Tell each limit on a process (getrlimit(2)) that is lower than a run needs, or that none is."""
    files = _soft(resource.RLIMIT_NOFILE)
    told = "any number of files" if files is None else f"{files:,} files"
    found = list(_low_limits(files, patient.machine.memory))
    yield from found_or(found, f"No limit on a process is in the way; it may open {told}.", open_files=files)


def _low_limits(files: int | None, memory: int) -> Iterator[Found]:
    if files is not None and files < _FILES_WANTED:
        sentence = f"A process may open {files} files; runs and the console need up to {_FILES_WANTED:,}."
        remedy = f"raise it: ulimit -n {_FILES_WANTED}, or LimitNOFILE={_FILES_WANTED} in the unit"
        yield (problem if files < _FILES_NEEDED else warning)(sentence, remedy)
    space = _soft(resource.RLIMIT_AS)
    if space is not None and space < memory:
        sentence = f"A process may have {shown_bytes(space)} of addresses; model files are mapped, and need them."
        yield problem(sentence, "lift it: ulimit -v unlimited; limit memory by a cgroup instead (MemoryMax=)")
    size = _soft(resource.RLIMIT_FSIZE)
    if size is not None and size < _FILE_BYTES:
        sentence = f"A process may write files of {shown_bytes(size)} at most; models and their weights are larger."
        yield problem(sentence, "lift it: ulimit -f unlimited, or LimitFSIZE=infinity in the unit")
    processes = _soft(resource.RLIMIT_NPROC)
    if processes is not None and processes < _PROCESSES:
        sentence = f"This user may have {processes} processes and threads; each parser and thread of a run is one."
        yield warning(sentence, f"raise it: ulimit -u {_PROCESSES}, or LimitNPROC={_PROCESSES} in the unit")
    if _soft(resource.RLIMIT_CORE) != 0:
        sentence = "A process that crashes leaves a dump of its memory, with texts of documents."
        yield warning(sentence, "forbid it: ulimit -c 0, or LimitCORE=0 in the unit")


def _soft(which: int) -> int | None:
    """The limit in force; None for none."""
    soft, _ = resource.getrlimit(which)
    return None if soft == resource.RLIM_INFINITY else soft


def sandbox(patient: Patient) -> Iterator[Found]:
    """Start a parser, ask what holds it, and tell what depends on protections that are not in force."""
    site = patient.site if patient.workspace else None
    found = pipeline.inbox.protections_here(site.limits if site else pipeline.Limits())
    lacking = [each for each in found if not each.in_force]
    figures = {"lacking": [each.name for each in lacking]}
    if not lacking:
        yield ok(f"All {len(found)} protections that hold the parsers of documents are in force.", **figures)
        return
    needed = "; ".join(f"{each.name} needs {each.needs}" for each in lacking)
    sentence = f"{len(found) - len(lacking)} of {len(found)} protections of the parsers are in force: {needed}."
    if any(each.for_parsers for each in lacking) and site is not None and site.isolation != "required":
        sentence += " Documents are read all the same, since site.yaml says isolation: best_effort."
        yield warning(sentence, f"{_GIVE}, and write isolation: required", **figures)
    elif any(each.for_parsers for each in lacking):
        remedy = f"{_GIVE}; or, where documents are trusted, write isolation: best_effort under limits: in site.yaml"
        yield stop(f"{sentence} No document is read.", remedy, **figures)
    elif any(each.for_programs for each in lacking):
        yield warning(f"{sentence} Parsers are held, but Tesseract is not started.", _GIVE, **figures)
    else:
        yield warning(f"{sentence} Parsers are held; this would be a second line.", f"{_GIVE}, if you can", **figures)


def kernels(patient: Patient) -> Iterator[Found]:
    """Tell what the first run of each model will have to compile, and whether compiled kernels lie safely."""
    machine = patient.machine
    if not machine.kept:
        sentence = f"Compiled kernels cannot be kept, so each process compiles them anew ({_COMPILING})."
        yield warning(sentence, "set CLOISTER_CACHE to a folder that the user who runs Cloister may write to")
        return
    cache = machine.kernels.parent
    for folder in (cache, machine.kernels):
        status = folder.stat()
        if status.st_mode & 0o022 or status.st_uid not in (os.geteuid(), 0):
            sentence = f"Others may write to {folder}, and what lies there is executed."
            yield problem(sentence, f"chmod go-w {folder}, or chown it to the user who runs Cloister")
            return
    compiled, missing = _kernels(patient)
    if missing:
        names = ", ".join(missing)
        told = f"The first run compiles kernels for {names}, which takes {_COMPILING}; they are then kept in {cache}."
    elif compiled:
        told = f"The kernels of all jobs are compiled for this processor and version, in {cache}."
    else:
        told = f"The first run of a model compiles its kernels, which takes {_COMPILING}; they are kept in {cache}."
    yield ok(told)


def _kernels(patient: Patient) -> tuple[list[str], list[str]]:
    found: tuple[list[str], list[str]] = ([], [])
    for job, plan in patient.plans():
        try:
            _, compiled = pipeline.answer.kernels_of(plan.model.path)
        except (pipeline.ModelRefusedError, OSError):  # which the check of the jobs tells
            continue
        found[not compiled].append(job.name)
    return found


def ocr(patient: Patient) -> Iterator[Found]:
    """Tell the version and the languages of Tesseract, and which job asks for more."""
    found = pipeline.parse.find_tesseract(())
    if isinstance(found, str):
        yield _without_ocr(patient, found)
        return
    figures = {"tesseract": found.version, "languages": sorted(found.languages)}
    told = f"Tesseract {found.version} with {', '.join(sorted(found.languages))}"
    if find_spec("PIL") is None:
        remedy = "install Pillow, which requirements.lock pins (cloister[ocr])"
        yield warning(f"{told} reads scanned PDF files only, since Pillow is not installed.", remedy, **figures)
    else:
        yield ok(f"{told} reads scans.", **figures)
    for job, plan in patient.plans():
        lacking = [each for each in plan.input.ocr.languages if each not in found.languages]
        if plan.input.ocr.enabled and lacking:
            sentence = f"The job {job.name} asks for {', '.join(lacking)}, which Tesseract has not: its scans fail."
            yield stop(sentence, f"{_INSTALL}, or take it out of input.ocr.languages of the job")


def _without_ocr(patient: Patient, reason: str) -> Found:
    figures: dict[str, Figure] = {"tesseract": None, "languages": []}
    asking = [job.name for job, plan in patient.plans() if plan.input.ocr.enabled and plan.input.ocr.languages]
    if asking:
        sentence = f"{reason}, but {', '.join(asking)} asks for languages of it: scans fail as needs_ocr."
        return stop(sentence, f"{_INSTALL}, or write ocr: off under input: in the job", **figures)
    if patient.jobs and not any(plan.input.ocr.enabled for _, plan in patient.plans()):
        return ok(f"{reason}, and no job reads scans.", **figures)
    return warning(f"{reason}: scans and pictures of text fail as needs_ocr.", _INSTALL, **figures)
