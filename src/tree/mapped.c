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

#define MAPS_LINE 17408 /* an address range and a path, whose newlines take four bytes each */
#define FILES_MAX 65536
#define XFS_MAGIC 0x58465342

struct looking {
	struct mapped *mapped;
	const struct mapped_tree *tree;
	const char *place; /* the tree as the programs that are looked at name it; "" for "/" */
	const char *own;   /* what is left out, in the tree; NULL: nothing */
	dev_t dev;         /* of the tree */
	dev_t overlay;     /* that shows the tree to the programs; 0: none does */
	int proc, pid;     /* the process that is looked at */
	char line[MAPS_LINE];
};

/* --- one file --- */

/* The rest of path below place, or NULL. */
static const char *path_below(const char *path, const char *place)
{
	size_t len = strlen(place);

	if (strncmp(path, place, len) != 0 || path[len] != '/')
		return NULL;
	return path + len + 1;
}

/* Whether a pattern is about the file or a directory it lies in. */
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

static bool is_left_out(const struct looking *looking, const char *path)
{
	return (looking->own && (!strcmp(path, looking->own) || path_below(path, looking->own))) ||
	       is_excluded(looking->tree, path);
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

/* A path as the kernel prints it: a newline in it is \012. */
static void decode(char *path)
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
 * Whether a shared mapping that cannot be stored to now may become one that can: mprotect(2) allows
 * that where the file was opened for writing.  The kernel shows it in the mode of a link.
 */
static bool may_become_writable(const struct looking *looking, const char *line)
{
	unsigned long start, end;
	char name[96];
	struct statx stx;

	if (sscanf(line, "%lx-%lx", &start, &end) != 2)
		return true;
	snprintf(name, sizeof(name), "%d/map_files/%lx-%lx", looking->pid, start, end);
	return at_name_stat(looking->proc, name, &stx) < 0 || stx.stx_mode & S_IWUSR;
}

/*
 * The file that a path of /proc/PID/maps leads to in the tree.  ino is what the kernel has for
 * the file that is mapped.  It is another file when the path is one of other mounts; a
 * file of an overlay that came from below has another number there, too.
 */
static bool take_path(struct looking *looking, const char *path, uint64_t ino)
{
	struct err ignored = { 0 };
	struct statx stx;
	owned_fd int fd =
		*path ? at_open(looking->tree->live, path, O_PATH | O_NOFOLLOW, &ignored) : -1;

	if (fd < 0 || at_fd_stat(fd, &stx) < 0 || !S_ISREG(stx.stx_mode))
		return false;
	/* A file that is left out by this name may be in the tree by another one. */
	if (!is_left_out(looking, path))
		add_file(looking->mapped, stx.stx_ino, path);
	else if (stx.stx_nlink > 1)
		add_file(looking->mapped, stx.stx_ino, NULL);
	return stx.stx_ino == ino;
}

/*
 * A path tells which file it is, unless that name is gone or is one of other mounts.  Then the
 * number does.  The device is no help: a btrfs subvolume shows one here that no file of it has.
 * A number of another file system does no harm where stores leave a trace: one file more has its
 * pages protected.  An overlay has other numbers than the directory it writes to, which is the
 * tree: any file may be the one.
 */
static void take_line(struct looking *looking, char *line)
{
	unsigned major, minor;
	unsigned long long ino;
	char permissions[5];
	int at = 0;

	if (sscanf(line, "%*s %4s %*x %x:%x %llu %n", permissions, &major, &minor, &ino, &at) !=
			4 ||
		permissions[3] != 's' || line[at] != '/' ||
		(permissions[1] != 'w' && !may_become_writable(looking, line)))
		return;
	decode(line + at);
	const char *path = path_below(line + at, looking->place);
	if (path && take_path(looking, path, ino))
		return;
	if (makedev(major, minor) == looking->overlay)
		looking->mapped->anywhere = true;
	else if (makedev(major, minor) == looking->dev || !looking->mapped->untraced)
		add_file(looking->mapped, ino, NULL);
}

/* Whether there are any; negative: they cannot be read. */
static int read_maps(struct looking *looking, int at, int id)
{
	char name[32];
	int lines = 0;

	snprintf(name, sizeof(name), "%d/maps", id);
	int fd = openat(at, name, O_RDONLY | O_CLOEXEC); /* by-name: a file of the kernel */
	FILE *maps = fd < 0 ? NULL : fdopen(fd, "r");
	if (!maps) {
		int r = -errno;

		close_fd(&fd);
		/* One that has ended has no mappings. */
		return r == -ENOENT || r == -ESRCH ? 0 : r;
	}
	for (; fgets(looking->line, sizeof(looking->line), maps); lines = 1) {
		looking->line[strcspn(looking->line, "\n")] = '\0';
		take_line(looking, looking->line);
	}
	if (ferror(maps) && errno != ESRCH)
		lines = -errno;
	fclose(maps);
	return lines;
}

static int look_at_thread(void *arg, int task, int tid, struct err *err)
{
	struct looking *looking = arg;
	int r = read_maps(looking, task, tid);

	looking->mapped->partial |= r < 0;
	(void)err;
	return r > 0 ? -1 : 0; /* all have the same memory, so one is enough */
}

/* Where the first thread has ended and others go on, only those have the memory. */
static int look_at_process(void *arg, int proc, int pid, struct err *err)
{
	struct looking *looking = arg;
	struct err ignored = { 0 };
	char name[32];

	(void)err;
	looking->proc = proc;
	looking->pid = pid;
	int r = read_maps(looking, proc, pid);
	looking->mapped->partial |= r < 0;
	if (r != 0)
		return 0;
	snprintf(name, sizeof(name), "%d/task", pid);
	owned_fd int task = at_name_open(proc, name, O_RDONLY | O_DIRECTORY);
	if (task >= 0)
		(void)pids_each(task, look_at_thread, looking, &ignored);
	return 0;
}

static void look_at_all(struct looking *looking, int proc, const char *place)
{
	struct err ignored = { 0 };

	looking->place = place;
	if (proc < 0 || pids_each(proc, look_at_process, looking, &ignored) < 0)
		looking->mapped->partial = true;
}

/* --- all of them --- */

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

/* Those with a path first. */
static int by_ino(const void *a, const void *b)
{
	const struct mapped_file *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino > y->ino ? 1 : -1;
	return (x->path == NULL) - (y->path == NULL);
}

static void sort(struct mapped *mapped)
{
	size_t n = 0;

	if (mapped->n)
		qsort(mapped->files, mapped->n, sizeof(*mapped->files), by_ino);
	for (size_t i = 0; i < mapped->n; i++) {
		if (n && mapped->files[n - 1].ino == mapped->files[i].ino)
			free(mapped->files[i].path);
		else
			mapped->files[n++] = mapped->files[i];
	}
	mapped->n = n;
}

void mapped_look(struct mapped *mapped, const struct mapped_tree *tree)
{
	struct err ignored = { 0 };
	struct stat st = { 0 };
	owned_mem struct looking *looking = mem_zalloc(sizeof(*looking));

	*mapped = (struct mapped){
		.since = when_coarse(),
		.untraced = mapped_is_untraced(tree->live),
		.partial = fstat(tree->live, &st) < 0,
	};
	*looking = (struct looking){ .mapped = mapped, .tree = tree, .dev = st.st_dev };
	if (tree->inside >= 0) {
		owned_fd int proc = at_name_open(tree->inside, "proc", O_RDONLY | O_DIRECTORY);

		if (!tree->open && fstat(tree->inside, &st) == 0)
			looking->overlay = st.st_dev;
		look_at_all(looking, proc, "");
	}
	if (tree->open) {
		owned_fd int proc = at_open_given("/proc", O_RDONLY | O_DIRECTORY, 0, &ignored);
		owned_mem char *place = at_path_of(tree->live, &ignored);
		owned_mem char *own = tree->own < 0 ? NULL : at_path_of(tree->own, &ignored);

		looking->own = own && place ? path_below(own, place) : NULL;
		look_at_all(looking, place ? proc : -1, place && place[1] ? place : "");
	}
	sort(mapped);
}

static int with_ino(const void *key, const void *file)
{
	const uint64_t *ino = key;
	const struct mapped_file *at = file;

	return (*ino > at->ino) - (*ino < at->ino);
}

bool mapped_has(const struct mapped *mapped, uint64_t ino)
{
	return mapped->n &&
	       bsearch(&ino, mapped->files, mapped->n, sizeof(*mapped->files), with_ino);
}

void mapped_release(struct mapped *mapped)
{
	for (size_t i = 0; i < mapped->n; i++)
		free(mapped->files[i].path);
	free(mapped->files);
	*mapped = (struct mapped){ 0 };
}

static uint64_t mix(uint64_t state, uint64_t value)
{
	return (state ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
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
		state = mix(state, stx.stx_ino);
		state = mix(state, (uint64_t)stx.stx_ctime.tv_sec);
		state = mix(state, stx.stx_ctime.tv_nsec);
	}
	return state && mapped->untraced ? mix(state, (uint64_t)mapped->since) : state;
}
