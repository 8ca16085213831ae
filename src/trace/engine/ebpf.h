/*
 * ebpf - a small assembler for programs that run in the kernel, and the bpf(2) calls that load such
 * programs.
 *
 * A program is made by calls of C functions, each of which adds one instruction.  So strata is
 * built without clang and libbpf, and adapts each program to its maps and to the machine.  A jump
 * can only lead forward: its label is placed after the jump.
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
 * The registers.  R0 has the result of a call.  R1 to R5 have the arguments of a call, and lose
 * their values in the call.  R6 to R9 keep their values.  FP is the end of the stack.
 */
enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

struct ebpf {
	struct bpf_insn code[EBPF_CODE_MAX];
	unsigned len;
	/* position of each label in the program, counted from 1; 0: the label is not placed yet */
	unsigned labels[EBPF_LABELS_MAX];
	struct ebpf_jump {
		unsigned at, label;
	} jumps[EBPF_JUMPS_MAX];
	unsigned n_jumps;
};

/*
 * --- instructions ---
 *
 * The first register is the destination.  size is BPF_W (32 bits) or BPF_DW (64 bits).
 */

void ebpf_set(struct ebpf *ebpf, int to, int32_t value);
void ebpf_copy(struct ebpf *ebpf, int to, int from);
/*
 * Apply the operation op to the register and a value.  op is BPF_ADD, BPF_AND, BPF_LSH or similar.
 */
void ebpf_with(struct ebpf *ebpf, int op, int to, int32_t value);
void ebpf_with_register(struct ebpf *ebpf, int op, int to, int from);
void ebpf_load(struct ebpf *ebpf, int size, int to, int from, int offset);
void ebpf_store(struct ebpf *ebpf, int size, int to, int offset, int from);
void ebpf_store_value(struct ebpf *ebpf, int size, int to, int offset, int32_t value);
/*
 * Atomically add a value to the 64-bit number whose address is in the register 'to'.  Overwrites
 * R2.
 */
void ebpf_count(struct ebpf *ebpf, int to, int32_t value);
void ebpf_map(struct ebpf *ebpf, int to, int map);
/*
 * Load the address of a member of the only element of an array map.  The parameter offset is the
 * offset of the member.
 */
void ebpf_member(struct ebpf *ebpf, int to, int map, size_t offset);
void ebpf_call(struct ebpf *ebpf, enum bpf_func_id function);
/*
 * Jump to a label if the comparison of the register a with the value b is true.  The parameter
 * comparison is BPF_JEQ, BPF_JSLT or similar.
 */
void ebpf_jump_if(struct ebpf *ebpf, int comparison, int a, int32_t b, unsigned label);
/* Like ebpf_jump_if, but only the lower 32 bits of the register are compared. */
void ebpf_jump_if32(struct ebpf *ebpf, int comparison, int a, int32_t b, unsigned label);
void ebpf_jump(struct ebpf *ebpf, unsigned label);
void ebpf_label(struct ebpf *ebpf, unsigned label);
void ebpf_exit(struct ebpf *ebpf);

/* --- calls of bpf(2); the descriptors that they return belong to the caller --- */

int ebpf_make_map(
	enum bpf_map_type type, size_t key, size_t value, size_t entries, struct err *err);
/* Get or set an element of a map.  Both functions return 0 or -errno. */
int ebpf_get(int map, const void *key, void *value);
int ebpf_put(int map, const void *key, const void *value);
/*
 * Resolve all jumps, and load the program for a raw tracepoint.  Returns the program's descriptor.
 */
int ebpf_load_program(struct ebpf *ebpf, const char *name, struct err *err);
int ebpf_attach(int program, const char *tracepoint, struct err *err);
/*
 * Returns the number of times that the kernel has skipped the program, because it was already
 * running on the same processor.  Before Linux 5.12 the result is always 0.
 */
uint64_t ebpf_misses(int program);
/* Run the program once in this thread.  Returns 0 or -errno.  Async-signal-safe. */
int ebpf_run(int program);
