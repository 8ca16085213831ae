/*
 * There are two views of the processes.  The sandbox's own /proc shows only its processes, by their
 * numbers in the sandbox.  The /proc of this process shows all processes, by their numbers outside.
 * There, the line NSpid in the status file of a process has a number for each PID namespace, from
 * the namespace of this process down to the innermost one.
 */
#include "sandbox/processes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/pids.h"
#include "core/procfile.h"
#include "sandbox/bindlist.h"
#include "sandbox/ids.h"

#define FILE_MAX 65536
#define LEVELS_MAX 33 /* nested PID namespaces, as many as the kernel allows */
#define STAT_PPID 4   /* fields of /proc/PID/stat, counted from 1 */
#define STAT_STARTED 22
#define OUTSIDE_MAX 65536 /* number of processes that are listed by their numbers outside */
#define NS_PER_S INT64_C(1000000000)

/*
 * Returns a numeric field of /proc/PID/stat.  The field must come after the process's name, which
 * may contain any characters.
 */
static unsigned long long stat_field(const char *stat, int which)
{
	const char *at = strrchr(stat, ')');

	for (int i = 2; at && i < which; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/*
 * Find the line of /proc/PID/status that begins with 'name'.  Returns the text after 'name', or
 * NULL if there is no such line.
 */
static const char *status_line(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? at + strlen(name) : NULL;
}

/* Read a file of a process.  Returns false if the file is empty or the process has ended. */
static bool read_file(int proc, int pid, const char *name, struct buf *out)
{
	struct err gone = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "%d/%s", pid, name);
	buf_clear(out);
	return procfile_read_at(proc, path, FILE_MAX, out, &gone) >= 0 && out->len;
}

/* -------------------------------------------------------------------- inside */

struct visiting {
	int (*visit)(void *arg, const struct processes_one *one, struct err *err);
	void *arg;
	struct buf map; /* uid_map of the sandbox */
	int64_t booted; /* time of the boot, in ns since the epoch */
	struct buf stat, status, args;
};

/* Returns the uid in the sandbox for a uid of this process's user namespace. */
static uint32_t uid_inside(const struct buf *map, uint32_t uid)
{
	unsigned first, above, count;
	int used;

	for (const char *p = map->data;
		p && sscanf(p, "%u %u %u%n", &first, &above, &count, &used) == 3; p += used)
		if (uid >= above && uid - above < count)
			return first + (uid - above);
	return uid;
}

/*
 * Read the arguments of a process, without the last zero byte.  If it has no arguments, as after
 * its end, read its name.
 */
static struct str read_args(int proc, int pid, struct buf *args)
{
	if (!read_file(proc, pid, "cmdline", args))
		(void)read_file(proc, pid, "comm", args);
	while (args->len && (!args->data[args->len - 1] || args->data[args->len - 1] == '\n'))
		args->len--;
	return (struct str){ args->data,
		args->len > PROCESSES_ARGS_MAX ? PROCESSES_ARGS_MAX : args->len };
}

static unsigned long long mount_namespace(int proc, int pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%d/ns/mnt", pid);
	return fstatat(proc, path, &st, 0) < 0 ? 0 : st.st_ino; /* by-name: a magic link */
}

static int visit_inside(void *arg, int proc, int pid, struct err *err)
{
	struct visiting *visiting = arg;
	struct processes_one one = { .pid = pid };
	const long hertz = sysconf(_SC_CLK_TCK);

	/* Process 1 is the holder.  A process that has ended meanwhile is left out. */
	if (pid == 1 || !read_file(proc, pid, "stat", &visiting->stat) ||
		!read_file(proc, pid, "status", &visiting->status))
		return 0;
	const char *uid = status_line(visiting->status.data, "\nUid:\t");
	one.uid = uid_inside(&visiting->map, uid ? (uint32_t)strtoul(uid, NULL, 10) : 0);
	one.tick = stat_field(visiting->stat.data, STAT_STARTED);
	one.started = visiting->booted + (int64_t)one.tick * (NS_PER_S / hertz);
	one.args = read_args(proc, pid, &visiting->args);
	one.mnt = mount_namespace(proc, pid);
	return visiting->visit(visiting->arg, &one, err);
}

static int64_t boot_time(void)
{
	struct timespec now, up;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)clock_gettime(CLOCK_BOOTTIME, &up);
	return (now.tv_sec - up.tv_sec) * NS_PER_S + (now.tv_nsec - up.tv_nsec);
}

