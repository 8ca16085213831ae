#include "trace/engine/passing.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "trace/engine/passing_code.h"
#include "trace/observe/syscalls.h"

#define TASKS_MAX 8192
#define WAKE_BYTES ((size_t)64 << 10)
#define FIRST_PID_NAMESPACE 0xEFFFFFFCU /* inode number of the machine's first pid namespace */

enum { ENTER, LEAVE, FORK, END, N_TRACEPOINTS, JOIN = N_TRACEPOINTS, N_PROGRAMS };

static const char *const tracepoints[N_TRACEPOINTS] = {
	[ENTER] = "sys_enter",
	[LEAVE] = "sys_exit",
	[FORK] = "sched_process_fork",
	[END] = "sched_process_exit",
};

struct passing {
	struct passing_maps maps;
	int programs[N_PROGRAMS];
	int links[N_TRACEPOINTS];
	int epoll;
	size_t page; /* number of bytes in a page of memory */
	size_t size; /* number of bytes in the ring */
	/*
	 * Positions in the ring.  They are in memory that is shared with the kernel.  strata writes
	 * only 'consumed'.
	 */
	_Atomic uint64_t *consumed;
	const _Atomic uint64_t *produced;
	/* the ring; it is mapped twice in a row, so that every event is in one piece */
	const char *data;
};

/* --- rules for calls --- */

#define ANY (-1)

/*
 * Calls that may close descriptors.  The number of a closed descriptor may be reused for another
 * file.
 */
static const struct {
	uint32_t nr;
	int fd; /* number of the argument with the descriptor, or ANY */
} closing[] = {
	{ SYS_close, 0 },
	{ SYS_close_range, ANY },
	{ SYS_dup3, 1 },
	{ SYS_execve, ANY },
	{ SYS_execveat, ANY },
	{ SYS_unshare, ANY },
#ifdef SYS_dup2
	{ SYS_dup2, 1 },
#endif
};

static int add_rule(int rules, uint32_t nr, const struct passing_rule *rule, struct err *err)
{
	errno = -ebpf_put(rules, &nr, rule);
	return errno ? err_errno(err, "fill an eBPF map") : 0;
}

static uint32_t index_or(int8_t index, uint32_t otherwise)
{
	return index == SYSCALLS_NONE ? otherwise : (uint32_t)index;
}

static int make_rules(int rules, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < syscalls_count && r >= 0; i++) {
		const struct syscalls_call *call = &syscalls_table[i];
		struct passing_rule rule = {
			.kind = PASSING_SEEN,
			.path = index_or(call->path, PASSING_ARG_ZERO),
			.dirfd = index_or(call->dirfd, PASSING_ARG_CWD),
			.flags = index_or(call->flags, PASSING_ARG_ZERO),
			.unless = syscalls_stops_with(call) | call->bits,
		};

		if (syscalls_can_pass(call))
			r = add_rule(rules, call->nr, &rule, err);
	}
	for (size_t i = 0; i < sizeof(closing) / sizeof(closing[0]) && r >= 0; i++) {
		const struct passing_rule closes = {
			.kind = closing[i].fd == ANY ? PASSING_CLOSES_ANY : PASSING_CLOSES,
			.dirfd = closing[i].fd == ANY ? 0 : (uint32_t)closing[i].fd,
		};

		r = add_rule(rules, closing[i].nr, &closes, err);
	}
	return r;
}

/* --- loading the programs --- */

static int make_maps(struct passing *passing, struct err *err)
{
	struct passing_maps *maps = &passing->maps;

	maps->rules = ebpf_make_map(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t),
		sizeof(struct passing_rule), PASSING_CALLS, err);
	if (maps->rules < 0 || make_rules(maps->rules, err) < 0)
		return -(int)err->code;
	maps->tasks = ebpf_make_map(
		BPF_MAP_TYPE_HASH, sizeof(uint64_t), sizeof(struct passing_task), TASKS_MAX, err);
	if (maps->tasks < 0)
		return maps->tasks;
	maps->counts = ebpf_make_map(
		BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(struct passing_counts), 1, err);
	if (maps->counts < 0)
		return maps->counts;
	maps->ring = ebpf_make_map(BPF_MAP_TYPE_RINGBUF, 0, 0, passing->size, err);
	return maps->ring;
}

