#include "sandbox/freezer.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/procfile.h"
#include "core/when.h"

#define STAT_MAX 4096
#define TRY_MS 100         /* time until all processes are continued and stopped again */
#define LOOK_FIRST_US 100  /* pause between two checks; it is doubled each time ... */
#define LOOK_LAST_US 10000 /* ... up to this pause */

/* A stopped process.  Its number and its start time together identify it. */
struct freezer_stopped {
	pid_t pid;
	uint64_t start;
};

struct process {
	pid_t pid, parent, session;
	char state;
	long threads;
	uint64_t start;
	char name[32];
};

struct processes {
	struct process *list;
	size_t n, cap;
};

static void processes_release(struct processes *all)
{
	free(all->list);
	*all = (struct processes){ 0 };
}

/* ------------------------------------------------------------------- looking */

/* The text is "PID (NAME) STATE PPID PGRP SESSION ...".  NAME may contain any characters. */
static bool parse_stat(const char *text, struct process *out)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long start;
	int parent, session;

	if (!open || !close || close < open)
		return false;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(close - open - 1), open + 1);
	if (sscanf(close + 1,
		    " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
		    "%llu",
		    &out->state, &parent, &session, &out->threads, &start) != 5)
		return false;
	out->parent = parent;
	out->session = session;
	out->start = start;
	return true;
}

/* Read a stat file.  Returns false if the process has ended. */
static bool read_stat(int proc, const char *path, struct process *out)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct err gone = { 0 };

	return procfile_read_at(proc, path, STAT_MAX, &text, &gone) == 0 && text.len &&
	       parse_stat(text.data, out);
}

static DIR *open_dir(int dirfd, const char *name)
{
	int fd = at_name_open(dirfd, name, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close_fd(&fd);
	return dir;
}

/* Returns the process number that a name in /proc stands for, or 0 if it stands for none. */
static pid_t number_of(const char *name)
{
	return *name >= '1' && *name <= '9' ? atoi(name) : 0;
}

/* List all processes but this one. */
static int list_processes(int proc, struct processes *out, struct err *err)
{
	DIR *dir = proc < 0 ? NULL : open_dir(proc, ".");
	struct dirent *entry;

	out->n = 0;
	if (!dir)
		return err_set(
			err, ERR_UNSUPPORTED, "the sandbox has no /proc to see processes in");
	while ((entry = readdir(dir))) {
		struct process process = { .pid = number_of(entry->d_name) };
		char path[64];

		snprintf(path, sizeof(path), "%d/stat", (int)process.pid);
		if (process.pid <= 1 || !read_stat(proc, path, &process))
			continue;
		mem_grow(&out->list, &out->cap, out->n);
		out->list[out->n++] = process;
	}
	closedir(dir);
	return 0;
}

static bool is_dead(char state)
{
	return state == 'Z' || state == 'X';
}

static bool is_stopped_state(char state)
{
	return state == 'T' || state == 't' || is_dead(state);
}

static bool has_stopped_child(const struct processes *all, pid_t parent)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->list[i].parent == parent && all->list[i].state == 'T')
			return true;
	return false;
}

/*
 * Whether a thread waits in vfork for a child that this process has stopped.  Such a thread is in
 * state D.  It does not stop, but it cannot go on before the child goes on.  A thread that waits
 * for a slow disk is in state D, too.  So this function also checks whether the thread waits in a
 * kernel function that makes processes.
 */
static bool waits_in_vfork(int task, const struct process *thread)
{
	owned(buf_release) struct buf where = BUF_INIT;
	struct err unknown = { 0 };

	return thread->state == 'D' &&
	       procfile_read_at(task, "wchan", STAT_MAX, &where, &unknown) == 0 && where.len &&
	       (strstr(where.data, "fork") || strstr(where.data, "clone"));
}

/*
 * Whether a thread has stopped.  'path' leads from 'dir', a directory of /proc, to the thread's
 * directory.  'has_child' is true if the thread's process has a stopped child.
 */
