#include "trace/engine/ebpf.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The licence of strata's eBPF programs, as strata tells it to the kernel.  Unless the licence is
 * compatible with the GPL, the kernel refuses the helper functions that read memory.
 */
#define LICENCE "Dual MIT/GPL"

/* --- instructions --- */

static void add_instruction(
	struct ebpf *ebpf, int code, int to, int from, int offset, int32_t value)
{
	assert(ebpf->len < EBPF_CODE_MAX);
	ebpf->code[ebpf->len++] = (struct bpf_insn){
		.code = (uint8_t)code,
		.dst_reg = (uint8_t)(to & 0xf),
		.src_reg = (uint8_t)(from & 0xf),
		.off = (int16_t)offset,
		.imm = value,
	};
}

void ebpf_set(struct ebpf *ebpf, int to, int32_t value)
{
	add_instruction(ebpf, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

void ebpf_copy(struct ebpf *ebpf, int to, int from)
{
	add_instruction(ebpf, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

void ebpf_with(struct ebpf *ebpf, int op, int to, int32_t value)
{
	add_instruction(ebpf, BPF_ALU64 | op | BPF_K, to, 0, 0, value);
}

void ebpf_with_register(struct ebpf *ebpf, int op, int to, int from)
{
	add_instruction(ebpf, BPF_ALU64 | op | BPF_X, to, from, 0, 0);
}

void ebpf_load(struct ebpf *ebpf, int size, int to, int from, int offset)
{
	add_instruction(ebpf, BPF_LDX | size | BPF_MEM, to, from, offset, 0);
}

void ebpf_store(struct ebpf *ebpf, int size, int to, int offset, int from)
{
	add_instruction(ebpf, BPF_STX | size | BPF_MEM, to, from, offset, 0);
}

void ebpf_store_value(struct ebpf *ebpf, int size, int to, int offset, int32_t value)
{
	add_instruction(ebpf, BPF_ST | size | BPF_MEM, to, 0, offset, value);
}

void ebpf_count(struct ebpf *ebpf, int to, int32_t value)
{
	ebpf_set(ebpf, R2, value);
	add_instruction(ebpf, BPF_STX | BPF_DW | BPF_ATOMIC, to, R2, 0, BPF_ADD);
}

/* Loading 64 bits, such as the address of a map, takes two instructions. */
void ebpf_map(struct ebpf *ebpf, int to, int map)
{
	add_instruction(ebpf, BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_FD, 0, map);
	add_instruction(ebpf, 0, 0, 0, 0, 0);
}

void ebpf_member(struct ebpf *ebpf, int to, int map, size_t offset)
{
	add_instruction(ebpf, BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_VALUE, 0, map);
	add_instruction(ebpf, 0, 0, 0, 0, (int32_t)offset);
}

void ebpf_call(struct ebpf *ebpf, enum bpf_func_id function)
{
	add_instruction(ebpf, BPF_JMP | BPF_CALL, 0, 0, 0, (int32_t)function);
}

static void note_jump(struct ebpf *ebpf, unsigned label)
{
	assert(ebpf->n_jumps < EBPF_JUMPS_MAX && label < EBPF_LABELS_MAX);
	ebpf->jumps[ebpf->n_jumps++] = (struct ebpf_jump){ ebpf->len, label };
}

void ebpf_jump_if(struct ebpf *ebpf, int comparison, int a, int32_t b, unsigned label)
{
	note_jump(ebpf, label);
	add_instruction(ebpf, BPF_JMP | comparison | BPF_K, a, 0, 0, b);
}

void ebpf_jump_if32(struct ebpf *ebpf, int comparison, int a, int32_t b, unsigned label)
{
	note_jump(ebpf, label);
	add_instruction(ebpf, BPF_JMP32 | comparison | BPF_K, a, 0, 0, b);
}

void ebpf_jump(struct ebpf *ebpf, unsigned label)
{
	note_jump(ebpf, label);
	add_instruction(ebpf, BPF_JMP | BPF_JA, 0, 0, 0, 0);
}

void ebpf_label(struct ebpf *ebpf, unsigned label)
{
	assert(label < EBPF_LABELS_MAX && !ebpf->labels[label]);
	ebpf->labels[label] = ebpf->len + 1;
}

void ebpf_exit(struct ebpf *ebpf)
{
	ebpf_set(ebpf, R0, 0);
	add_instruction(ebpf, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static void resolve_jumps(struct ebpf *ebpf)
{
	for (unsigned i = 0; i < ebpf->n_jumps; i++) {
		const struct ebpf_jump *jump = &ebpf->jumps[i];

		assert(ebpf->labels[jump->label] > jump->at);
		ebpf->code[jump->at].off = (int16_t)(ebpf->labels[jump->label] - 1 - jump->at - 1);
	}
}

/* --- calls of bpf(2) --- */

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

int ebpf_make_map(enum bpf_map_type type, size_t key, size_t value, size_t entries, struct err *err)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = (uint32_t)key;
	attr.value_size = (uint32_t)value;
	attr.max_entries = (uint32_t)entries;
	int fd = bpf(BPF_MAP_CREATE, &attr);
	return fd < 0 ? err_errno(err, "make an eBPF map") : fd;
}

static int map_element(enum bpf_cmd command, int map, const void *key, const void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	return bpf(command, &attr) < 0 ? -errno : 0;
}

int ebpf_get(int map, const void *key, void *value)
{
	return map_element(BPF_MAP_LOOKUP_ELEM, map, key, value);
}

int ebpf_put(int map, const void *key, const void *value)
{
	return map_element(BPF_MAP_UPDATE_ELEM, map, key, value);
}

int ebpf_load_program(struct ebpf *ebpf, const char *name, struct err *err)
{
	union bpf_attr attr;

	resolve_jumps(ebpf);
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uintptr_t)ebpf->code;
	attr.insn_cnt = ebpf->len;
	attr.license = (uintptr_t)LICENCE;
	memccpy(attr.prog_name, name, '\0', sizeof(attr.prog_name) - 1);
	int fd = bpf(BPF_PROG_LOAD, &attr);
	return fd < 0 ? err_errno(err, "load the eBPF program %s", name) : fd;
}

int ebpf_attach(int program, const char *tracepoint, struct err *err)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (uintptr_t)tracepoint;
	attr.raw_tracepoint.prog_fd = (uint32_t)program;
	int fd = bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	return fd < 0 ? err_errno(err, "attach to the tracepoint %s", tracepoint) : fd;
}

uint64_t ebpf_misses(int program)
{
	struct bpf_prog_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)program;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) < 0 ? 0 : info.recursion_misses;
}

int ebpf_run(int program)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)program;
	return bpf(BPF_PROG_TEST_RUN, &attr) < 0 ? -errno : 0;
}
