#include "trace/engine/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/uapi.h"
#include "sandbox/bpf.h"
#include "trace/observe/syscalls.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define PROGRAM_MAX 1024

struct program {
	struct sock_filter code[PROGRAM_MAX];
	unsigned short len;
};

#define ADD(program, ...) ((program)->code[(program)->len++] = (struct sock_filter)__VA_ARGS__)

/*
 * Add the instructions for one call.  A long filter does not make other calls slower: the kernel
 * remembers which calls the filter allows for all arguments.
 */
static void add_call(struct program *program, const struct syscalls_call *call, uint32_t action)
{
	if (call->unless == SYSCALLS_NONE && call->only == SYSCALLS_NONE) {
		ADD(program, BPF_IF_EQUAL(call->nr, 0, 1));
		ADD(program, BPF_RETURN(action));
		return;
	}
	bool unless = call->unless != SYSCALLS_NONE;
	ADD(program, BPF_IF_EQUAL(call->nr, 0, 4));
	/*
	 * Load only the lower half of the argument: all flags are there.  On a little-endian
	 * machine, the lower half comes first.
	 */
	ADD(program, BPF_LOAD(args[unless ? call->unless : call->only]));
	ADD(program, BPF_IF_ANY(call->bits, !unless, unless));
	ADD(program, BPF_RETURN(SECCOMP_RET_ALLOW));
	ADD(program, BPF_RETURN(action));
}

/*
 * Stop the call if its path may begin at a descriptor, or if its flags have a bit of
 * syscalls_stops_with.  Otherwise allow the call.  A call with a descriptor stops, so that strata
 * can look up the file behind the descriptor while the call waits.  passing.c must have the same
 * rules.
 */
static void add_passing(struct program *program, const struct syscalls_call *call, uint32_t action)
{
	unsigned short start = program->len;

	ADD(program, BPF_IF_EQUAL(call->nr, 0, 0));
	if (call->unless != SYSCALLS_NONE) {
		ADD(program, BPF_LOAD(args[call->unless]));
		ADD(program, BPF_IF_ANY(call->bits, 0, 1));
		ADD(program, BPF_RETURN(SECCOMP_RET_ALLOW));
	}
	if (syscalls_stops_with(call)) {
		ADD(program, BPF_LOAD(args[call->flags]));
		ADD(program, BPF_IF_ANY(syscalls_stops_with(call), 0, 1));
		ADD(program, BPF_RETURN(action));
	}
	if (call->dirfd != SYSCALLS_NONE) {
		ADD(program, BPF_LOAD(args[call->dirfd]));
		ADD(program, BPF_IF_EQUAL((uint32_t)AT_FDCWD, 1, 0));
		ADD(program, BPF_RETURN(action));
	}
	ADD(program, BPF_RETURN(SECCOMP_RET_ALLOW));
	program->code[start].jf = (uint8_t)(program->len - start - 1);
}

static bool does_stop(const struct syscalls_call *call, uint32_t action, bool listings)
{
	bool lists = call->does == SYSCALLS_LIST && call->path == SYSCALLS_NONE;

	return (listings || !lists) &&
	       (action == SECCOMP_RET_TRACE || call->does != SYSCALLS_PTRACE);
}

static void build_filter(struct program *program, uint32_t action, bool listings, bool passing)
{
	ADD(program, BPF_LOAD(arch));
	ADD(program, BPF_IF_EQUAL(BPF_NATIVE_ARCH, 1, 0));
	ADD(program, BPF_RETURN(action));
	ADD(program, BPF_LOAD(nr));
#ifdef __x86_64__
	ADD(program, BPF_IF_LEAST(BPF_X32_BIT, 0, 1));
	ADD(program, BPF_RETURN(action));
#endif
	ADD(program, BPF_IF_EQUAL(SYS_io_uring_setup, 0, 1));
	ADD(program, BPF_RETURN(SECCOMP_RET_ERRNO | ENOSYS));
	for (size_t i = 0; i < syscalls_count; i++) {
		const struct syscalls_call *call = &syscalls_table[i];

		if (passing && syscalls_can_pass(call))
			add_passing(program, call, action);
		else if (does_stop(call, action, listings))
			add_call(program, call, action);
	}
	ADD(program, BPF_RETURN(SECCOMP_RET_ALLOW));
}

static long load_filter(const struct program *program, unsigned flags)
{
	struct sock_fprog filter = { program->len, (struct sock_filter *)program->code };
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);

	if (r < 0 && errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
	return r;
}

static int load_for_action(const struct program *program, uint32_t action)
{
	unsigned flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;

	if (action != SECCOMP_RET_USER_NOTIF)
		return load_filter(program, flags) < 0 ? -errno : 0;
	flags |= SECCOMP_FILTER_FLAG_NEW_LISTENER;
	/*
	 * With this flag (Linux 5.19) no signal except a fatal one interrupts a call while strata
	 * examines it.
	 */
	long r = load_filter(program, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	if (r < 0 && errno == EINVAL)
		r = load_filter(program, flags);
	return r < 0 ? -errno : (int)r;
}

int filter_install(uint32_t action, bool listings, bool passing)
{
	struct program program = { .len = 0 };

	build_filter(&program, action, listings, passing);
	return load_for_action(&program, action);
}

int filter_try(uint32_t action)
{
	struct program program = { .len = 0 };

	ADD(&program, BPF_RETURN(SECCOMP_RET_ALLOW));
	int r = load_for_action(&program, action);
	return r < 0 ? r : 0;
}
