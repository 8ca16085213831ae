#include "trace/observe/tracees.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/resource.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/procfile.h"
#include "core/uapi.h"
#include "sandbox/threadview.h"

#define BUCKETS 1024     /* of the hash table of running threads */
#define PID_BUCKETS 4096 /* of the hash table of all processes, including those that have ended */
#define ARGV_POINTERS_MAX 4096
#define REAPED_AT_ONCE 64
#define ANCESTORS_MAX 256
#define STATUS_MAX ((size_t)64 << 10)
/* number of bytes; a process does not take over a longer command line from its parent */
#define INHERITED_ARGV_MAX 4096

struct tracees {
	struct tracee *buckets[BUCKETS];
	struct process *processes;
	size_t n_processes, cap_processes;
	/* index of the newest process in each bucket, plus 1; 0: the bucket is empty */
	uint32_t by_pid[PID_BUCKETS];
	uint64_t cwd_changes; /* counts the calls that may change a working directory */
	/* number of threads whose last call may change a working directory */
	unsigned n_changing_cwd;
	int epoll;
	uint32_t end_event; /* the event of epoll by which a pidfd reports the end of its process */
	/* a pidfd with a higher number is closed, to leave descriptors for other uses */
	int pidfd_max;
};

/*
 * Choose the epoll event that reports the end of a process.
 *
 * Since Linux 6.15 the exit status can be read from a pidfd, once the process has been waited for.
 * EPOLLHUP reports that moment.  The kernel reports EPOLLHUP without being asked, so no event has
 * to be requested, and the result is 0.  Kernels before 6.13, which lack UAPI_PIDFD_GET_INFO, may
 * not report EPOLLHUP, so the result is EPOLLIN.
 */
static uint32_t choose_end_event(void)
{
	struct uapi_pidfd_info info = { .mask = UAPI_PIDFD_INFO_EXIT };
	owned_fd int self = pidfd_open(getpid(), 0);

	return self >= 0 && ioctl(self, UAPI_PIDFD_GET_INFO, &info) == 0 ? 0 : EPOLLIN;
}

struct tracees *tracees_new(struct err *err)
{
	struct tracees *tracees = mem_zalloc(sizeof(*tracees));
	struct rlimit files;

	tracees->end_event = choose_end_event();
	tracees->epoll = epoll_create1(EPOLL_CLOEXEC);
	tracees->pidfd_max = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < INT_MAX
				     ? (int)(files.rlim_cur / 2)
				     : INT_MAX / 2;
	if (tracees->epoll >= 0)
		return tracees;
	err_errno(err, "make an epoll descriptor");
	free(tracees);
	return NULL;
}

void tracees_free(struct tracees *tracees)
{
	if (!tracees)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct tracee *tracee = tracees->buckets[i], *next; tracee; tracee = next) {
			next = tracee->chain;
			free(tracee);
		}
	for (size_t i = 0; i < tracees->n_processes; i++) {
		buf_release(&tracees->processes[i].argv);
		close_fd(&tracees->processes[i].pidfd);
	}
	free(tracees->processes);
	close_fd(&tracees->epoll);
	free(tracees);
}

/* --- processes --- */

size_t tracees_count(const struct tracees *tracees)
{
	return tracees->n_processes;
}

struct process *tracees_process(struct tracees *tracees, size_t index)
{
	return &tracees->processes[index];
}

struct process *tracees_by_pid(struct tracees *tracees, pid_t pid)
{
	uint32_t at = tracees->by_pid[(unsigned)pid % PID_BUCKETS];

	while (at && tracees->processes[at - 1].pid != pid)
		at = tracees->processes[at - 1].older;
	return at ? &tracees->processes[at - 1] : NULL;
}

