#include "sandbox/resource.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/pids.h"
#include "core/procfile.h"
#include "core/text.h"
#include "core/when.h"

#define FILE_MAX 65536
#define PREFIX "command-"
#define KILL_MS 5000
#define CPU_SPARE_SECS 2 /* CPU time that one process may use above the limit of all processes */
/* tasks that fork allows above the limit: this number ... */
#define TASKS_SPARE_MIN 16
#define TASKS_SPARE_PART 8 /* ... and the limit divided by this number */
#define PASSES_MAX 64      /* passes over the list, to find children of children */

/* ------------------------------------------------------------ limits of a process */

/*
 * Count the threads of a process.  Its directory "task" has an entry for each thread, so the number
 * of links of the directory shows the number of threads.
 */
static int count_threads(void *arg, int proc, int pid, struct err *err)
{
	int64_t *n = arg;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "%d/task", pid);
	if (fstatat(proc, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*n += (int64_t)st.st_nlink - 2;
	return 0;
}

static void set_limit(int resource, int64_t soft, int64_t hard)
{
	struct rlimit now, limit = { (rlim_t)soft, (rlim_t)hard };

	/* Keep a hard limit that is already lower. */
	if (getrlimit(resource, &now) == 0 && now.rlim_max < limit.rlim_max)
		limit.rlim_max = now.rlim_max;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(resource, &limit);
}

int resource_apply(const struct resource_limits *limits, int proc, struct err *err)
{
	struct err ignored = { 0 };
	int64_t others = 0;

	if (limits->cpu_secs)
		set_limit(RLIMIT_CPU, limits->cpu_secs + CPU_SPARE_SECS,
			limits->cpu_secs + 2 * CPU_SPARE_SECS);
	if (limits->open_fds)
		set_limit(RLIMIT_NOFILE, limits->open_fds, limits->open_fds);
	if (!limits->tasks)
		return 0;
	/*
	 * Add the tasks that exist already, since the kernel's limit counts all tasks of the user
	 * in the sandbox.
	 */
	if (proc >= 0 && pids_each(proc, count_threads, &others, &ignored) < 0)
		return err_set(err, ERR_SYSTEM, "count the processes: %s", ignored.text);
	int64_t most = others + limits->tasks + limits->tasks / TASKS_SPARE_PART + TASKS_SPARE_MIN;
	set_limit(RLIMIT_NPROC, most, most);
	return 0;
}

bool resource_is_cpu_signal(int sig)
{
	return sig == SIGXCPU;
}

/* ----------------------------------------------------------------------- cgroup */

static bool write_number(int dir, const char *file, int64_t number)
{
	struct err lacking = { 0 };
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, number);
	return procfile_write_at(dir, file, text, &lacking) == 0;
}

int resource_group_make(
	int jobs, const struct resource_limits *limits, struct resource_group *out, struct err *err)
{
	static unsigned serial;
	struct err lacking = { 0 };

	*out = RESOURCE_GROUP_INIT;
	if (jobs < 0)
		return err_set(err, ERR_UNSUPPORTED, "the sandbox has no cgroup");
	snprintf(out->name, sizeof(out->name), PREFIX "%d-%u", (int)getpid(), serial++);
	/*
	 * These writes fail if a process is in the sandbox's cgroup itself, or if the cgroup does
	 * not have the controllers.
	 */
	(void)procfile_write_at(jobs, "cgroup.subtree_control", "+memory", &lacking);
	(void)procfile_write_at(jobs, "cgroup.subtree_control", "+pids", &lacking);
	if (mkdirat(jobs, out->name, 0755) < 0)
		return err_errno(err, "make a cgroup for the command");
	out->dir = at_open(jobs, out->name, O_RDONLY | O_DIRECTORY, err);
	out->parent = fcntl(jobs, F_DUPFD_CLOEXEC, 0);
	if (out->dir < 0 || out->parent < 0) {
		(void)unlinkat(jobs, out->name, AT_REMOVEDIR);
		resource_group_release(out);
		return err->code ? -(int)err->code : err_errno(err, "open the cgroup");
	}
	if (limits->memory_bytes) {
		out->memory = write_number(out->dir, "memory.max", limits->memory_bytes);
		(void)write_number(out->dir, "memory.swap.max", 0);
	}
	if (limits->tasks)
		out->tasks = write_number(out->dir, "pids.max", limits->tasks);
	return 0;
}