int processes_each(const struct sandbox *sandbox,
	int (*visit)(void *arg, const struct processes_one *one, struct err *err), void *arg,
	struct err *err)
{
	struct visiting visiting = {
		.visit = visit,
		.arg = arg,
		.booted = boot_time(),
		.map = BUF_INIT,
		.stat = BUF_INIT,
		.status = BUF_INIT,
		.args = BUF_INIT,
	};
	owned_fd int root = sandbox_open_root(sandbox, err);
	owned_fd int proc = root < 0 ? -1 : at_name_open(root, "proc", O_RDONLY | O_DIRECTORY);

	if (root < 0)
		return root;
	if (proc < 0)
		return 0;
	if (sandbox->shifted)
		buf_addf(&visiting.map, "0 %u %u\n", IDS_FIRST, IDS_COUNT);
	else
		(void)read_file(proc, 1, "uid_map", &visiting.map);
	int r = pids_each(proc, visit_inside, &visiting, err);
	buf_release(&visiting.map);
	buf_release(&visiting.stat);
	buf_release(&visiting.status);
	buf_release(&visiting.args);
	return r;
}

/* ------------------------------------------------------------------- outside */

struct seeking {
	struct processes_outside *list;
	size_t n, capacity;
	int level; /* position in NSpid of the number inside the sandbox */
	struct stat ns;
	struct buf stat, status;
};

/*
 * Read the numbers of a process, from the PID namespace of this process downwards.  Returns how
 * many there are.
 */
static int read_numbers(const char *status, int numbers[LEVELS_MAX])
{
	const char *at = status_line(status, "\nNSpid:\t");
	char *end;
	int n = 0;

	for (; at && n < LEVELS_MAX && *at != '\n'; at = end) {
		numbers[n] = (int)strtol(at, &end, 10);
		if (end == at)
			break;
		n++;
		end += *end == '\t';
	}
	return n;
}

enum belonging { FOREIGN, UNCERTAIN, OURS };

/*
 * Whether a process belongs to the sandbox, according to its PID namespace.  This cannot be found
 * out for a process in a nested PID namespace, nor for one of another user.
 */
static enum belonging belongs(const struct seeking *seeking, int proc, int pid, int depth)
{
	struct stat st;
	char path[64];

	if (depth > seeking->level + 1)
		return UNCERTAIN;
	snprintf(path, sizeof(path), "%d/ns/pid", pid);
	if (fstatat(proc, path, &st, 0) < 0) /* by-name: a magic link */
		return UNCERTAIN;
	return st.st_ino == seeking->ns.st_ino ? OURS : FOREIGN;
}

static int visit_outside(void *arg, int proc, int pid, struct err *err)
{
	struct seeking *seeking = arg;
	int numbers[LEVELS_MAX];

	if (!read_file(proc, pid, "status", &seeking->status))
		return 0;
	int depth = read_numbers(seeking->status.data, numbers);
	enum belonging belonging =
		depth <= seeking->level ? FOREIGN : belongs(seeking, proc, pid, depth);
	if (belonging == FOREIGN || !read_file(proc, pid, "stat", &seeking->stat) ||
		seeking->n == OUTSIDE_MAX)
		return 0;
	mem_grow(&seeking->list, &seeking->capacity, seeking->n);
	seeking->list[seeking->n++] = (struct processes_outside){
		.pid = pid,
		.parent = (int)stat_field(seeking->stat.data, STAT_PPID),
		.inside = numbers[seeking->level],
		.tick = stat_field(seeking->stat.data, STAT_STARTED),
		.certain = belonging == OURS,
	};
	return 0;
}

