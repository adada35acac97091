/* AMX tiles of int8 on a processor without them, for LD_PRELOAD: each instruction raises SIGILL, is executed here, slowly,
   and skipped. The process then finds the flags of AMX in /proc/cpuinfo, and the kernel's permission granted.

   Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18, and volume 2 for the
   encodings. What a processor would refuse ends the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} Config;

static __thread Config config __attribute__((tls_model("initial-exec")));
static __thread uint8_t tiles[8][16][64] __attribute__((tls_model("initial-exec")));

static const int REGISTERS[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

/* An instruction of the kind VEX.128.pp.0F38.W0 opcode /r. */
typedef struct {
    int prefix, opcode, mode, reg, rm, other; /* pp, ModRM's fields, and the register of vvvv */
    uint64_t base, stride;                    /* of memory: where, and the index times its scale */
    const uint8_t *end;
} Instruction;

enum { NONE, P66, PF3, PF2 };

static void refuse(const char *why, const uint8_t *at) {
    fprintf(stderr, "AMX emulator: %s: %02x %02x %02x %02x %02x\n", why, at[0], at[1], at[2], at[3], at[4]);
    abort();
}

static int64_t signed32(const uint8_t *at) {
    int32_t value;
    memcpy(&value, at, 4);
    return value;
}

static Instruction decode(const uint8_t *at, const greg_t *general) {
    if (at[0] != 0xc4 || (at[1] & 31) != 2 || at[2] & 0x84) refuse("not of AMX", at);
    Instruction found = {.prefix = at[2] & 3, .opcode = at[3], .mode = at[4] >> 6, .reg = at[4] >> 3 & 7,
                         .rm = at[4] & 7, .other = ~at[2] >> 3 & 15, .end = at + 5};
    if (found.mode == 3) return found;
    int more_index = at[1] & 0x40 ? 0 : 8, more_base = at[1] & 0x20 ? 0 : 8, relative = 0;
    if (found.rm == 4) {
        uint8_t sib = *found.end++;
        int index = (sib >> 3 & 7) + more_index;
        if (index != 4) found.stride = (uint64_t)general[REGISTERS[index]] << (sib >> 6);
        if (found.mode || (sib & 7) != 5)
            found.base = general[REGISTERS[(sib & 7) + more_base]];
        else
            found.mode = 2;
    } else if (found.mode == 0 && found.rm == 5) {
        relative = 1;
        found.mode = 2;
    } else
        found.base = general[REGISTERS[found.rm + more_base]];
    if (found.mode == 1) found.base += (int8_t)*found.end;
    if (found.mode == 2) found.base += signed32(found.end);
    found.end += found.mode == 1 ? 1 : found.mode == 2 ? 4 : 0;
    if (relative) found.base += (uint64_t)found.end;
    return found;
}

static void configure(Instruction i, const uint8_t *at) {
    memset(tiles, 0, sizeof tiles);
    memcpy(&config, (void *)(i.base + i.stride), sizeof config);
    int wrong = config.palette != 1 || config.start_row;
    for (int t = 0; t < 16; t++) {
        int most_rows = t < 8 ? 16 : 0;
        wrong |= config.rows[t] > most_rows || config.row_bytes[t] > 4 * most_rows;
        wrong |= !config.rows[t] != !config.row_bytes[t];
    }
    if (wrong) refuse("a configuration that cannot be", at);
}

static void move(Instruction i, const uint8_t *at) {
    if (!config.rows[i.reg]) refuse("a tile without configuration", at);
    if (i.prefix != PF3) memset(tiles[i.reg], 0, sizeof tiles[i.reg]);
    for (int r = 0; r < config.rows[i.reg]; r++) {
        void *memory = (void *)(i.base + r * i.stride), *row = tiles[i.reg][r];
        if (i.prefix == PF3)
            memcpy(memory, row, config.row_bytes[i.reg]);
        else
            memcpy(row, memory, config.row_bytes[i.reg]);
    }
}