void resource_lacks(const struct resource_limits *limits, const struct resource_group *group,
	bool nested, struct buf *out)
{
	if (limits->memory_bytes && !group->memory)
		buf_adds(out,
			"limits.max_rss_bytes is looked at ten times a second, and counts "
			"memory that a process maps (no cgroup with the memory controller)\n");
	if (limits->tasks && !group->tasks)
		buf_adds(out, "limits.max_processes is looked at ten times a second, and some "
			      "more may run until then (no cgroup with the pids controller)\n");
	if ((limits->memory_bytes || limits->tasks || limits->cpu_secs) && group->dir < 0 && nested)
		buf_adds(out, "the limits do not hold for a program in a sandbox of its own whose "
			      "parents have ended (no cgroup)\n");
}

void resource_group_release(struct resource_group *group)
{
	if (group->parent >= 0)
		(void)unlinkat(group->parent, group->name, AT_REMOVEDIR);
	close_fd(&group->dir);
	close_fd(&group->parent);
}

/*
 * Returns the number of a key in a file with lines "KEY NUMBER", or 0 if the file does not have the
 * key.
 */
static int64_t group_number(const struct resource_group *group, const char *file, const char *key)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct err lacking = { 0 };

	if (group->dir < 0 || procfile_read_at(group->dir, file, FILE_MAX, &text, &lacking) < 0 ||
		!text.len)
		return 0;
	for (const char *line = text.data; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ' ')
			return strtoll(line + strlen(key), NULL, 10);
	}
	return 0;
}

/* -------------------------------------------------------------------- processes */

/* A process that belongs to the command.  Its number and its start time together identify it. */
struct task {
	int pid, parent;
	int64_t threads, pages;
	unsigned long long start;
	int64_t ticks, ticks_of_children;
	bool ours;
};

struct tasks {
	struct task *list; /* sorted by pid */
	size_t n, cap;
};

struct resource_watch {
	const struct resource_limits *limits;
	int proc;
	struct resource_group group; /* borrowed */
	unsigned long long mnt;
	struct tasks before, now;
	int64_t dead_ticks; /* CPU time of processes that have ended */
	int64_t cpu_ns;     /* the largest CPU time that was measured */
};

struct resource_watch *resource_watch_new(const struct resource_limits *limits, int proc,
	const struct resource_group *group, unsigned long long mnt)
{
	struct resource_watch *watch = mem_zalloc(sizeof(*watch));

	watch->limits = limits;
	watch->proc = proc;
	watch->group = group ? *group : RESOURCE_GROUP_INIT;
	watch->mnt = mnt;
	return watch;
}

void resource_watch_free(struct resource_watch *watch)
{
	if (!watch)
		return;
	free(watch->before.list);
	free(watch->now.list);
	free(watch);
}

/* The text is "PID (NAME) STATE PPID ...".  NAME may contain any characters. */
static bool parse_stat(const char *text, struct task *task)
{
	const char *close = strrchr(text, ')');
	char state;

	return close &&
	       sscanf(close + 1,
		       " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNd64 " %*d %" SCNd64
		       " %*d %*d %*d %" SCNd64 " %*d %llu %*u %" SCNd64,
		       &state, &task->parent, &task->ticks, &task->ticks_of_children,
		       &task->threads, &task->start, &task->pages) == 7 &&
	       state != 'Z' && state != 'X';
}

/* Read the stat file in a process's directory.  Returns false if the process has ended. */
static bool read_task(int dir, struct task *task)
{
	owned(buf_release) struct buf stat = BUF_INIT;
	struct err gone = { 0 };

	return procfile_read_at(dir, "stat", FILE_MAX, &stat, &gone) == 0 && stat.len &&
	       parse_stat(stat.data, task);
}

static bool is_in_group(int dir, const char *name)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct err gone = { 0 };

	if (procfile_read_at(dir, "cgroup", FILE_MAX, &text, &gone) < 0 || !text.len)
		return false;
	const char *line = strstr(text.data, "0::/");
	const char *found = line ? strstr(line, name) : NULL;
	return found && found[-1] == '/' && strchr("/\n", found[strlen(name)]);
}