static int watch_process(struct tracees *tracees, pid_t pid, size_t index)
{
	int fd = pidfd_open(pid, 0);
	struct epoll_event event = { .events = tracees->end_event, .data.u64 = index };

	/*
	 * If there are many processes, some get no pidfd.  Descriptors are needed more for contents
	 * than for exit statuses.
	 */
	if (fd > tracees->pidfd_max)
		close_fd(&fd);
	if (fd >= 0 && epoll_ctl(tracees->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		close_fd(&fd);
	return fd;
}

static uint32_t add_process(struct tracees *tracees, pid_t pid, pid_t ppid)
{
	uint32_t *bucket = &tracees->by_pid[(unsigned)pid % PID_BUCKETS];
	size_t index = tracees->n_processes;

	mem_grow(&tracees->processes, &tracees->cap_processes, index);
	tracees->processes[index] = (struct process){
		.pid = pid,
		.ppid = ppid,
		.argv.max = TRACEES_ARGV_MAX,
		.status = -1,
		.pidfd = watch_process(tracees, pid, index),
		.older = *bucket,
	};
	tracees->n_processes++;
	*bucket = (uint32_t)index + 1;

	/* A new process has the command line of its parent until it executes a program. */
	struct process *parent = tracees_by_pid(tracees, ppid);
	if (parent && parent->argv.len && parent->argv.len <= INHERITED_ARGV_MAX)
		buf_add(&tracees->processes[index].argv, parent->argv.data, parent->argv.len);
	return (uint32_t)index;
}

static void forget_threads(struct tracees *tracees, uint32_t process, struct pathmap *map)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct tracee **link = &tracees->buckets[i]; *link;) {
			struct tracee *tracee = *link;

			if (tracee->process != process) {
				link = &tracee->chain;
				continue;
			}
			tracees_settle(tracees, tracee, map);
			*link = tracee->chain;
			free(tracee);
		}
}

static void note_process_end(struct process *process)
{
	struct uapi_pidfd_info info = { .mask = UAPI_PIDFD_INFO_EXIT };

	if (ioctl(process->pidfd, UAPI_PIDFD_GET_INFO, &info) == 0 &&
		info.mask & UAPI_PIDFD_INFO_EXIT)
		process->status = info.exit_code;
	process->ended = true;
	close_fd(&process->pidfd);
}

int tracees_fd(const struct tracees *tracees)
{
	return tracees->epoll;
}

void tracees_reap(struct tracees *tracees, struct pathmap *map)
{
	struct epoll_event events[REAPED_AT_ONCE];
	int n = epoll_wait(tracees->epoll, events, REAPED_AT_ONCE, 0);

	for (int i = 0; i < n; i++) {
		note_process_end(&tracees->processes[events[i].data.u64]);
		forget_threads(tracees, (uint32_t)events[i].data.u64, map);
	}
}

/* --- threads --- */

/*
 * Read the process id of a thread, and the process id of that process's parent, from
 * /proc/TID/status.
 */
static bool find_process(pid_t tid, struct tracees_ids *ids)
{
	owned(buf_release) struct buf text = BUF_INIT;
	char path[64];
	struct err err = { 0 };

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	if (procfile_read(path, STATUS_MAX, &text, &err) < 0) {
		errno = err.errno_value;
		return false;
	}
	const char *group = strstr(text.data, "\nTgid:"), *parent = strstr(text.data, "\nPPid:");
	if (!group || !parent)
		return false;
	ids->pid = (pid_t)strtol(group + strlen("\nTgid:"), NULL, 10);
	ids->ppid = (pid_t)strtol(parent + strlen("\nPPid:"), NULL, 10);
	return true;
}

static uint32_t process_index(struct tracees *tracees, const struct tracees_ids *ids)
{
	struct process *known = tracees_by_pid(tracees, ids->pid);

	if (known && !known->ended)
		return (uint32_t)(known - tracees->processes);
	return add_process(tracees, ids->pid, ids->ppid);
}

struct tracee *tracees_get(
	struct tracees *tracees, pid_t tid, const struct tracees_ids *ids, bool *fresh)
{
	struct tracee **bucket = &tracees->buckets[(unsigned)tid % BUCKETS];
	struct tracee *tracee = *bucket;
	struct tracees_ids found;

	while (tracee && tracee->tid != tid)
		tracee = tracee->chain;
	*fresh = !tracee || tracee->gone || (ids && tracee->pid != ids->pid);
	if (!*fresh)
		return tracee;
	if (!ids && !find_process(tid, &found))
		return NULL;
	if (!ids)
		ids = &found;
	if (!tracee) {
		tracee = mem_zalloc(sizeof(*tracee));
		tracee->chain = *bucket;
		*bucket = tracee;
	}
	tracee->gone = false;
	tracee->cwd = NULL;
	tracee->tid = tid;
	tracee->pid = ids->pid;
	tracee->process = process_index(tracees, ids);
	return tracee;
}

