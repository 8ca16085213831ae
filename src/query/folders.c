#include "query/folders.h"

#include <fcntl.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "query/dirstamp.h"
#include "query/dirview.h"
#include "query/snapname.h"

#define NAME_PREFIX "@" /* samba's snapshots are called @GMT-2024.01.31-12.00.00 */

struct moments {
	struct moment {
		char *name;
		int64_t creation;
	} * list;
	size_t n, cap;
	bool timed; /* all times are in the names */
	uint64_t left_out;
};

struct folder {
	struct provider provider;
	char *name; /* name of the dataset */
	char *path;
	/* the dataset begins at this directory of each snapshot; NULL: at the snapshot itself */
	char *inner;
	int fd;
	struct buf where; /* the path that 'look' uses; kept to save allocations */
	/*
	 * The snapshots that were found, and the stamp that the folder had then.  The list is valid
	 * as long as the stamp is the same.  During a visit, 'kept' must not be replaced.
	 */
	struct moments kept;
	struct dirstamp stamp;
	bool is_kept;
	unsigned visits; /* number of running visits of kept */
};

struct folders {
	struct family family;
	struct folder **list; /* pointers, since a provider must keep its address */
	size_t n, cap;
};

static const struct dirview_options view_options = { .shared_inodes = false };

static struct folder *folder_of(struct provider *provider)
{
	return (struct folder *)provider; /* the provider is the first member of struct folder */
}

/* ------------------------------------------------------------------- snapshots */

static void free_moments(struct moments *moments)
{
	for (size_t i = 0; i < moments->n; i++)
		free(moments->list[i].name);
	free(moments->list);
	*moments = (struct moments){ 0 };
}

/*
 * Whether a directory is a backup that is still being made or removed.  Time Machine adds a suffix
 * to the name of a backup that is being made.  rsnapshot renames a backup before it removes the
 * backup.
 */
static bool is_unfinished(struct str name)
{
	static const struct str suffix = { ".inprogress", 11 };

	return str_starts(name, STR("_delete.")) ||
	       (name.len > suffix.len &&
		       str_eq((struct str){ name.ptr + name.len - suffix.len, suffix.len },
			       suffix));
}

/* Whether the dataset of the folder begins at a directory that this snapshot does not have. */
static bool lacks_inner(const struct folder *folder, int snapshot)
{
	struct err none = { 0 };
	owned_fd int inner =
		folder->inner ? at_open(snapshot, folder->inner, O_PATH | O_DIRECTORY, &none) : -1;

	return folder->inner && inner < 0;
}

/*
 * Open the directory of a snapshot, and set *creation to its time.  *timed becomes false if the
 * time is not in the name.  Returns -1 if the name is not the name of a snapshot.
 */
static int open_child(const struct folder *folder, const char *name, int64_t *creation, bool *timed)
{
	owned_fd int fd = at_name_open(folder->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	struct statx stx;

	if (fd < 0 || is_unfinished(str_of(name)) || lacks_inner(folder, fd))
		return -1;
	if (snapname_time(str_of(name), creation))
		return take_fd(&fd);
	*timed = false;
	if (at_fd_stat(fd, &stx) < 0)
		return -1;
	*creation = when_of(stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec);
	return take_fd(&fd);
}

/* As open_child, but 'name' is the name that users know.  That name has no prefix. */
static int open_known(
	const struct folder *folder, const char *name, int64_t *creation, struct err *err)
{
	bool timed;
	int fd = open_child(folder, name, creation, &timed);

	if (fd < 0) {
		owned_mem char *prefixed = mem_printf(NAME_PREFIX "%s", name);

		fd = open_child(folder, prefixed, creation, &timed);
	}
	return fd >= 0 ? fd : err_set(err, ERR_NOT_FOUND, "no snapshot '%.80s'", name);
}

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->creation != y->creation)
		return x->creation < y->creation ? -1 : 1;
	return snapname_compare(str_of(x->name), str_of(y->name));
}