static bool is_in_namespace(int dir, unsigned long long mnt)
{
	struct stat st;

	return fstatat(dir, "ns/mnt", &st, 0) == 0 && st.st_ino == mnt; /* by-name: magic link */
}

static struct task *find_task(const struct tasks *tasks, int pid)
{
	size_t low = 0, high = tasks->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tasks->list[middle].pid == pid)
			return &tasks->list[middle];
		if (tasks->list[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool was_ours(const struct resource_watch *watch, const struct task *task)
{
	const struct task *before = find_task(&watch->before, task->pid);

	return before && before->ours && before->start == task->start;
}

static int add_task(void *arg, int proc, int pid, struct err *err)
{
	struct resource_watch *watch = arg;
	struct task task = { .pid = pid };
	char name[16];

	snprintf(name, sizeof(name), "%d", pid);
	owned_fd int dir = at_name_open(proc, name, O_RDONLY | O_DIRECTORY);
	if (dir < 0 || !read_task(dir, &task))
		return 0;
	task.ours = watch->group.dir >= 0
			    ? is_in_group(dir, watch->group.name)
			    : was_ours(watch, &task) || is_in_namespace(dir, watch->mnt);
	mem_grow(&watch->now.list, &watch->now.cap, watch->now.n);
	watch->now.list[watch->now.n++] = task;
	return 0;
}

static bool add_children(struct tasks *tasks)
{
	bool found = false;

	for (size_t i = 0; i < tasks->n; i++) {
		struct task *task = &tasks->list[i];
		const struct task *parent = task->ours ? NULL : find_task(tasks, task->parent);

		if (parent && parent->ours)
			task->ours = found = true;
	}
	return found;
}

/*
 * List the processes that exist now.  Add up the CPU time of the processes that have ended since
 * the last look.
 */
static void look(struct resource_watch *watch)
{
	struct tasks old = watch->before;
	struct err ignored = { 0 };

	watch->before = watch->now;
	watch->now = old;
	watch->now.n = 0;
	(void)pids_each(watch->proc, add_task, watch, &ignored);
	for (int i = 0; watch->group.dir < 0 && i < PASSES_MAX && add_children(&watch->now); i++)
		;
	for (size_t i = 0; i < watch->before.n; i++) {
		const struct task *task = &watch->before.list[i];
		const struct task *now = find_task(&watch->now, task->pid);

		if (task->ours && (!now || now->start != task->start))
			watch->dead_ticks += task->ticks;
	}
}

/* ---------------------------------------------------------------------- looking */

static int64_t max_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/*
 * Returns the CPU time of all processes of the command.  The time of processes that have ended is
 * known in two ways.  When a parent has waited for such a process, the kernel counts the time as
 * time of the parent's children.  The sum dead_ticks has the time that such processes had used at
 * the last look.  Either number may be too small, so the larger one is used.
 */
static int64_t cpu_of(struct resource_watch *watch)
{
	const int64_t tick_ns = WHEN_SECOND / sysconf(_SC_CLK_TCK);
	int64_t own = watch->dead_ticks, waited = 0;

	if (watch->group.dir >= 0)
		return group_number(&watch->group, "cpu.stat", "usage_usec") * 1000;
	for (size_t i = 0; i < watch->now.n; i++) {
		const struct task *task = &watch->now.list[i];

		own += task->ours ? task->ticks : 0;
		waited += task->ours ? task->ticks + task->ticks_of_children : 0;
	}
	watch->cpu_ns = max_of(watch->cpu_ns, max_of(own, waited) * tick_ns);
	return watch->cpu_ns;
}

/*
 * Returns the memory of a process, or -1 if it is not known.  A page that n processes share counts
 * as 1/n.  The kernel takes long to compute this.
 */
static int64_t share_of(const struct resource_watch *watch, const struct task *task)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct err gone = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "%d/smaps_rollup", task->pid);
	if (procfile_read_at(watch->proc, path, FILE_MAX, &text, &gone) < 0 || !text.len)
		return -1;
	const char *line = strstr(text.data, "\nPss:");
	return line ? strtoll(line + strlen("\nPss:"), NULL, 10) * 1024 : -1;
}

