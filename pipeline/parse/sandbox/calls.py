"""The system calls that a locked process may make: a name, its numbers, why it is needed, and with which arguments.

Found by tracing every parser over every format (`python -m tests.pipeline.parse.traced FOLDER`), then widened by what
other versions of libc use in place of those calls and what does no harm. Whatever stands in no table here is refused.
"""

from pipeline.kernel.call import LONG, SELF, WORD, Call, Check, one_of


def _without(argument: int, bits: int) -> tuple[tuple[Check, ...], ...]:
    return ((Check(argument, bits, 0),),)


_PROT_EXEC, _PROT_WRITE = 4, 2  # asm-generic/mman-common.h
_F_DUPFD, _F_GETFD, _F_SETFD, _F_GETFL, _F_DUPFD_CLOEXEC = 0, 1, 2, 3, 1030  # linux/fcntl.h
_TCGETS, _FIONBIO, _FIOCLEX = 0x5401, 0x5421, 0x5451  # asm-generic/ioctls.h
_TIOCGWINSZ = 0x5413
_RLIMIT_CPU = 0
_CHANGES_FILES = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000 | 0o20000000  # WRONLY, RDWR, CREAT, TRUNC, APPEND, TMPFILE

_OWN_LIMITS = (
    (Check(0, WORD, 0), Check(2, LONG, 0)),  # to read one's own
    (
        Check(0, WORD, 0),
        Check(1, WORD, _RLIMIT_CPU),
    ),  # to be given time for a document; what the parent waits is less
)

# fmt: off
_BOTH: dict[str, Call] = {
    # What is open already
    "read": Call(0, 63, "a document's bytes, a picture"),
    "readv": Call(19, 65, "as read, in libc's buffered reading"),
    "pread64": Call(17, 67, "a document's bytes by position"),
    "preadv": Call(295, 69, "as pread64"),
    "preadv2": Call(327, 286, "as pread64"),
    "write": Call(1, 64, "text that was recognised; messages that libraries print, to /dev/null"),
    "writev": Call(20, 66, "as write, in libc's buffered writing"),
    "lseek": Call(8, 62, "libraries ask where a file ends; no descriptor shares its place with the parent's"),
    "fstat": Call(5, 80, "the size of an open file"),
    "close": Call(3, 57, "a document that is read"),
    "fcntl": Call(72, 25, "flags of descriptors; not owners, signals, leases or locks",
                  one_of(1, _F_DUPFD, _F_GETFD, _F_SETFD, _F_GETFL, _F_DUPFD_CLOEXEC)),
    "ioctl": Call(16, 29, "whether it is a terminal; whether reading waits",
                  one_of(1, _TCGETS, _TIOCGWINSZ, _FIONBIO, _FIOCLEX)),
    "poll": Call(7, None, "waiting for the parent, in some versions of libc"),
    "ppoll": Call(271, 73, "as poll"),
    # Memory
    "brk": Call(12, 214, "malloc"),
    "munmap": Call(11, 215, "free"),
    "mremap": Call(25, 216, "realloc"),
    "madvise": Call(28, 233, "free, in some versions of libc"),
    "mprotect": Call(10, 226, "guard pages, and what is constant after linking; never to run code",
                     _without(2, _PROT_EXEC)),
    # Time, chance and the process itself
    "clock_gettime": Call(228, 113, "time, where it is not read without a call"),
    "clock_getres": Call(229, 114, "as clock_gettime"),
    "gettimeofday": Call(96, 169, "as clock_gettime"),
    "time": Call(201, None, "as clock_gettime"),
    "clock_nanosleep": Call(230, 115, "sleeping"),
    "nanosleep": Call(35, 101, "as clock_nanosleep"),
    "getrandom": Call(318, 278, "seeds of tables and of malloc"),
    "getpid": Call(39, 172, "abort"),
    "gettid": Call(186, 178, "abort"),
    "getppid": Call(110, 173, "harmless, asked for by libraries"),
    "getuid": Call(102, 174, "as getppid"),
    "geteuid": Call(107, 175, "as getppid"),
    "getgid": Call(104, 176, "as getppid"),
    "getegid": Call(108, 177, "as getppid"),
    "uname": Call(63, 160, "as getppid"),
    "sysinfo": Call(99, 179, "the size of memory, by which sorting and caches are chosen"),
    "getcpu": Call(309, 168, "allocators with a heap for each CPU"),
    "sched_yield": Call(24, 124, "locks"),
    "sched_getaffinity": Call(204, 123, "the number of CPUs; of itself alone", one_of(0, 0, SELF)),
    "getrusage": Call(98, 165, "how much time a document has used"),
    "times": Call(100, 153, "as getrusage"),
    "prlimit64": Call(302, 261, "its own limits: all may be read, that of CPU time may be set", _OWN_LIMITS),
    "futex": Call(202, 98, "locks"),
    "futex_waitv": Call(449, 449, "as futex"),
    "membarrier": Call(324, 283, "locks, in some libraries"),
    # Signals of its own, and the end
    "rt_sigaction": Call(13, 134, "abort and the handlers of Python"),
    "rt_sigprocmask": Call(14, 135, "abort"),
    "rt_sigreturn": Call(15, 139, "the end of a handler"),
    "sigaltstack": Call(131, 132, "handlers of stack overflows"),
    "restart_syscall": Call(219, 128, "the kernel itself, after a stop"),
    "tgkill": Call(234, 131, "abort; to itself alone", one_of(0, SELF)),
    "tkill": Call(200, 130, "as tgkill, in musl", one_of(0, SELF)),
    "exit": Call(60, 93, "the end"),
    "exit_group": Call(231, 94, "the end"),
}