static int compare_pids(const void *a, const void *b)
{
	const struct processes_outside *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/*
 * Whether a chain of parents leads from a process to the holder.  Orphans of the sandbox get the
 * holder as their parent.
 */
static bool descends(const struct processes_outside *one, const struct processes_outside *list,
	size_t n, int holder)
{
	for (size_t steps = 0; one && one->pid != holder && steps <= n; steps++) {
		const struct processes_outside parent = { .pid = one->parent };

		one = bsearch(&parent, list, n, sizeof(*list), compare_pids);
	}
	return one && one->pid == holder;
}

/*
 * Copy the processes of the sandbox to 'list', which has room for all of them.  Returns their
 * number.
 */
static size_t keep_ours(const struct seeking *seeking, int holder, struct processes_outside *list)
{
	size_t n = 0;

	for (size_t i = 0; i < seeking->n; i++)
		if (seeking->list[i].certain ||
			descends(&seeking->list[i], seeking->list, seeking->n, holder))
			list[n++] = seeking->list[i];
	return n;
}

size_t processes_outside(
	const struct sandbox *sandbox, struct arena *arena, struct processes_outside **list)
{
	struct seeking seeking = { .stat = BUF_INIT, .status = BUF_INIT };
	struct err ignored = { 0 };
	int numbers[LEVELS_MAX];
	owned_fd int proc = at_open_given("/proc", O_RDONLY | O_DIRECTORY, 0, &ignored);

	*list = NULL;
	/*
	 * The last of the holder's numbers is the number in the sandbox.  So its position is the
	 * level of the sandbox.
	 */
	if (proc < 0 || sandbox->pid <= 0 || fstat(sandbox->fds[SANDBOX_PID], &seeking.ns) < 0 ||
		!read_file(proc, sandbox->pid, "status", &seeking.status))
		return 0;
	seeking.level = read_numbers(seeking.status.data, numbers) - 1;
	if (seeking.level > 0)
		(void)pids_each(proc, visit_outside, &seeking, &ignored);
	*list = arena_alloc(arena, (seeking.n + 1) * sizeof(**list));
	if (seeking.n)
		qsort(seeking.list, seeking.n, sizeof(**list), compare_pids);
	size_t n = keep_ours(&seeking, sandbox->pid, *list);
	free(seeking.list);
	buf_release(&seeking.stat);
	buf_release(&seeking.status);
	return n;
}

/* --------------------------------------------------------------------- binds */

struct having {
	const struct bindlist_entry *entries;
	bool *had;
	size_t n;
};

/*
 * Mark the binds that a process has.  If the mount namespace of the process is not known, mark all
 * binds, since the process may have any of them.
 */
static int mark_binds(void *arg, const struct processes_one *one, struct err *err)
{
	struct having *having = arg;

	for (size_t i = 0; i < having->n; i++)
		having->had[i] |= !one->mnt || having->entries[i].mnt == one->mnt;
	return 0;
}

int processes_binds(
	const struct sandbox *sandbox, struct arena *arena, struct bindspecs *out, struct err *err)
{
	struct bindlist_entry *entries;
	struct bindspec *list = arena_alloc(arena, BINDSPEC_MAX * sizeof(*list));
	struct having having = { 0 };
	int r = bindlist_read(sandbox->fds[SANDBOX_BINDS], arena, &entries, &having.n, err);

	*out = (struct bindspecs){ .list = list };
	if (r < 0 || !having.n)
		return r;
	having.entries = entries;
	having.had = arena_alloc(arena, having.n * sizeof(*having.had));
	r = processes_each(sandbox, mark_binds, &having, err);
	for (size_t i = 0; r >= 0 && i < having.n && out->n < BINDSPEC_MAX; i++)
		if (having.had[i] && !bindspec_has(out, &entries[i].bind))
			list[out->n++] = entries[i].bind;
	return r;
}
