#include "workspace/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "workspace/indexed.h"
#include "workspace/layerproof.h"
#include "workspace/layers.h"
#include "workspace/layertend.h"
#include "workspace/subvolume.h"

const struct workspace_backend *const workspace_backends[] = {
	&workspace_overlay,
	&workspace_btrfs,
	&workspace_reflink,
	&workspace_copy,
	NULL,
};

const struct workspace_backend *workspace_backend(const char *name)
{
	for (size_t i = 0; workspace_backends[i]; i++)
		if (!strcmp(workspace_backends[i]->kind.name, name))
			return workspace_backends[i];
	return NULL;
}

/* Returns 1 if the backend fits *want and works here, or 0 with the reason in 'why'. */
static int can_work(const struct workspace_backend *backend, int rootfd,
	const struct workspace_want *want, char why[WORKSPACE_WHY_MAX])
{
	if (want->in_place && backend->kind.in_place == WORKSPACE_NEVER) {
		snprintf(why, WORKSPACE_WHY_MAX, "it cannot use a directory in place");
		return 0;
	}
	/*
	 * Excluded files would be in the upper directory.  A checkout removes that directory, and
	 * these files with it.
	 */
	if (want->excludes && backend->kind.mounted) {
		snprintf(why, WORKSPACE_WHY_MAX, "files left out with --exclude would be lost");
		return 0;
	}
	return backend->probe(rootfd, why);
}

const struct workspace_kind *workspace_kind(const char *backend)
{
	const struct workspace_backend *found = workspace_backend(backend);

	return found ? &found->kind : NULL;
}

static const struct workspace_kind *choose_named(int rootfd, const struct workspace_want *want,
	char *reason, size_t reason_max, struct err *err)
{
	const struct workspace_backend *backend = workspace_backend(want->backend);
	char why[WORKSPACE_WHY_MAX] = "";

	if (!backend) {
		err_set(err, ERR_UNSUPPORTED, "no backend '%s' in this build", want->backend);
		err_hint(err, "choose auto, overlay, btrfs, reflink or copy");
		return NULL;
	}
	if (!can_work(backend, rootfd, want, why)) {
		err_set(err, ERR_UNSUPPORTED, "backend '%s' cannot work here: %s",
			backend->kind.name, why);
		err_hint(err, "use --backend auto, or see 'strata doctor'");
		return NULL;
	}
	snprintf(reason, reason_max, "asked for with --backend");
	return &backend->kind;
}

const struct workspace_kind *workspace_choose(int rootfd, const struct workspace_want *want,
	char *reason, size_t reason_max, struct err *err)
{
	size_t used = 0;

	if (want->backend && strcmp(want->backend, "auto"))
		return choose_named(rootfd, want, reason, reason_max, err);
	reason[0] = '\0';
	for (size_t i = 0; workspace_backends[i]; i++) {
		const struct workspace_backend *backend = workspace_backends[i];
		char why[WORKSPACE_WHY_MAX] = "";

		if (backend->kind.mounted && !want->programs)
			snprintf(why, sizeof(why), "no program can run in a tree without /bin/sh");
		else if (can_work(backend, rootfd, want, why)) {
			if (!used)
				snprintf(reason, reason_max, "the best that works here");
			return &backend->kind;
		}
		int n = snprintf(reason + used, reason_max - used, "%sno %s: %s", used ? "; " : "",
			backend->kind.name, why);
		used = n < 0 || (size_t)n >= reason_max - used ? reason_max - 1 : used + (size_t)n;
	}
	err_set(err, ERR_UNSUPPORTED, "no backend works here: %s", reason);
	return NULL;
}

bool workspace_name_ok(const char *name)
{
	size_t len = strlen(name);

	/* The name 'store' is refused, because run/store.lock is the lock of the store. */
	return len && len <= WORKSPACE_NAME_MAX && strcmp(name, "store") && name[0] != '.' &&
	       name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       len;
}

struct workspace *workspace_new(const struct workspace_setup *setup, struct err *err)
{
	const struct workspace_backend *backend = workspace_backend(setup->backend);

	if (!backend) {
		err_set(err, ERR_UNSUPPORTED, "workspace '%s' needs the backend '%s'", setup->name,
			setup->backend);
		return NULL;
	}
	struct workspace *workspace = mem_zalloc(sizeof(*workspace));
	*workspace = (struct workspace){
		.backend = backend,
		.setup = *setup,
		.counters = &workspace->uncounted,
		.live = -1,
		.index = -1,
		.shown = -1,
	};
	return workspace;
}

void workspace_close(struct workspace *workspace)
{
	workspace->backend->close(workspace);
	close_fd(&workspace->shown);
}

bool workspace_free(struct workspace *workspace)
{
	if (!workspace)
		return false;
	bool untidy = workspace->untidy;
	workspace_close(workspace);
	free(workspace);
	return untidy;
}

int workspace_create(
	struct workspace *workspace, const struct hash *tree, int donor, struct err *err)
{
	return workspace->backend->create(workspace, tree, donor, err);
}

int workspace_open(struct workspace *workspace, struct err *err)
{
	return workspace->backend->open(workspace, err);
}

int workspace_read_in_place(
	struct workspace *workspace, int source, struct hash *tree, struct err *err)
{
	if (workspace->backend->read_in_place)
		return workspace->backend->read_in_place(workspace, source, tree, err);
	int r = workspace_open(workspace, err);
	return r < 0 ? r : workspace_capture(workspace, NULL, tree, err);
}

int workspace_destroy(struct workspace *workspace, struct err *err)
{
	return workspace->backend->destroy(workspace, err);
}

void workspace_squash(struct workspace *workspace, bool squashed)
{
	workspace->setup.squashed = squashed;
}