static bool has_thread_stopped(int dir, const char *path, bool has_child)
{
	owned_fd int task = at_name_open(dir, path, O_PATH | O_DIRECTORY);
	struct process thread;

	/* A thread that has ended counts as stopped. */
	return task < 0 || !read_stat(task, "stat", &thread) || is_stopped_state(thread.state) ||
	       (has_child && waits_in_vfork(task, &thread));
}

/* The state of a process is that of its first thread, so all threads have to be checked. */
static bool has_stopped(int proc, const struct processes *all, const struct process *process)
{
	const bool has_child = has_stopped_child(all, process->pid);
	struct dirent *entry;
	char path[64];
	bool still = true;

	snprintf(path, sizeof(path), "%d", (int)process->pid);
	if (process->threads <= 1)
		return is_stopped_state(process->state) ||
		       (process->state == 'D' && has_thread_stopped(proc, path, has_child));
	owned_fd int own = at_name_open(proc, path, O_PATH | O_DIRECTORY);
	DIR *dir = own < 0 ? NULL : open_dir(own, "task");
	while (dir && still && (entry = readdir(dir)))
		if (number_of(entry->d_name))
			still = has_thread_stopped(dirfd(dir), entry->d_name, has_child);
	if (dir)
		closedir(dir);
	return still;
}

/* ------------------------------------------------------------------ stopping */

/* Pause for the given number of microseconds.  Returns the length of the next pause. */
static long pause_us(long us)
{
	struct timespec pause = { .tv_nsec = us * 1000 };

	nanosleep(&pause, NULL);
	return us * 2 < LOOK_LAST_US ? us * 2 : LOOK_LAST_US;
}

static bool was_stopped(const struct freezer *freezer, const struct process *process)
{
	for (size_t i = 0; i < freezer->n_before; i++)
		if (freezer->before[i].pid == process->pid &&
			freezer->before[i].start == process->start)
			return true;
	return false;
}

static void remember_stopped(struct freezer *freezer, const struct processes *all)
{
	freezer->n_before = 0;
	for (size_t i = 0; i < all->n; i++) {
		if (all->list[i].state != 'T')
			continue;
		mem_grow(&freezer->before, &freezer->cap_before, freezer->n_before);
		freezer->before[freezer->n_before++] = (struct freezer_stopped){
			.pid = all->list[i].pid,
			.start = all->list[i].start,
		};
	}
}

static int newest_first(const void *a, const void *b)
{
	const struct process *one = a, *two = b;

	if (one->start != two->start)
		return one->start < two->start ? 1 : -1;
	return two->pid - one->pid;
}

/*
 * Continue children before their parents.  A shell that continued first would see its job stopped,
 * and would take this for a Ctrl-Z.  Processes in every state get SIGCONT, because SIGCONT also
 * cancels a SIGSTOP that has not taken effect yet.
 */
static void continue_all(const struct freezer *freezer, struct processes *all)
{
	if (all->n)
		qsort(all->list, all->n, sizeof(*all->list), newest_first);
	for (size_t i = 0; i < all->n; i++)
		if (!was_stopped(freezer, &all->list[i]))
			(void)kill(all->list[i].pid, SIGCONT);
}

/*
 * Wait until all processes have stopped.  Returns 1, or 0 if a process still runs at the time
 * 'until'.  *running is then that process.
 */
static int await_stop(struct freezer *freezer, struct processes *all, int64_t until,
	struct process *running, struct err *err)
{
	long pause = LOOK_FIRST_US;

	for (;;) {
		size_t i = 0;

		if (list_processes(freezer->proc, all, err) < 0)
			return -(int)err->code;
		while (i < all->n && has_stopped(freezer->proc, all, &all->list[i]))
			i++;
		if (i == all->n)
			return 1;
		if (when_monotonic() >= until) {
			*running = all->list[i];
			return 0;
		}
		pause = pause_us(pause);
	}
}

static int did_not_stop(const struct process *process, struct err *err)
{
	err_set(err, ERR_LIMIT, "process %d (%s) did not stop within %d ms (state %c)",
		(int)process->pid, process->name, FREEZER_WAIT_MS, process->state);
	return err_hint(err, "it waits for a device or a remote file system; try again");
}

