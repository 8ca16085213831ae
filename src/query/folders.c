#include "query/folders.h"

#include <fcntl.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "query/dirview.h"
#include "query/snapname.h"

struct folder {
	struct provider provider;
	char *name; /* of the dataset */
	char *path;
	int fd;
};

struct folders {
	struct family family;
	struct folder **list; /* pointers, since a provider must keep its address */
	size_t n, cap;
};

static struct folder *folder_of(struct provider *provider)
{
	return (struct folder *)provider; /* the provider is the first member of struct folder */
}

/* ------------------------------------------------------------------- snapshots */

struct moments {
	struct moment {
		char *name;
		int64_t creation;
	} * list;
	size_t n, cap;
};

static void free_moments(struct moments *moments)
{
	for (size_t i = 0; i < moments->n; i++)
		free(moments->list[i].name);
	free(moments->list);
}

/*
 * Set *creation to the time of the snapshot with this name.  Returns false if the name is not a
 * directory.
 */
static bool find_creation(int fd, const char *name, int64_t *creation)
{
	struct statx stx;

	if (at_name_stat(fd, name, &stx) < 0 || !S_ISDIR(stx.stx_mode))
		return false;
	if (!snapname_time(str_of(name), creation))
		*creation = when_of(stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec);
	return true;
}

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->creation != y->creation)
		return x->creation < y->creation ? -1 : 1;
	return snapname_compare(str_of(x->name), str_of(y->name));
}

static int collect_moments(struct folder *folder, struct moments *moments, struct err *err)
{
	int fd = at_open(folder->fd, ".", O_RDONLY | O_DIRECTORY, err);
	owned(at_list_closep) DIR *list = at_list_take(fd);
	const struct dirent *found;
	struct moment moment;

	if (fd < 0)
		return fd;
	folder->provider.left_out = 0;
	while (list && (found = at_list_next(list))) {
		if (!find_creation(folder->fd, found->d_name, &moment.creation))
			continue;
		if (!snapname_is_snapshot(str_of(found->d_name))) {
			folder->provider.left_out++;
			continue;
		}
		moment.name = mem_strdup(found->d_name);
		mem_grow(&moments->list, &moments->cap, moments->n);
		moments->list[moments->n++] = moment;
	}
	if (errno != 0)
		return err_errno(err, "list '%.200s'", folder->path);
	if (moments->n)
		qsort(moments->list, moments->n, sizeof(*moments->list), compare_moments);
	return 0;
}

static int snapshots(
	struct provider *provider, provider_snapshot_visit visit, void *arg, struct err *err)
{
	owned(free_moments) struct moments moments = { 0 };
	int r = collect_moments(folder_of(provider), &moments, err);

	for (size_t i = 0; r == 0 && i < moments.n; i++) {
		struct provider_snapshot snapshot = {
			.name = moments.list[i].name,
			.creation = moments.list[i].creation,
			.used = -1,
			.refer = -1,
		};
		r = visit(arg, &snapshot, err);
	}
	return r < 0 ? r : 0;
}

static int resolve(struct provider *provider, const char *name, struct arena *arena,
	struct provider_snapshot *snapshot, struct err *err)
{
	int64_t creation;

	if (!find_creation(folder_of(provider)->fd, name, &creation))
		return err_set(err, ERR_NOT_FOUND, "no snapshot '%.80s'", name);
	*snapshot = (struct provider_snapshot){
		.name = arena_strdup(arena, name),
		.creation = creation,
		.used = -1,
		.refer = -1,
	};
	return 0;
}

static struct view *open_snapshot(struct provider *provider, const char *name, struct err *err)
{
	static const struct dirview_options options = { .shared_inodes = false };
	int root = at_open(folder_of(provider)->fd, name, O_PATH | O_DIRECTORY, err);

	return root < 0 ? NULL : dirview_new(root, &options);
}

static const struct provider_ops folder_ops = {
	.name = "dir",
	.snapshots = snapshots,
	.resolve = resolve,
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

static struct provider *open_dataset(struct family *family, const char *dataset, struct err *err)
{
	struct folder *folder = find_folder(folders_of(family), dataset);

	if (folder)
		return &folder->provider;
	err_set(err, ERR_NOT_FOUND, "no folder is the dataset '%.80s'", dataset);
	return NULL;
}

static void free_folder(struct folder *folder)
{
	close_fd(&folder->fd);
	free(folder->path);
	free(folder->name);
	free(folder);
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

/* -------------------------------------------------------------------- adding one */

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
	};
	if (!known) {
		mem_grow(&folders->list, &folders->cap, folders->n);
		folders->list[folders->n++] = folder;
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