void workspace_count(struct workspace *workspace, struct workspace_counters *counters)
{
	workspace->counters = counters ? counters : &workspace->uncounted;
}

int workspace_live(const struct workspace *workspace)
{
	return workspace ? workspace->live : -1;
}

int workspace_capture(
	struct workspace *workspace, const int *inside, struct hash *tree, struct err *err)
{
	workspace->inside = inside;
	return workspace->backend->capture(workspace, tree, err);
}

int workspace_save_index(struct workspace *workspace, struct err *err)
{
	return workspace->backend->save_index(workspace, err);
}

int workspace_apply(struct workspace *workspace, const struct workspace_change *change,
	struct hash *now, struct err *err)
{
	workspace->setup.near = change->near;
	workspace->setup.n_near = change->n_near;
	workspace->running_left = change->running_left;
	return workspace->backend->apply(workspace, change->from, change->to, now, err);
}

void workspace_apply_through(struct workspace *workspace, int fd, uint32_t shift)
{
	close_fd(&workspace->shown);
	workspace->shown = fd;
	workspace->shown_shift = shift;
}

int workspace_mount(struct workspace *workspace, struct workspace_mount *mount, struct err *err)
{
	mount->n_lower = 0;
	return workspace->backend->mount ? workspace->backend->mount(workspace, mount, err) : 0;
}

int workspace_lower_tree(struct workspace *workspace, struct hash *tree, struct err *err)
{
	const struct workspace_backend *backend = workspace->backend;

	return backend->lower_tree ? backend->lower_tree(workspace, tree, err) : 0;
}

int workspace_drift(
	struct workspace *workspace, struct hash *was, struct hash *now, struct err *err)
{
	if (!workspace->setup.path || !workspace->backend->drift)
		return 0;
	return workspace->backend->drift(workspace, was, now, err);
}

void workspace_mapped(struct workspace *workspace, const int *inside, struct mapped *mapped)
{
	workspace->inside = inside;
	(void)indexed_mapped(workspace, mapped);
}

int workspace_discard(struct workspace *workspace, struct err *err)
{
	return indexed_discard(workspace, err);
}

int workspace_freeze(struct workspace *workspace, const struct hash *tree, struct err *err)
{
	const struct workspace_backend *backend = workspace->backend;

	return backend->freeze && workspace->entries >= backend->freeze_min
		       ? backend->freeze(workspace, tree, err)
		       : 0;
}

static bool is_in_store(void *arg, const struct hash *tree)
{
	struct err ignored = { 0 };

	return store_has(arg, OBJECT_TREE, tree, &ignored) == 1;
}

int workspace_sweep(int rootfd, struct store *store, struct err *err)
{
	struct layertend_options options = { .wait = true, .useful = is_in_store, .arg = store };

	return layertend_run(rootfd, &options, err);
}

int workspace_limit_layers(int rootfd, uint64_t bytes, struct err *err)
{
	return layertend_set_limit(rootfd, bytes, err);
}

int workspace_prove(const struct workspace_setup *setup, bool repair,
	void (*bad)(void *arg, unsigned layer), void *arg, struct err *err)
{
	struct layers layers = {
		.rootfd = setup->rootfd,
		.store = setup->store,
		.squashed = setup->squashed,
		.donor = -1,
	};
	/*
	 * A repair needs the exclusive lock.  With a shared lock, another process could measure a
	 * layer at the same time, and restore the mark that the repair removes.
	 */
	owned_fd int lock = layers_lock(setup->rootfd, repair ? LOCK_EXCLUSIVE : LOCK_SHARED, err);

	return lock < 0 ? lock : layerproof_all(&layers, repair, bad, arg, err);
}

int workspace_usage(int rootfd, struct workspace_usage *usage, struct err *err)
{
	struct layertend_usage layers;
	int r = layertend_usage(rootfd, &layers, err);

	if (r >= 0)
		*usage = (struct workspace_usage){
			.base = layers_base_bytes(rootfd),
			.layers = layers.taken,
			.layers_limit = layers.limit,
		};
	return r;
}

int workspace_tend(int rootfd, struct err *err)
{
	return layertend_run(rootfd, &(struct layertend_options){ 0 }, err);
}

bool workspace_discard_whole(void *arg, int dirfd, const char *name, const struct statx *stx)
{
	struct err ignored = { 0 };

	if (stx->stx_ino != SUBVOLUME_INO)
		return false;
	if (subvolume_delete(dirfd, name, &ignored) == 0)
		return true;
	/*
	 * Make the subvolume writable, since the caller is going to empty it, and a program inside
	 * may have made it read-only.
	 */
	owned_fd int fd = at_name_open(dirfd, name, O_RDONLY | O_DIRECTORY);
	if (fd >= 0)
		(void)subvolume_make_writable(fd, &ignored);
	return false;
}

int workspace_forget(int rootfd, const char *name, struct err *err)
{
	owned_fd int index = at_open(rootfd, WORKSPACE_INDEX_DIR, O_RDONLY | O_DIRECTORY, err);

	if (index < 0)
		return index;
	if (unlinkat(index, name, 0) < 0 && errno != ENOENT)
		return err_errno(err, "remove index '%s'", name);
	return 0;
}

bool workspace_indexed(int rootfd, const char *name, struct hash *tree)
{
	struct err ignored = { 0 };
	struct windex_dir top;
	owned_fd int index = at_open(rootfd, WORKSPACE_INDEX_DIR, O_RDONLY | O_DIRECTORY, &ignored);

	if (index < 0)
		return false;
	owned(windex_closep) struct windex *saved = windex_open(index, name);
	if (!saved || !windex_get_dir(saved, 0, &top))
		return false;
	*tree = top.tree;
	return true;
}
