/* bpf - the instructions that seccomp filters consist of. */
#pragma once
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define BPF_NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define BPF_NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif
#define BPF_X32_BIT 0x40000000 /* this bit marks the call numbers of x32 */

#define BPF_LOAD(field)                                                                            \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define BPF_MASK(bits) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (bits))
#define BPF_IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define BPF_IF_LEAST(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), (yes), (no))
#define BPF_IF_ANY(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))
#define BPF_RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
