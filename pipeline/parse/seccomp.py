"""The filter of system calls, as classic BPF (linux/filter.h, linux/seccomp.h); numbers of x86-64.

A list of what is denied, not of what is allowed: libc and the kernel may add harmless calls, and the door that matters,
a new descriptor, is shut by few of them.
"""

import errno
import struct

# fmt: off
DENIED = {
    "open": 2, "creat": 85, "openat": 257, "openat2": 437, "open_by_handle_at": 304, "open_tree": 428,
    "memfd_create": 319,
    "socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50, "socketpair": 53, "accept4": 288,
    "clone": 56, "fork": 57, "vfork": 58, "clone3": 435, "execve": 59, "execveat": 322,
    "kill": 62, "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "pidfd_send_signal": 424,
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_open": 434, "pidfd_getfd": 438,
    "truncate": 76, "rename": 82, "mkdir": 83, "rmdir": 84, "link": 86, "unlink": 87, "symlink": 88, "readlink": 89,
    "chmod": 90, "chown": 92, "lchown": 94, "mknod": 133, "utime": 132, "utimes": 235, "mkdirat": 258, "mknodat": 259,
    "fchownat": 260, "futimesat": 261, "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266,
    "readlinkat": 267, "fchmodat": 268, "utimensat": 280, "renameat2": 316, "setxattr": 188, "lsetxattr": 189,
    "chdir": 80, "chroot": 161, "pivot_root": 155, "mount": 165, "umount2": 166, "move_mount": 429, "fsopen": 430,
    "unshare": 272, "setns": 308, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425,
    "add_key": 248, "request_key": 249, "keyctl": 250, "init_module": 175, "finit_module": 313, "personality": 135,
    "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240,
}
# fmt: on
_ITS_OWN = {"open", "openat", "openat2", "readlink", "readlinkat", "clone", "clone3", "execve", "chdir"}
OF_PROGRAMS = {name: number for name, number in DENIED.items() if name not in _ITS_OWN}
"""What is denied to another program, which has to open its own files."""
_TGKILL = 234

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K, BPF_RET|K
_NUMBER, _ARCH, _ARGUMENT_0 = 0, 4, 16  # offsets in struct seccomp_data
_X86_64 = 0xC000003E  # AUDIT_ARCH_X86_64
_X32 = 0x40000000  # the bit of the x32 calls, which are denied
_ALLOW, _KILL, _DENY = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EACCES


def program(denied: dict[str, int], pid: int) -> bytes:
    """The instructions (struct sock_filter: u16 code, u8 jump if true, u8 jump if false, u32 k) that refuse `denied`.

    Refused calls fail with EACCES. tgkill is allowed for `pid` alone, because abort() is made of it.
    """
    numbers = sorted(denied.values())
    deny = 9 + len(numbers)  # the index of the last instruction
    code = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, _X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, deny - 5, 0, _X32),
        *((_EQUAL, deny - place - 1, 0, number) for place, number in enumerate(numbers, start=5)),
        (_EQUAL, 0, 2, _TGKILL),
        (_LOAD, 0, 0, _ARGUMENT_0),
        (_EQUAL, 0, 1, pid),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _DENY),
    ]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)