void tracees_forget_cwds(struct tracees *tracees, struct tracee *tracee)
{
	tracees->cwd_changes++;
	tracees->n_changing_cwd += !tracee->changing_cwd;
	tracee->changing_cwd = true;
}

void tracees_end(struct tracees *tracees, pid_t tid)
{
	for (struct tracee *tracee = tracees->buckets[(unsigned)tid % BUCKETS]; tracee;
		tracee = tracee->chain)
		if (tracee->tid == tid)
			tracee->gone = true;
}

void tracees_execute(struct tracees *tracees, struct tracee *tracee)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct tracee *other = tracees->buckets[i]; other; other = other->chain)
			if (other->process == tracee->process) {
				other->gone = other != tracee;
				other->cwd = NULL;
			}
}

struct pathmap_entry *tracees_cwd(const struct tracees *tracees, const struct tracee *tracee)
{
	bool valid = !tracees->n_changing_cwd && tracee->cwd_changes == tracees->cwd_changes;

	return valid ? tracee->cwd : NULL;
}

void tracees_keep_cwd(
	const struct tracees *tracees, struct tracee *tracee, struct pathmap_entry *cwd)
{
	tracee->cwd = cwd;
	tracee->cwd_changes = tracees->cwd_changes;
}

static bool is_ancestor(struct tracees *tracees, pid_t pid, const struct tracee *tracee)
{
	const struct process *process = &tracees->processes[tracee->process];

	for (int i = 0; process && i < ANCESTORS_MAX; i++) {
		if (process->ppid == pid)
			return true;
		process = tracees_by_pid(tracees, process->ppid);
	}
	return false;
}

bool tracees_is_changing(
	struct tracees *tracees, const struct tracee *caller, const struct pathmap_entry *entry)
{
	for (size_t i = 0; entry->unsettled && i < BUCKETS; i++)
		for (const struct tracee *other = tracees->buckets[i]; other; other = other->chain)
			if (other != caller &&
				(other->unsettled[0] == entry || other->unsettled[1] == entry) &&
				!is_ancestor(tracees, other->pid, caller))
				return true;
	return false;
}

bool tracees_is_settled(const struct tracee *tracee)
{
	return !tracee->unsettled[0] && !tracee->unsettled[1] && !tracee->forget &&
	       !tracee->changing_cwd && !tracee->executing;
}

void tracees_settle(struct tracees *tracees, struct tracee *tracee, struct pathmap *map)
{
	for (int i = 0; i < 2; i++)
		if (tracee->unsettled[i])
			pathmap_settle(map, tracee->unsettled[i]);
	if (tracee->forget)
		pathmap_forget(map);
	if (tracee->changing_cwd) {
		tracee->changing_cwd = false;
		tracees->n_changing_cwd--;
		tracees->cwd_changes++;
	}
	tracee->unsettled[0] = tracee->unsettled[1] = NULL;
	tracee->forget = tracee->executing = false;
}

/* --- memory of threads --- */

void tracees_argv(pid_t tid, uint64_t address, struct process *process)
{
	owned_mem char *text = mem_alloc(PATH_MAX);
	uint64_t pointers[ARGV_POINTERS_MAX];
	size_t n =
		threadview_memory(tid, address, pointers, sizeof(pointers)) / sizeof(pointers[0]);
	size_t i = 0;

	buf_clear(&process->argv);
	for (; i < n && pointers[i]; i++) {
		ssize_t len = threadview_text(tid, pointers[i], text);

		if (len < 0)
			break;
		buf_add(&process->argv, text, (size_t)len + 1);
	}
	/*
	 * If there are too many arguments, or an argument is too long, only the beginning of the
	 * command line is kept.
	 */
	process->argv_cut = i == n || pointers[i] || process->argv.overflowed;
	process->argv.overflowed = false;
}

bool tracees_is_gone(pid_t tid)
{
	char ignored[PATH_MAX];
	ssize_t len = threadview_link(tid, "cwd", ignored);

	return len == -ENOENT || len == -ESRCH;
}
