#include "tree/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/pids.h"
#include "core/text.h"
#include "core/when.h"

/* size of a line: an address range, and a path in which a newline takes four bytes */
#define MAPS_LINE 17408
#define FILES_MAX 65536
#define SCHEDSTAT_MAX 128
#define XFS_MAGIC 0x58465342

struct search {
	struct mapped *mapped;
	const struct mapped_tree *tree;
	const char *place; /* path of the tree as the inspected programs see it; "" for "/" */
	/* path of the environment, relative to the tree; its files are left out; NULL: none */
	const char *own;
	dev_t dev;     /* device of the tree */
	dev_t overlay; /* device of the overlay that shows the tree to the programs; 0: none */
	int proc, pid; /* 'proc' is /proc, 'pid' is the process that is being inspected */
	char line[MAPS_LINE];
};

/* --- one file --- */

/* Returns the rest of a path that leads below the directory 'place', or NULL for any other path. */
static const char *path_below(const char *path, const char *place)
{
	size_t len = strlen(place);

	if (strncmp(path, place, len) != 0 || path[len] != '/')
		return NULL;
	return path + len + 1;
}

/* Whether an exclude pattern matches the file or a directory above it. */
static bool is_excluded(const struct mapped_tree *tree, const char *path)
{
	for (size_t i = 0; i < tree->n_exclude; i++) {
		struct str pattern = str_of(tree->exclude[i]);
		bool anywhere = !memchr(pattern.ptr, '/', pattern.len);

		for (const char *name = path, *end; *name; name = *end ? end + 1 : end) {
			end = strchrnul(name, '/');
			const char *from = anywhere ? name : path;

			if (text_glob(pattern, (struct str){ from, (size_t)(end - from) }))
				return true;
		}
	}
	return false;
}

static bool is_left_out(const struct search *search, const char *path)
{
	return (search->own && (!strcmp(path, search->own) || path_below(path, search->own))) ||
	       is_excluded(search->tree, path);
}

static void add_file(struct mapped *mapped, uint64_t ino, const char *path)
{
	if (mapped->n == FILES_MAX) {
		mapped->partial = true;
		return;
	}
	mem_grow(&mapped->files, &mapped->capacity, mapped->n);
	mapped->files[mapped->n++] = (struct mapped_file){
		.ino = ino,
		.path = path ? mem_strdup(path) : NULL,
	};
}

/* --- one process --- */