static void multiply(Instruction i, const uint8_t *at) {
    int to = i.reg, left = i.rm, right = i.other, columns = config.row_bytes[to] / 4;
    if (to == left || to == right || left == right || right > 7) refuse("tiles that are the same", at);
    if (!config.rows[left] || config.rows[to] != config.rows[left] || config.row_bytes[to] != config.row_bytes[right] ||
        config.row_bytes[left] != 4 * config.rows[right])
        refuse("tiles whose sizes do not fit", at);
    int left_signed = i.prefix == PF2 || i.prefix == PF3, right_signed = i.prefix == PF2 || i.prefix == P66;
    for (int r = 0; r < config.rows[to]; r++)
        for (int c = 0; c < columns; c++) {
            uint32_t sum;
            memcpy(&sum, &tiles[to][r][4 * c], 4);
            for (int k = 0; k < config.row_bytes[left]; k++) {
                uint8_t x = tiles[left][r][k], y = tiles[right][k / 4][4 * c + k % 4];
                sum += (uint32_t)((left_signed ? (int8_t)x : x) * (right_signed ? (int8_t)y : y));
            }
            memcpy(&tiles[to][r][4 * c], &sum, 4);
        }
}

static void execute(int number, siginfo_t *info, void *context) {
    greg_t *general = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *at = (const uint8_t *)general[REG_RIP];
    Instruction i = decode(at, general);
    if (i.opcode == 0x49 && i.prefix == NONE && i.mode != 3)
        configure(i, at);
    else if (i.opcode == 0x49 && i.prefix == NONE) {
        memset(&config, 0, sizeof config);
        memset(tiles, 0, sizeof tiles);
    } else if (i.opcode == 0x49 && i.prefix == PF2 && config.rows[i.reg])
        memset(tiles[i.reg], 0, sizeof tiles[i.reg]);
    else if (i.opcode == 0x4b && i.prefix != NONE && i.mode != 3)
        move(i, at);
    else if (i.opcode == 0x5e && i.mode == 3)
        multiply(i, at);
    else
        refuse("not known", at);
    general[REG_RIP] = (greg_t)i.end;
}

__attribute__((constructor)) static void begin(void) {
    struct sigaction action = {.sa_sigaction = execute, .sa_flags = SA_SIGINFO | SA_NODEFER};
    REAL(sigaction)(SIGILL, &action, NULL);
}

/* Python's faulthandler shall not take the signal away. */
int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    if (number != SIGILL || !action) return REAL(sigaction)(number, action, before);
    if (before) memset(before, 0, sizeof *before);
    return 0;
}

/* arch_prctl(ARCH_REQ_XCOMP_PERM), the permission, is granted. */
long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    return number == 158 && a[0] == 0x1023 ? 0 : REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* /proc/cpuinfo with the flags of AMX. */
static int cpuinfo(void) {
    static const char flags[] = "flags\t", more[] = "amx_tile amx_int8 ";
    FILE *from = REAL(fopen)("/proc/cpuinfo", "r");
    int to = memfd_create("cpuinfo", MFD_CLOEXEC);
    char line[1 << 16];
    while (from && to >= 0 && fgets(line, sizeof line, from)) {
        char *value = strncmp(line, flags, strlen(flags)) ? NULL : strstr(line, ": ");
        int head = value ? (int)(value + 2 - line) : 0;
        dprintf(to, "%.*s%s%s", head, line, value ? more : "", line + head);
    }
    if (from) fclose(from);
    lseek(to, 0, SEEK_SET);
    return to;
}

#define OPENS(name)                                                                                      \
    int name(const char *path, int flags, ...) {                                                         \
        va_list list;                                                                                    \
        va_start(list, flags);                                                                           \
        int mode = va_arg(list, int);                                                                    \
        va_end(list);                                                                                    \
        return path && !strcmp(path, "/proc/cpuinfo") ? cpuinfo() : REAL(name)(path, flags, mode);       \
    }
OPENS(open)
OPENS(open64)