OF_CHILDREN: dict[str, Call] = _BOTH | {
    "pwrite64": Call(18, 68, "what is unpacked, into the file for it"),
    "pwritev": Call(296, 70, "as pwrite64"),
    "recvmsg": Call(47, 212, "a request, with descriptors"),
    "recvfrom": Call(45, 207, "a request"),
    "sendto": Call(44, 206, "an answer, to the parent alone", ((Check(4, LONG, 0),),)),
    "mmap": Call(9, 222, "memory, never to run code", _without(2, _PROT_EXEC)),
}
"""What a parser's child may do. It has its code, its channel and its document when it is locked: nothing is opened by a
name, and not even looked at by one."""

OF_PROGRAMS: dict[str, Call] = _BOTH | {
    "execve": Call(59, 221, "becoming the program; another one would be held to the same"),
    "mmap": Call(9, 222, "memory and libraries; nothing that can be both written and run",
                 ((Check(2, _PROT_EXEC, 0),), (Check(2, _PROT_WRITE, 0),))),
    "open": Call(2, None, "libraries and language data, to be read (Landlock says which)", _without(1, _CHANGES_FILES)),
    "openat": Call(257, 56, "as open", _without(2, _CHANGES_FILES)),
    "stat": Call(4, None, "whether a library is there"),
    "lstat": Call(6, None, "as stat"),
    "newfstatat": Call(262, 79, "as stat"),
    "statx": Call(332, 291, "as stat"),
    "access": Call(21, None, "as stat"),
    "faccessat": Call(269, 48, "as stat"),
    "faccessat2": Call(439, 439, "as stat"),
    "readlink": Call(89, None, "where the program lies"),
    "readlinkat": Call(267, 78, "as readlink"),
    "getcwd": Call(79, 17, "as readlink"),
    "getdents64": Call(217, 61, "which languages there are"),
    "fadvise64": Call(221, 223, "libc, before it reads a file"),
    "arch_prctl": Call(158, None, "the program's start: storage of its thread"),
    "set_tid_address": Call(218, 96, "as arch_prctl"),
    "set_robust_list": Call(273, 99, "as arch_prctl"),
    "rseq": Call(334, 293, "as arch_prctl"),
}
"""What another program may do, which has to load itself. It starts no thread and no process."""
# fmt: on