/* Returns the name that users know for the snapshot in the directory 'name', or NULL. */
static const char *known_name(const struct folder *folder, const char *name)
{
	struct statx stx;

	if (!str_starts(str_of(name), STR(NAME_PREFIX)))
		return snapname_is_snapshot(str_of(name)) ? name : NULL;
	name += strlen(NAME_PREFIX);
	/* If a directory without the prefix exists, too, that directory has the name. */
	bool taken = at_name_stat(folder->fd, name, &stx) >= 0 && S_ISDIR(stx.stx_mode);
	return !taken && snapname_is_snapshot(str_of(name)) ? name : NULL;
}

static int collect_moments(const struct folder *folder, struct moments *moments, struct err *err)
{
	int fd = at_open(folder->fd, ".", O_RDONLY | O_DIRECTORY, err);
	owned(at_list_closep) DIR *list = at_list_take(fd);
	const struct dirent *found;
	struct moment moment;

	if (fd < 0)
		return fd;
	moments->timed = true;
	while (list && (found = at_list_next(list))) {
		owned_fd int child =
			open_child(folder, found->d_name, &moment.creation, &moments->timed);
		const char *known = child < 0 ? NULL : known_name(folder, found->d_name);

		if (child < 0)
			continue;
		if (!known) {
			moments->left_out++;
			continue;
		}
		moment.name = mem_strdup(known);
		mem_grow(&moments->list, &moments->cap, moments->n);
		moments->list[moments->n++] = moment;
	}
	if (errno != 0)
		return err_errno(err, "list '%.200s'", folder->path);
	if (moments->n)
		qsort(moments->list, moments->n, sizeof(*moments->list), compare_moments);
	return 0;
}

/*
 * List the snapshots, unless the last listing is still valid.  A listing is kept only if all times
 * are in the names, and if the dataset does not begin at an inner directory.  Otherwise the listing
 * could become wrong while the stamp of the folder stays the same.
 */
static int find_moments(struct folder *folder, struct err *err)
{
	struct statx stx;
	int r = at_fd_stat(folder->fd, &stx);

	if (r < 0)
		return err_number(err, -r, "read the attributes of '%.200s'", folder->path);
	struct dirstamp stamp = dirstamp_of(&stx, DIRSTAMP_BOTH);
	if (folder->is_kept && dirstamp_is_same(&folder->stamp, &stamp))
		return 0;
	free_moments(&folder->kept);
	r = collect_moments(folder, &folder->kept, err);
	folder->stamp = stamp;
	folder->is_kept =
		r >= 0 && folder->kept.timed && !folder->inner && dirstamp_is_settled(&stamp);
	return r;
}

static int visit_moments(
	const struct moments *moments, provider_snapshot_visit visit, void *arg, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < moments->n; i++) {
		struct provider_snapshot snapshot = {
			.name = moments->list[i].name,
			.creation = moments->list[i].creation,
			.used = -1,
			.refer = -1,
		};
		r = visit(arg, &snapshot, err);
	}
	return r < 0 ? r : 0;
}

static int snapshots(
	struct provider *provider, provider_snapshot_visit visit, void *arg, struct err *err)
{
	struct folder *folder = folder_of(provider);
	/*
	 * A visit may ask for the snapshots again.  The list of the outer visit is then used, and
	 * not replaced.
	 */
	int r = folder->visits ? 0 : find_moments(folder, err);

	if (r < 0)
		return r;
	provider->left_out = folder->kept.left_out;
	folder->visits++;
	r = visit_moments(&folder->kept, visit, arg, err);
	folder->visits--;
	return r;
}

static int resolve(struct provider *provider, const char *name, struct arena *arena,
	struct provider_snapshot *snapshot, struct err *err)
{
	int64_t creation;
	owned_fd int child = open_known(folder_of(provider), name, &creation, err);

	if (child < 0)
		return child;
	*snapshot = (struct provider_snapshot){
		.name = arena_strdup(arena, name),
		.creation = creation,
		.used = -1,
		.refer = -1,
	};
	return 0;
}

/*
 * Get the entry without opening the snapshot: with one call, the kernel opens the directory that
 * contains the entry.  *known becomes false for the root itself, for a snapshot whose directory has
 * a prefix, and if that call fails.  The caller must then use a view.
 */