static int load_programs(struct passing *passing, struct err *err)
{
	size_t wake = passing->size / 4 < WAKE_BYTES ? passing->size / 4 : WAKE_BYTES;
	struct ebpf code[N_PROGRAMS] = { 0 };

	passing_code_enter(&code[ENTER], &passing->maps, wake);
	passing_code_leave(&code[LEAVE], &passing->maps, wake);
	passing_code_fork(&code[FORK], &passing->maps);
	passing_code_end(&code[END], &passing->maps);
	passing_code_join(&code[JOIN], &passing->maps);
	for (int i = 0; i < N_PROGRAMS; i++) {
		const char *name = i == JOIN ? "join" : tracepoints[i];

		passing->programs[i] = ebpf_load_program(&code[i], name, err);
		if (passing->programs[i] < 0)
			return passing->programs[i];
	}
	return 0;
}

/*
 * Map a part of the ring.  The processes that strata forks (the command and the guardian) do not
 * inherit the mapping.
 */
static void *map_ring(int ring, size_t len, int protection, off_t offset, struct err *err)
{
	void *at = mmap(NULL, len, protection, MAP_SHARED, ring, offset);

	if (at == MAP_FAILED || madvise(at, len, MADV_DONTFORK) < 0) {
		err_errno(err, "map the ring");
		return NULL;
	}
	return at;
}

static int open_ring(struct passing *passing, struct err *err)
{
	/*
	 * The event is edge-triggered, so it wakes the reader only once until passing_wakes is
	 * called.
	 */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int ring = passing->maps.ring;

	passing->consumed = map_ring(ring, passing->page, PROT_READ | PROT_WRITE, 0, err);
	if (!passing->consumed)
		return -(int)err->code;
	passing->produced = map_ring(
		ring, passing->page + 2 * passing->size, PROT_READ, (off_t)passing->page, err);
	if (!passing->produced)
		return -(int)err->code;
	passing->data = (const char *)passing->produced + passing->page;
	passing->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (passing->epoll < 0 || epoll_ctl(passing->epoll, EPOLL_CTL_ADD, ring, &event) < 0)
		return err_errno(err, "wait for the ring");
	return 0;
}

/*
 * Check that this process is in the machine's first pid namespace.  eBPF programs get the process
 * ids of that namespace.
 */
static int check_pid_namespace(struct err *err)
{
	struct stat st;
	owned_fd int ns = at_open_given("/proc/self/ns/pid", O_RDONLY, 0, err);

	if (ns < 0)
		return ns;
	if (fstat(ns, &st) < 0)
		return err_errno(err, "/proc/self/ns/pid");
	if (st.st_ino != FIRST_PID_NAMESPACE)
		return err_set(err, ERR_UNSUPPORTED, "it does not work inside a pid namespace");
	return 0;
}

struct passing *passing_new(size_t ring, struct err *err)
{
	struct passing *passing = mem_zalloc(sizeof(*passing));

	passing->page = (size_t)sysconf(_SC_PAGESIZE);
	passing->size = ring > passing->page ? ring : passing->page;
	passing->epoll = -1;
	passing->maps = (struct passing_maps){ -1, -1, -1, -1 };
	for (int i = 0; i < N_PROGRAMS; i++)
		passing->programs[i] = -1;
	for (int i = 0; i < N_TRACEPOINTS; i++)
		passing->links[i] = -1;
	if (check_pid_namespace(err) >= 0 && make_maps(passing, err) >= 0 &&
		load_programs(passing, err) >= 0 && open_ring(passing, err) >= 0)
		return passing;
	passing_free(passing);
	return NULL;
}

