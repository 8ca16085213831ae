#include "query/btrfsfamily.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/vfs.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/procfile.h"
#include "query/btrfslines.h"
#include "query/dirview.h"
#include "query/snapname.h"
#include "query/snapperinfo.h"

struct btrfsfamily {
	struct family family;
	struct btrfsvols vols;
	struct btrfslines lines; /* refers to vols */
	/* A dataset that was opened.  It finds its line by name after each scan. */
	struct dataset {
		struct provider provider;
		struct btrfsfamily *owner;
		char *name;
	} * *opened;
	size_t n_opened, cap_opened;
};

static struct btrfsfamily *family_of(struct family *family)
{
	return (struct btrfsfamily *)family; /* the family is the first member */
}

static struct dataset *dataset_of(struct provider *provider)
{
	return (struct dataset *)provider; /* the provider is the first member */
}

static int scan(struct btrfsfamily *self, struct err *err)
{
	btrfslines_release(&self->lines);
	if (btrfsvols_scan(&self->vols, err) < 0)
		return -(int)err->code;
	btrfslines_find(&self->lines, &self->vols);
	return 0;
}

static int scan_if_old(struct btrfsfamily *self, struct err *err)
{
	return btrfsvols_fresh(&self->vols) ? 0 : scan(self, err);
}

/* ------------------------------------------------------------------- snapshots */

/* Read the info.xml beside a snapshot.  Returns false if there is none for this snapshot. */
static bool read_info(
	const struct btrfsvol *vol, const char *name, struct arena *arena, struct snapperinfo *info)
{
	const char *slash = strrchr(vol->path, '/');
	owned_mem char *dir = mem_dup(vol->path, (size_t)(slash - vol->path) + 1);
	owned(buf_release) struct buf text = BUF_INIT;
	struct err none = { 0 };
	struct statx stx;

	dir[slash - vol->path] = '\0';
	owned_fd int fd = at_abs_open(dir, O_PATH | O_DIRECTORY);
	return fd >= 0 && at_name_stat(fd, "info.xml", &stx) >= 0 && S_ISREG(stx.stx_mode) &&
	       procfile_read_at(fd, "info.xml", SNAPPERINFO_MAX, &text, &none) >= 0 &&
	       snapperinfo_parse((struct str){ text.data, text.len }, arena, info) &&
	       info->number == strtoull(name, NULL, 10);
}

/*
 * Set the properties of a snapshot.  If the snapshot was received, the kernel knows only the time
 * of the reception.  The time when the snapshot was made then comes from the info.xml beside the
 * snapshot, or from the name of the snapshot.
 */
static void describe(const struct btrfsfamily *self, const struct btrfspoint *point,
	struct arena *arena, struct provider_snapshot *snapshot)
{
	const struct btrfsvol *vol = &self->vols.list[point->vol];
	bool received = btrfsvols_has(vol->received);
	struct snapperinfo info = { .date = INT64_MIN };
	int64_t named;

	*snapshot = (struct provider_snapshot){
		.name = arena_strdup(arena, point->name),
		.creation = vol->creation,
		.used = vol->used,
		.refer = vol->refer,
	};
	if (received && snapname_time(str_of(point->name), &named))
		snapshot->creation = named;
	if (!point->numbered || !read_info(vol, point->name, arena, &info))
		return;
	if (received && info.date != INT64_MIN)
		snapshot->creation = info.date;
	snapshot->kind = info.type;
	snapshot->message = info.description;
	snapshot->cleanup = info.cleanup;
}

static int compare_snapshots(const void *a, const void *b)
{
	const struct provider_snapshot *x = a, *y = b;

	if (x->creation != y->creation)
		return x->creation < y->creation ? -1 : 1;
	return snapname_compare(str_of(x->name), str_of(y->name));
}

static void sort_snapshots(struct provider_snapshot *list, size_t n)
{
	bool sorted = true;

	for (size_t i = 1; i < n; i++)
		sorted &= list[i - 1].creation <= list[i].creation;
	/*
	 * The list is in the order of the creation times that the kernel has.  It has to be sorted
	 * only if 'describe' has set another time for a received snapshot.
	 */
	if (!sorted)
		qsort(list, n, sizeof(*list), compare_snapshots);
}

static int snapshots(
	struct provider *provider, provider_snapshot_visit visit, void *arg, struct err *err)
{
	struct dataset *dataset = dataset_of(provider);
	owned(arena_release) struct arena arena = { 0 };
	int r = scan_if_old(dataset->owner, err);
	const struct btrfsline *line =
		r < 0 ? NULL : btrfslines_get(&dataset->owner->lines, dataset->name);

	provider->left_out = line ? line->hidden : 0;
	if (!line)
		return r;
	/* Copy the list, since visit may cause another scan. */
	size_t n = line->n;
	owned_mem struct provider_snapshot *list = mem_alloc((n + 1) * sizeof(*list));
	for (size_t i = 0; i < n; i++)
		describe(dataset->owner, &line->points[i], &arena, &list[i]);
	sort_snapshots(list, n);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = visit(arg, &list[i], err);
	return r < 0 ? r : 0;
}

/* Open the directory of a snapshot.  If it is no longer at its place, a new scan looks for it. */
static int open_point(
	struct dataset *dataset, const char *name, const struct btrfspoint **point, struct err *err)
{
	struct btrfsfamily *self = dataset->owner;