static int look(struct provider *provider, const char *snapshot, struct str path,
	struct arena *arena, struct entry *entry, bool *known, struct err *err)
{
	const struct folder *folder = folder_of(provider);
	const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
	struct str above = { path.ptr, slash ? (size_t)(slash - path.ptr) : 0 };
	struct str name = slash ? (struct str){ slash + 1, path.len - above.len - 1 } : path;
	struct buf *where = &folder_of(provider)->where;
	struct err ignored = { 0 };

	*known = false;
	if (!entry_name_ok(name))
		return 0;
	buf_clear(where);
	buf_adds(where, snapshot);
	if (folder->inner)
		buf_add_name(where, str_of(folder->inner));
	buf_add_name(where, above);
	if (strlen(where->data) != where->len)
		return 0;
	owned_fd int dir = at_open(folder->fd, where->data, O_PATH | O_DIRECTORY, &ignored);
	if (dir < 0)
		return 0;
	*known = true;
	return dirview_entry(&view_options, dir, arena_str(arena, name).ptr, arena, entry, err);
}

static struct view *open_snapshot(struct provider *provider, const char *name, struct err *err)
{
	const struct folder *folder = folder_of(provider);
	int64_t creation;
	owned_fd int root = open_known(folder, name, &creation, err);

	if (root >= 0 && folder->inner) {
		int inner = at_open(root, folder->inner, O_PATH | O_DIRECTORY, err);

		close_fd(&root);
		root = inner;
	}
	return root < 0 ? NULL : dirview_new(take_fd(&root), &view_options);
}

static const struct provider_ops folder_ops = {
	.name = "dir",
	.snapshots = snapshots,
	.resolve = resolve,
	.look = look,
	.open = open_snapshot,
};

/* ---------------------------------------------------------------------- family */

static struct folders *folders_of(struct family *family)
{
	return (struct folders *)family; /* the family is the first member of struct folders */
}

static int datasets(struct family *family, provider_dataset_visit visit, void *arg, struct err *err)
{
	struct folders *folders = folders_of(family);
	int r = 0;

	for (size_t i = 0; r == 0 && i < folders->n; i++) {
		if (folders->list[i]->inner)
			continue;
		struct provider_dataset dataset = {
			.name = folders->list[i]->name,
			.type = "folder",
			.mountpoint = folders->list[i]->path,
			.used = -1,
			.avail = -1,
		};
		r = visit(arg, &dataset, err);
	}
	return r < 0 ? r : 0;
}

static struct folder *find_folder(const struct folders *folders, const char *name)
{
	for (size_t i = 0; i < folders->n; i++)
		if (!strcmp(folders->list[i]->name, name))
			return folders->list[i];
	return NULL;
}

static void free_folder(struct folder *folder)
{
	free_moments(&folder->kept);
	close_fd(&folder->fd);
	buf_release(&folder->where);
	free(folder->inner);
	free(folder->path);
	free(folder->name);
	free(folder);
}

static void append_folder(struct folders *folders, struct folder *folder)
{
	mem_grow(&folders->list, &folders->cap, folders->n);
	folders->list[folders->n++] = folder;
}

/* Returns the folder whose name, with a '/' after it, begins this dataset's name, or NULL. */
static struct folder *find_outer(const struct folders *folders, const char *dataset)
{
	struct folder *best = NULL;

	for (size_t i = 0; i < folders->n; i++) {
		struct folder *folder = folders->list[i];
		size_t len = strlen(folder->name);

		if (!folder->inner && !strncmp(dataset, folder->name, len) && dataset[len] == '/' &&
			(!best || len > strlen(best->name)))
			best = folder;
	}
	return best;
}

static bool is_plain_path(const char *path)
{
	for (const char *name = path; name; name = strchr(name, '/')) {
		name += name != path;
		size_t len = strcspn(name, "/");

		if (!len || (len == 1 && *name == '.') || (len == 2 && !strncmp(name, "..", 2)))
			return false;
	}
	return true;
}

static int stop_at_first(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	*(bool *)arg = true;
	return 1;
}

/*
 * Open the dataset that begins at a directory in each snapshot of the folder 'outer'.  Its name
 * 'dataset' is the name of the folder, '/' and the path of this directory in a snapshot.  Returns
 * NULL on error.
 */