/*
 * Send SIGSTOP to all processes and wait until they have stopped, in several rounds.  A parent that
 * waits in vfork for a stopped child does not stop.  waits_in_vfork recognises such parents, but
 * not on every kernel.  On other kernels it usually helps to continue all processes for a moment,
 * and then to begin another round.
 */
static int stop_by_signal(struct freezer *freezer, struct err *err)
{
	owned(processes_release) struct processes all = { 0 };
	int64_t end = when_monotonic() + FREEZER_WAIT_MS * WHEN_MS;
	struct process running;
	int r = list_processes(freezer->proc, &all, err);

	if (r < 0)
		return r;
	remember_stopped(freezer, &all);
	for (;;) {
		int64_t until = when_monotonic() + TRY_MS * WHEN_MS;

		(void)kill(-1, SIGSTOP); /* ESRCH: there are no processes */
		r = await_stop(freezer, &all, until < end ? until : end, &running, err);
		if (r > 0)
			return 0;
		continue_all(freezer, &all);
		if (r < 0)
			return r;
		if (when_monotonic() >= end)
			return did_not_stop(&running, err);
		(void)pause_us(LOOK_LAST_US);
	}
}

static void continue_by_signal(struct freezer *freezer)
{
	owned(processes_release) struct processes all = { 0 };
	struct err ignored = { 0 };

	if (list_processes(freezer->proc, &all, &ignored) == 0)
		continue_all(freezer, &all);
}

/*
 * Freeze the cgroup.  In /proc a frozen process has the state of a sleeping one.  So a process in
 * state D or R has not been frozen.
 */
static int stop_by_cgroup(struct freezer *freezer, struct err *err)
{
	owned(processes_release) struct processes all = { 0 };
	struct err ignored = { 0 };
	int r = cgroup_freeze(&freezer->cgroup, FREEZER_WAIT_MS, err);

	if (r != -ERR_LIMIT || list_processes(freezer->proc, &all, &ignored) < 0)
		return r;
	for (size_t i = 0; i < all.n; i++)
		if (all.list[i].state == 'D' || all.list[i].state == 'R')
			return did_not_stop(&all.list[i], err);
	return r;
}

int freezer_stop(struct freezer *freezer, struct err *err)
{
	freezer->by_cgroup = freezer->cgroup.dir >= 0 && !freezer->strayed;

	int r = freezer->by_cgroup ? stop_by_cgroup(freezer, err) : stop_by_signal(freezer, err);
	freezer->frozen = r == 0;
	return r;
}

void freezer_continue(struct freezer *freezer)
{
	struct err ignored = { 0 };

	if (freezer->frozen && freezer->by_cgroup)
		(void)cgroup_thaw(&freezer->cgroup, &ignored);
	else if (freezer->frozen)
		continue_by_signal(freezer);
	freezer->frozen = false;
}

/* ---------------------------------------------------------- counting, killing */

int freezer_count(struct freezer *freezer, struct err *err)
{
	owned(processes_release) struct processes all = { 0 };
	int n = 0;

	if (list_processes(freezer->proc, &all, err) < 0)
		return -(int)err->code;
	for (size_t i = 0; i < all.n; i++)
		n += !is_dead(all.list[i].state) || all.list[i].threads > 1;
	return n;
}

/* Kill the listed processes of a session.  Returns the number of those that were alive. */
static int kill_once(const struct processes *all, pid_t session)
{
	int n = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (all->list[i].session != session || is_dead(all->list[i].state))
			continue;
		(void)kill(all->list[i].pid, SIGKILL);
		n++;
	}
	return n;
}

int freezer_kill_session(struct freezer *freezer, pid_t session, struct err *err)
{
	owned(processes_release) struct processes all = { 0 };
	int64_t end = when_monotonic() + FREEZER_WAIT_MS * WHEN_MS;
	long pause = LOOK_FIRST_US;

	for (;;) {
		if (list_processes(freezer->proc, &all, err) < 0)
			return -(int)err->code;
		if (!kill_once(&all, session))
			return 0;
		if (when_monotonic() >= end)
			return err_set(err, ERR_LIMIT, "session %d does not end", (int)session);
		pause = pause_us(pause);
	}
}