void passing_free(struct passing *passing)
{
	if (!passing)
		return;
	for (int i = 0; i < N_TRACEPOINTS; i++)
		close_fd(&passing->links[i]);
	for (int i = 0; i < N_PROGRAMS; i++)
		close_fd(&passing->programs[i]);
	if (passing->produced)
		(void)munmap((void *)passing->produced, passing->page + 2 * passing->size);
	if (passing->consumed)
		(void)munmap((void *)passing->consumed, passing->page);
	close_fd(&passing->epoll);
	close_fd(&passing->maps.rules);
	close_fd(&passing->maps.tasks);
	close_fd(&passing->maps.ring);
	close_fd(&passing->maps.counts);
	free(passing);
}

int passing_join(const struct passing *passing)
{
	return ebpf_run(passing->programs[JOIN]);
}

int passing_attach(struct passing *passing, struct err *err)
{
	/*
	 * Attach the program for the ends of calls before the program for the beginnings of calls.
	 * So the end of a call is seen whenever its beginning was seen.  The programs for forks and
	 * exits come first, since the others need to know the threads.
	 */
	static const int order[N_TRACEPOINTS] = { FORK, END, LEAVE, ENTER };

	for (int i = 0; i < N_TRACEPOINTS; i++) {
		int which = order[i];

		passing->links[which] =
			ebpf_attach(passing->programs[which], tracepoints[which], err);
		if (passing->links[which] < 0)
			return passing->links[which];
	}
	return 0;
}

/* --- reading the ring --- */

int passing_fd(const struct passing *passing)
{
	return passing->epoll;
}

void passing_wakes(const struct passing *passing)
{
	struct epoll_event ignored;

	(void)epoll_wait(passing->epoll, &ignored, 1, 0);
}

/*
 * Wait until the event at this position of the ring is complete.  Returns the length of the event
 * including its header.  *given is set to false if the event was discarded.
 */
static size_t wait_for_event(const struct passing *passing, uint64_t at, bool *given)
{
	const _Atomic uint32_t *header =
		(const _Atomic uint32_t *)(passing->data + (at & (passing->size - 1)));
	uint32_t word;

	/*
	 * Another processor is still writing the event.  This takes no longer than the run of an
	 * eBPF program.
	 */
	while ((word = atomic_load_explicit(header, memory_order_acquire)) & BPF_RINGBUF_BUSY_BIT)
		(void)sched_yield();
	*given = !(word & BPF_RINGBUF_DISCARD_BIT);
	size_t len = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
	return (len + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

void passing_drain(struct passing *passing,
	void (*give)(void *arg, const struct passing_event *event), void *arg)
{
	uint64_t at = atomic_load_explicit(passing->consumed, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(passing->produced, memory_order_acquire);

	while (at < end) {
		bool given;
		size_t len = wait_for_event(passing, at, &given);
		const char *event = passing->data + (at & (passing->size - 1)) + BPF_RINGBUF_HDR_SZ;

		if (given)
			give(arg, (const struct passing_event *)event);
		at += len;
		atomic_store_explicit(passing->consumed, at, memory_order_release);
	}
}

bool passing_has_open(const struct passing *passing, uint64_t task, uint64_t closes, unsigned fd)
{
	struct passing_task now;

	return ebpf_get(passing->maps.tasks, &task, &now) == 0 && now.closed_any <= closes &&
	       now.closed[fd % PASSING_CLOSED] <= closes;
}

void passing_count_lost(const struct passing *passing, struct passing_lost *lost)
{
	uint32_t first = 0;
	struct passing_counts counts = { 0 };

	(void)ebpf_get(passing->maps.counts, &first, &counts);
	*lost = counts.lost;
	/* The number of misses should be 0, since the programs do not interrupt each other. */
	for (int i = 0; i < N_TRACEPOINTS; i++)
		lost->events += ebpf_misses(passing->programs[i]);
}