static struct folder *open_inner(
	struct folders *folders, const struct folder *outer, const char *dataset, struct err *err)
{
	const char *path = dataset + strlen(outer->name) + 1;
	struct folder *folder = mem_zalloc(sizeof(*folder));
	bool found = false;

	*folder = (struct folder){
		.name = mem_strdup(dataset),
		.path = mem_strdup(outer->path),
		.inner = mem_strdup(path),
		.fd = fcntl(outer->fd, F_DUPFD_CLOEXEC, 0),
		.where = BUF_INIT,
	};
	folder->provider = (struct provider){ .ops = &folder_ops, .dataset = folder->name };
	if (folder->fd < 0)
		err_errno(err, "open the folder '%.200s'", outer->path);
	else if (is_plain_path(path))
		(void)snapshots(&folder->provider, stop_at_first, &found, err);
	if (found) {
		append_folder(folders, folder);
		return folder;
	}
	if (!err->code)
		err_set(err, ERR_NOT_FOUND, "no snapshot of '%.80s' has the directory '%.80s'",
			outer->name, path);
	free_folder(folder);
	return NULL;
}

static struct provider *open_dataset(struct family *family, const char *dataset, struct err *err)
{
	struct folders *folders = folders_of(family);
	struct folder *folder = find_folder(folders, dataset);
	const struct folder *outer = folder ? NULL : find_outer(folders, dataset);

	if (outer)
		folder = open_inner(folders, outer, dataset, err);
	if (folder)
		return &folder->provider;
	if (!outer)
		err_set(err, ERR_NOT_FOUND, "no folder is the dataset '%.80s'", dataset);
	return NULL;
}

static void close_family(struct family *family)
{
	struct folders *folders = folders_of(family);

	for (size_t i = 0; i < folders->n; i++)
		free_folder(folders->list[i]);
	free(folders->list);
	free(folders);
}

static const struct family_ops folders_ops = {
	.name = "dir",
	.datasets = datasets,
	.open = open_dataset,
	.close = close_family,
};

struct folders *folders_new(void)
{
	struct folders *folders = mem_zalloc(sizeof(*folders));

	folders->family.ops = &folders_ops;
	return folders;
}

struct family *folders_family(struct folders *folders)
{
	return &folders->family;
}

/* --------------------------------------------------------------- adding a folder */

/* Add a folder under a name.  name, path and fd are taken over. */
static int add_folder(struct folders *folders, char *name, char *path, int fd, struct err *err)
{
	struct folder *known = find_folder(folders, name);
	struct folder *folder = mem_zalloc(sizeof(*folder));
	bool again = known && !strcmp(known->path, path);

	*folder = (struct folder){
		.provider = { .ops = &folder_ops, .dataset = name },
		.name = name,
		.path = path,
		.fd = fd,
		.where = BUF_INIT,
	};
	if (!known) {
		append_folder(folders, folder);
		return 0;
	}
	free_folder(folder);
	return again ? 0
		     : err_set(err, ERR_INVALID, "two folders have the name '%.100s'", known->name);
}

int folders_add(struct folders *folders, const char *given, struct err *err)
{
	const char *equals = strchr(given, '=');
	struct str name = { given, equals ? (size_t)(equals - given) : 0 };
	bool named = equals && snapname_is_dataset(name);
	const char *path = named ? equals + 1 : given;
	owned_fd int fd = at_open_given(path, O_RDONLY | O_DIRECTORY, 0, err);
	owned_mem char *absolute = fd >= 0 ? at_path_of(fd, err) : NULL;

	if (!absolute) {
		(void)err_context(err, "folder '%.100s'", given);
		return -(int)err->code;
	}
	if (!named)
		name = str_of(absolute + 1);
	if (!snapname_is_dataset(name)) {
		err_set(err, ERR_INVALID, "the folder '%.200s' cannot be the name of a dataset",
			absolute);
		return err_hint(err, "give it a name: NAME=%.200s", absolute);
	}
	char *copy = mem_zalloc(name.len + 1);
	memcpy(copy, name.ptr, name.len);
	return add_folder(folders, copy, take_ptr(&absolute), take_fd(&fd), err);
}