/* Decode a path of /proc/PID/maps, in which the kernel prints a newline as \012. */
static void decode_path(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/*
 * Whether a read-only shared mapping may become writable.  mprotect(2) can make it writable if the
 * file was opened for writing.  The mode of the link in map_files shows how the file was opened.
 */
static bool may_become_writable(const struct search *search, const char *line)
{
	unsigned long start, end;
	char name[96];
	struct statx stx;

	if (sscanf(line, "%lx-%lx", &start, &end) != 2)
		return true;
	snprintf(name, sizeof(name), "%d/map_files/%lx-%lx", search->pid, start, end);
	return at_name_stat(search->proc, name, &stx) < 0 || stx.stx_mode & S_IWUSR;
}

/*
 * Add the file of the tree that a path of /proc/PID/maps leads to.  The parameter ino is the inode
 * number that the kernel shows for the mapped file.  Returns true if the file at this path has that
 * inode number.  Otherwise another file may be the mapped one, since the process may have other
 * mounts.  (An overlay, too, shows another inode number for a file from its lower layer.)
 */
static bool add_path(struct search *search, const char *path, uint64_t ino)
{
	struct err ignored = { 0 };
	struct statx stx;
	owned_fd int fd =
		*path ? at_open(search->tree->live, path, O_PATH | O_NOFOLLOW, &ignored) : -1;

	if (fd < 0 || at_fd_stat(fd, &stx) < 0 || !S_ISREG(stx.stx_mode))
		return false;
	/* A file that is excluded under this name may have another name in the tree. */
	if (!is_left_out(search, path))
		add_file(search->mapped, stx.stx_ino, path);
	else if (stx.stx_nlink > 1)
		add_file(search->mapped, stx.stx_ino, NULL);
	return stx.stx_ino == ino;
}

/*
 * Add the file of a mapping, which is a line of /proc/PID/maps.
 *
 * The file is found by its path.  If add_path returns false for the path, the inode number is used.
 * If the tree is the upper directory of an overlay, however, the inode numbers in the overlay
 * differ from those in the tree.  So any file of the tree may be the mapped one.
 *
 * On file systems where stores leave a trace (mapped.h), the device is not compared, since btrfs
 * shows a device that no file of the subvolume has.  So the inode number may be that of a file on
 * another file system.  This does no harm: at worst, the pages of one more file are protected.
 */
static void add_mapping(struct search *search, char *line)
{
	unsigned major, minor;
	unsigned long long ino;
	char permissions[5];
	int at = 0;

	if (sscanf(line, "%*s %4s %*x %x:%x %llu %n", permissions, &major, &minor, &ino, &at) !=
			4 ||
		permissions[3] != 's' || line[at] != '/' ||
		(permissions[1] != 'w' && !may_become_writable(search, line)))
		return;
	decode_path(line + at);
	const char *path = path_below(line + at, search->place);
	if (path && add_path(search, path, ino))
		return;
	if (makedev(major, minor) == search->overlay)
		search->mapped->anywhere = true;
	else if (makedev(major, minor) == search->dev || !search->mapped->untraced)
		add_file(search->mapped, ino, NULL);
}

/*
 * Read the mappings of a process or thread.  Returns 1, or 0 if there are no mappings, or a
 * negative errno if they cannot be read.
 */
static int read_maps(struct search *search, int at, int id)
{
	char name[32];
	int lines = 0;

	snprintf(name, sizeof(name), "%d/maps", id);
	int fd = openat(at, name, O_RDONLY | O_CLOEXEC); /* by-name: a file of the kernel */
	FILE *maps = fd < 0 ? NULL : fdopen(fd, "r");
	if (!maps) {
		int r = -errno;

		close_fd(&fd);
		/* A process that has ended has no mappings. */
		return r == -ENOENT || r == -ESRCH ? 0 : r;
	}
	for (; fgets(search->line, sizeof(search->line), maps); lines = 1) {
		search->line[strcspn(search->line, "\n")] = '\0';
		add_mapping(search, search->line);
	}
	if (ferror(maps) && errno != ESRCH)
		lines = -errno;
	fclose(maps);
	return lines;
}

static uint64_t mix_hash(uint64_t state, uint64_t value)
{
	return (state ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

struct work {
	uint64_t sum;
	bool unknown;
};

/*
 * Add the id of a thread and its processor time to the sum.  Since the id is added, the sum also
 * changes when a thread begins or ends.
 */
static int add_thread_work(void *arg, int task, int tid, struct err *err)
{
	struct work *work = arg;
	unsigned long long ran = 0;
	char name[32], text[SCHEDSTAT_MAX];

	(void)err;
	snprintf(name, sizeof(name), "%d/schedstat", tid);
	owned_fd int fd =
		openat(task, name, O_RDONLY | O_CLOEXEC); /* by-name: a file of the kernel */
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0) {
		work->unknown |= errno != ENOENT && errno != ESRCH;
		return 0;
	}
	text[n] = '\0';
	/* A kernel that does not count processor time shows zeros. */
	work->unknown |= sscanf(text, "%llu", &ran) != 1 || !ran;
	work->sum += mix_hash((uint64_t)tid, ran);
	return 0;
}

/*
 * Set the member 'work' of the files that were found in this process.  In the list, these files
 * come after the first n_before files, which were found in other processes.
 */
static void add_process_work(struct mapped *mapped, size_t n_before, int proc, int pid)
{
	struct work work = { 0 };
	struct err ignored = { 0 };
	char name[32];

	snprintf(name, sizeof(name), "%d/task", pid);
	owned_fd int task = at_name_open(proc, name, O_RDONLY | O_DIRECTORY);
	if (task < 0 || pids_each(task, add_thread_work, &work, &ignored) < 0)
		work.unknown = true;
	for (size_t i = n_before; i < mapped->n; i++) {
		mapped->files[i].work = work.sum;
		mapped->files[i].unknown = work.unknown;
	}
}

static int search_thread(void *arg, int task, int tid, struct err *err)
{
	struct search *search = arg;
	int r = read_maps(search, task, tid);

	search->mapped->partial |= r < 0;
	(void)err;
	/* All threads of a process share one memory, so one thread with readable maps is enough. */
	return r > 0 ? -1 : 0;
}

/*
 * Search the mappings of a process.  If its first thread has ended, only the maps of its other
 * threads are readable.
 */
static int search_process(void *arg, int proc, int pid, struct err *err)
{
	struct search *search = arg;
	size_t n_before = search->mapped->n;
	struct err ignored = { 0 };
	char name[32];

	(void)err;
	search->proc = proc;
	search->pid = pid;
	int r = read_maps(search, proc, pid);
	search->mapped->partial |= r < 0;
	if (r == 0) {
		snprintf(name, sizeof(name), "%d/task", pid);
		owned_fd int task = at_name_open(proc, name, O_RDONLY | O_DIRECTORY);
		if (task >= 0)
			(void)pids_each(task, search_thread, search, &ignored);
	}
	if (search->mapped->n > n_before && search->mapped->untraced)
		add_process_work(search->mapped, n_before, proc, pid);
	return 0;
}

static void search_processes(struct search *search, int proc, const char *place)
{
	struct err ignored = { 0 };

	search->place = place;
	if (proc < 0 || pids_each(proc, search_process, search, &ignored) < 0)
		search->mapped->partial = true;
}

/* --- all processes --- */

bool mapped_is_untraced(int live)
{
	static const uint32_t traced[] = { EXT4_SUPER_MAGIC, XFS_MAGIC, BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC };
	struct statfs fs;

	for (size_t i = 0; fstatfs(live, &fs) == 0 && i < sizeof(traced) / sizeof(*traced); i++)
		if ((uint32_t)fs.f_type == traced[i])
			return false;
	return true;
}

/* Order files by inode.  For the same inode, a file with a path comes first. */
static int compare_files(const void *a, const void *b)
{
	const struct mapped_file *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino > y->ino ? 1 : -1;
	return (x->path == NULL) - (y->path == NULL);
}

static void sort_files(struct mapped *mapped)
{
	size_t n = 0;

	if (mapped->n)
		qsort(mapped->files, mapped->n, sizeof(*mapped->files), compare_files);
	for (size_t i = 0; i < mapped->n; i++) {
		struct mapped_file *file = &mapped->files[i];

		if (n && mapped->files[n - 1].ino == file->ino) {
			mapped->files[n - 1].work += file->work;
			mapped->files[n - 1].unknown |= file->unknown;
			free(file->path);
		} else {
			mapped->files[n++] = *file;
		}
	}
	mapped->n = n;
}

void mapped_look(struct mapped *mapped, const struct mapped_tree *tree)
{
	struct err ignored = { 0 };
	struct stat st = { 0 };
	owned_mem struct search *search = mem_zalloc(sizeof(*search));

	*mapped = (struct mapped){
		.since = when_coarse(),
		.untraced = mapped_is_untraced(tree->live),
		.partial = fstat(tree->live, &st) < 0,
	};
	*search = (struct search){ .mapped = mapped, .tree = tree, .dev = st.st_dev };
	if (tree->inside >= 0) {
		owned_fd int proc = at_name_open(tree->inside, "proc", O_RDONLY | O_DIRECTORY);

		if (!tree->open && fstat(tree->inside, &st) == 0)
			search->overlay = st.st_dev;
		search_processes(search, proc, "");
	}
	if (tree->open) {
		owned_fd int proc = at_open_given("/proc", O_RDONLY | O_DIRECTORY, 0, &ignored);
		owned_mem char *place = at_path_of(tree->live, &ignored);
		owned_mem char *own = tree->own < 0 ? NULL : at_path_of(tree->own, &ignored);

		search->own = own && place ? path_below(own, place) : NULL;
		search_processes(search, place ? proc : -1, place && place[1] ? place : "");
	}
	sort_files(mapped);
}

static int compare_ino(const void *key, const void *file)
{
	const uint64_t *ino = key;
	const struct mapped_file *at = file;

	return (*ino > at->ino) - (*ino < at->ino);
}

bool mapped_may_have(const struct mapped *mapped, uint64_t ino)
{
	return mapped->anywhere || (mapped->n && bsearch(&ino, mapped->files, mapped->n,
							 sizeof(*mapped->files), compare_ino));
}

void mapped_release(struct mapped *mapped)
{
	for (size_t i = 0; i < mapped->n; i++)
		free(mapped->files[i].path);
	free(mapped->files);
	*mapped = (struct mapped){ 0 };
}

uint64_t mapped_state(const struct mapped *mapped, int live)
{
	struct err ignored = { 0 };
	struct statx stx;
	uint64_t state = 0;

	for (size_t i = 0; i < mapped->n; i++) {
		const struct mapped_file *file = &mapped->files[i];
		owned_fd int fd =
			file->path ? at_open(live, file->path, O_PATH | O_NOFOLLOW, &ignored) : -1;

		if (fd < 0 || at_fd_stat(fd, &stx) < 0)
			continue;
		state = mix_hash(state, stx.stx_ino);
		state = mix_hash(state, (uint64_t)stx.stx_ctime.tv_sec);
		state = mix_hash(state, stx.stx_ctime.tv_nsec);
		if (mapped->untraced)
			state = mix_hash(
				state, file->unknown ? (uint64_t)mapped->since : file->work);
	}
	return state;
}
