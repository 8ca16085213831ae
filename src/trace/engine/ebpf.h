/*
 * ebpf - a small assembler for programs that run in the kernel, and the bpf(2) calls that load
 * them.
 *
 * A program is written by calls of C functions, each of which adds an instruction.  So the build
 * needs neither clang nor libbpf, a static strata has everything in it, and a program can be fitted
 * to the maps and the machine.  Jumps lead forward, to labels.
 */
#pragma once
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define EBPF_CODE_MAX 512
#define EBPF_LABELS_MAX 32
#define EBPF_JUMPS_MAX 64

/*
 * R0: result; R1 to R5: arguments, overwritten by each call; R6 to R9: kept; FP: end of the stack.
 */
enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

struct ebpf {
	struct bpf_insn code[EBPF_CODE_MAX];
	unsigned len;
	unsigned labels[EBPF_LABELS_MAX]; /* positions, counted from 1; 0: not placed */
	struct ebpf_jump {
		unsigned at, label;
	} jumps[EBPF_JUMPS_MAX];
	unsigned n_jumps;
};

/* --- instructions: the destination comes first; size is BPF_W (32 bits) or BPF_DW (64) --- */

void ebpf_set(struct ebpf *ebpf, int to, int32_t value);
void ebpf_copy(struct ebpf *ebpf, int to, int from);
/* op: BPF_ADD, BPF_AND, BPF_LSH and the like. */
void ebpf_with(struct ebpf *ebpf, int op, int to, int32_t value);
void ebpf_with_register(struct ebpf *ebpf, int op, int to, int from);
void ebpf_load(struct ebpf *ebpf, int size, int to, int from, int offset);
void ebpf_store(struct ebpf *ebpf, int size, int to, int offset, int from);
void ebpf_store_value(struct ebpf *ebpf, int size, int to, int offset, int32_t value);
/* Add value atomically to the 64 bits at the address in the register to.  Overwrites R2. */
void ebpf_count(struct ebpf *ebpf, int to, int32_t value);
void ebpf_map(struct ebpf *ebpf, int to, int map);
/* Load the address of a member of the only element of an array map: the byte at offset. */
void ebpf_member(struct ebpf *ebpf, int to, int map, size_t offset);
void ebpf_call(struct ebpf *ebpf, enum bpf_func_id function);
/* comparison: BPF_JEQ, BPF_JSLT and the like. */
void ebpf_jump_if(struct ebpf *ebpf, int comparison, int a, int32_t b, unsigned label);
/* The same for the lower 32 bits. */
void ebpf_jump_if32(struct ebpf *ebpf, int comparison, int a, int32_t b, unsigned label);
void ebpf_jump(struct ebpf *ebpf, unsigned label);
void ebpf_label(struct ebpf *ebpf, unsigned label);
void ebpf_exit(struct ebpf *ebpf);

/* --- calls of bpf(2); the descriptors that they return belong to the caller --- */

int ebpf_make_map(
	enum bpf_map_type type, size_t key, size_t value, size_t entries, struct err *err);
/* Both return 0 or -errno. */
int ebpf_get(int map, const void *key, void *value);
int ebpf_put(int map, const void *key, const void *value);
/* Resolve all jumps, and load the program as one for a raw tracepoint. */
int ebpf_load_program(struct ebpf *ebpf, const char *name, struct err *err);
int ebpf_attach(int program, const char *tracepoint, struct err *err);
/*
 * Returns how often the kernel has skipped the program because it was already running on that
 * processor.  This is always 0 before Linux 5.12.
 */
uint64_t ebpf_misses(int program);
/* Run the program once in this thread.  Returns 0 or -errno; async-signal-safe. */
int ebpf_run(int program);