static int64_t shared_memory_of(const struct resource_watch *watch)
{
	const int64_t page = sysconf(_SC_PAGESIZE);
	int64_t bytes = 0;

	for (size_t i = 0; i < watch->now.n; i++) {
		const struct task *task = &watch->now.list[i];
		int64_t share = task->ours ? share_of(watch, task) : 0;

		bytes += share < 0 ? task->pages * page : share;
	}
	return bytes;
}

static void sum_up(struct resource_watch *watch, struct resource_usage *usage)
{
	const int64_t page = sysconf(_SC_PAGESIZE), limit = watch->limits->memory_bytes;

	*usage = (struct resource_usage){ .cpu_ns = cpu_of(watch) };
	for (size_t i = 0; i < watch->now.n; i++) {
		const struct task *task = &watch->now.list[i];

		usage->tasks += task->ours ? task->threads : 0;
		usage->memory_bytes += task->ours ? task->pages * page : 0;
	}
	/*
	 * This sum counts a shared page once for each process, so it is never too small.  If the
	 * sum exceeds the limit, count shared pages only once.
	 */
	if (limit && usage->memory_bytes > limit)
		usage->memory_bytes = shared_memory_of(watch);
}

enum resource_kind resource_check(struct resource_watch *watch, struct resource_usage *usage)
{
	const struct resource_limits *limits = watch->limits;

	look(watch);
	sum_up(watch, usage);
	if (limits->tasks && (usage->tasks > limits->tasks ||
				     group_number(&watch->group, "pids.events", "max") > 0))
		return RESOURCE_TASKS;
	if (limits->memory_bytes &&
		(usage->memory_bytes > limits->memory_bytes ||
			group_number(&watch->group, "memory.events", "oom_kill") > 0))
		return RESOURCE_MEMORY;
	if (limits->cpu_secs && usage->cpu_ns >= limits->cpu_secs * WHEN_SECOND)
		return RESOURCE_CPU;
	return RESOURCE_NONE;
}

void resource_describe(const struct resource_limits *limits, enum resource_kind kind,
	const struct resource_usage *usage, struct buf *out)
{
	char used[16], most[16];

	switch (kind) {
	case RESOURCE_NONE:
		break;
	case RESOURCE_CPU:
		buf_addf(out, "%.1f s of CPU time, and %" PRId64 " s is the limit",
			(double)usage->cpu_ns / (double)WHEN_SECOND, limits->cpu_secs);
		break;
	case RESOURCE_MEMORY:
		buf_addf(out, "%s of memory, and %s is the limit",
			text_size((uint64_t)usage->memory_bytes, used),
			text_size((uint64_t)limits->memory_bytes, most));
		break;
	case RESOURCE_TASKS:
		buf_addf(out, "%" PRId64 " processes and threads, and %" PRId64 " is the limit",
			usage->tasks, limits->tasks);
		break;
	}
}

/* ---------------------------------------------------------------------- killing */

/*
 * Kill a process by its open directory in /proc.  Such a directory never stands for a later process
 * with the same number.
 */
static bool kill_task(const struct resource_watch *watch, const struct task *task)
{
	struct task again = { 0 };
	char name[16];

	snprintf(name, sizeof(name), "%d", task->pid);
	owned_fd int dir = at_name_open(watch->proc, name, O_RDONLY | O_DIRECTORY);
	if (dir < 0 || !read_task(dir, &again) || again.start != task->start)
		return false;
	(void)pidfd_send_signal(dir, SIGKILL, NULL, 0);
	return true;
}

/* Kill the processes that belong to the command now.  Returns the number of them. */
static size_t kill_once(struct resource_watch *watch)
{
	struct err older = { 0 };
	size_t n = 0;

	if (watch->group.dir >= 0)
		(void)procfile_write_at(watch->group.dir, "cgroup.kill", "1", &older);
	look(watch);
	for (size_t i = 0; i < watch->now.n; i++)
		if (watch->now.list[i].ours)
			n += kill_task(watch, &watch->now.list[i]);
	return n;
}

int resource_kill(struct resource_watch *watch, struct err *err)
{
	const int64_t end = when_monotonic() + KILL_MS * WHEN_MS;

	while (kill_once(watch))
		if (when_monotonic() >= end)
			return err_set(err, ERR_LIMIT,
				"some processes of the command do not end within %d ms", KILL_MS);
	return 0;
}