	for (unsigned attempt = 0; attempt < 2; attempt++) {
		const struct btrfsline *line = btrfslines_get(&self->lines, dataset->name);
		struct err why = { 0 };

		*point = line ? btrfslines_point(line, name) : NULL;
		int fd = *point ? btrfsvols_open(&self->vols, &self->vols.list[(*point)->vol], &why)
				: -1;
		if (fd >= 0)
			return fd;
		if (why.code == ERR_SYSTEM) {
			*err = why;
			return -(int)err->code;
		}
		if (!attempt && scan(self, err) < 0)
			return -(int)err->code;
	}
	return err_set(err, ERR_NOT_FOUND, "no snapshot '%.80s'", name);
}

static int resolve(struct provider *provider, const char *name, struct arena *arena,
	struct provider_snapshot *snapshot, struct err *err)
{
	struct dataset *dataset = dataset_of(provider);
	const struct btrfspoint *point;
	owned_fd int fd = open_point(dataset, name, &point, err);

	if (fd < 0)
		return fd;
	describe(dataset->owner, point, arena, snapshot);
	return 0;
}

static struct view *open_snapshot(struct provider *provider, const char *name, struct err *err)
{
	static const struct dirview_options options = { .shared_inodes = true };
	const struct btrfspoint *point;
	int root = open_point(dataset_of(provider), name, &point, err);

	return root < 0 ? NULL : dirview_new(root, &options);
}

static const struct provider_ops btrfs_ops = {
	.name = "btrfs",
	.snapshots = snapshots,
	.resolve = resolve,
	.open = open_snapshot,
};

/* ---------------------------------------------------------------------- family */

static int probe(struct family *family, struct err *err)
{
	struct btrfsfamily *self = family_of(family);

	if (scan(self, err) < 0)
		return -(int)err->code;
	return self->vols.mounts ? 0
				 : err_set(err, ERR_UNSUPPORTED, "no btrfs file system is mounted");
}

static int64_t free_bytes(const char *path)
{
	owned_fd int fd = at_abs_open(path, O_PATH | O_DIRECTORY);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -1;
	return (int64_t)((uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize);
}

static int datasets(struct family *family, provider_dataset_visit visit, void *arg, struct err *err)
{
	struct btrfsfamily *self = family_of(family);
	owned(arena_release) struct arena arena = { 0 };
	int r = scan_if_old(self, err);
	/* Copy the list, since visit may cause another scan. */
	size_t n = r < 0 ? 0 : self->lines.n;
	owned_mem struct provider_dataset *list = mem_alloc((n + 1) * sizeof(*list));

	for (size_t i = 0; i < n; i++) {
		const struct btrfsline *line = &self->lines.list[i];

		list[i] = (struct provider_dataset){
			.name = arena_strdup(&arena, line->name),
			.type = "subvolume",
			.mountpoint = arena_strdup(&arena, line->path),
			.used = line->live == BTRFSVOLS_NONE ? -1
							     : self->vols.list[line->live].refer,
			.avail = free_bytes(line->path),
		};
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		r = visit(arg, &list[i], err);
	return r < 0 ? r : 0;
}

/*
 * Set the error for a name that no dataset has.  If this user may not see the snapshots of the
 * subvolume with this name, the error says so.
 */
static int refuse_dataset(const struct btrfsfamily *self, const char *name, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };

	for (size_t i = 0; i < self->vols.n_hidden; i++) {
		const struct btrfsvol_hidden *hidden = &self->vols.hidden[i];
		const char *path = self->vols.list[hidden->in].path;

		if (strcmp(hidden->name, ".snapshots") != 0 ||
			strcmp(btrfslines_name(path, &arena), name) != 0)
			continue;
		err_number(err, EACCES, "open the snapshots of '%.80s' in '%.200s/.snapshots'",
			name, strcmp(path, "/") ? path : "");
		return err_hint(err, "run it as root, or name this user in ALLOW_USERS of "
				     "snapper's configuration");
	}
	return err_set(err, ERR_NOT_FOUND, "no subvolume '%.80s' with snapshots", name);
}

static struct provider *open_dataset(struct family *family, const char *name, struct err *err)
{
	struct btrfsfamily *self = family_of(family);

	if (scan_if_old(self, err) < 0)
		return NULL;
	if (!btrfslines_get(&self->lines, name)) {
		refuse_dataset(self, name, err);
		return NULL;
	}
	struct dataset *dataset = mem_zalloc(sizeof(*dataset));
	dataset->owner = self;
	dataset->name = mem_strdup(name);
	dataset->provider = (struct provider){ .ops = &btrfs_ops, .dataset = dataset->name };
	mem_grow(&self->opened, &self->cap_opened, self->n_opened);
	self->opened[self->n_opened++] = dataset;
	return &dataset->provider;
}

static void close_family(struct family *family)
{
	struct btrfsfamily *self = family_of(family);

	for (size_t i = 0; i < self->n_opened; i++) {
		free(self->opened[i]->name);
		free(self->opened[i]);
	}
	free(self->opened);
	btrfslines_release(&self->lines);
	btrfsvols_release(&self->vols);
	free(self);
}

static const struct family_ops btrfsfamily_ops = {
	.name = "btrfs",
	.probe = probe,
	.datasets = datasets,
	.open = open_dataset,
	.close = close_family,
};

struct family *btrfsfamily_new(void)
{
	struct btrfsfamily *self = mem_zalloc(sizeof(*self));

	self->family.ops = &btrfsfamily_ops;
	return &self->family;
}
