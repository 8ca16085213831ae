#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/at.h"
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
		if (!strcmp(workspace_backends[i]->name, name))
			return workspace_backends[i];
	return NULL;
}

/* 1, or 0 with the reason. */
static int can_be(const struct workspace_backend *backend, int rootfd,
	const struct workspace_want *want, char why[WORKSPACE_WHY_MAX])
{
	if (want->in_place && backend->in_place == WORKSPACE_NEVER) {
		snprintf(why, WORKSPACE_WHY_MAX, "it cannot use a directory in place");
		return 0;
	}
	/* They would be in the upper, which goes with a checkout. */
	if (want->excludes && backend->mounted) {
		snprintf(why, WORKSPACE_WHY_MAX, "files left out with --exclude would be lost");
		return 0;
	}
	return backend->probe(rootfd, why);
}

static const struct workspace_backend *choose_named(int rootfd, const struct workspace_want *want,
	char *reason, size_t reason_max, struct err *err)
{
	const struct workspace_backend *backend = workspace_backend(want->backend);
	char why[WORKSPACE_WHY_MAX] = "";

	if (!backend) {
		err_set(err, ERR_UNSUPPORTED, "no backend '%s' in this build", want->backend);
		err_hint(err, "choose auto, overlay, btrfs, reflink or copy");
		return NULL;
	}
	if (!can_be(backend, rootfd, want, why)) {
		err_set(err, ERR_UNSUPPORTED, "backend '%s' cannot work here: %s", backend->name,
			why);
		err_hint(err, "use --backend auto, or see 'strata doctor'");
		return NULL;
	}
	snprintf(reason, reason_max, "asked for with --backend");
	return backend;
}

const struct workspace_backend *workspace_choose(int rootfd, const struct workspace_want *want,
	char *reason, size_t reason_max, struct err *err)
{
	size_t used = 0;

	if (want->backend && strcmp(want->backend, "auto"))
		return choose_named(rootfd, want, reason, reason_max, err);
	reason[0] = '\0';
	for (size_t i = 0; workspace_backends[i]; i++) {
		const struct workspace_backend *backend = workspace_backends[i];
		char why[WORKSPACE_WHY_MAX] = "";

		if (backend->mounted && !want->programs)
			snprintf(why, sizeof(why), "no program can run in a tree without /bin/sh");
		else if (can_be(backend, rootfd, want, why)) {
			if (!used)
				snprintf(reason, reason_max, "the best that works here");
			return backend;
		}
		int n = snprintf(reason + used, reason_max - used, "%sno %s: %s", used ? "; " : "",
			backend->name, why);
		used = n < 0 || (size_t)n >= reason_max - used ? reason_max - 1 : used + (size_t)n;
	}
	err_set(err, ERR_UNSUPPORTED, "no backend works here: %s", reason);
	return NULL;
}

bool workspace_name_ok(const char *name)
{
	size_t len = strlen(name);

	/* run/store.lock is the store's. */
	return len && len <= WORKSPACE_NAME_MAX && strcmp(name, "store") && name[0] != '.' &&
	       name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       len;
}

int workspace_open(struct workspace *workspace, struct err *err)
{
	workspace->live = workspace->index = -1;
	workspace->temp[0] = '\0';
	memset(&workspace->scan, 0, sizeof(workspace->scan));
	return workspace->backend->open(workspace, err);
}

void workspace_close(struct workspace *workspace)
{
	if (workspace->backend)
		workspace->backend->close(workspace);
	if (workspace->backend)
		close_fd(&workspace->shown);
	workspace->backend = NULL;
}

bool workspace_may_be_mapped(const struct workspace *workspace)
{
	const struct workspace_backend *backend = workspace->backend;

	return backend && workspace->live >= 0 && (workspace->inside || !backend->mounted);
}

void workspace_mapped(const struct workspace *workspace, struct mapped *mapped)
{
	mapped_look(mapped, &(struct mapped_tree){
				    .live = workspace->live,
				    .inside = workspace->inside ? *workspace->inside : -1,
				    .open = !workspace->backend->mounted,
				    .own = workspace->rootfd,
				    .exclude = workspace->exclude,
				    .n_exclude = workspace->n_exclude,
			    });
}

int workspace_discard(struct workspace *workspace, struct err *err)
{
	return indexed_discard(workspace, err);
}

bool workspace_wants_freeze(const struct workspace *workspace)
{
	return workspace->backend->freeze && workspace->entries >= workspace->backend->freeze_min;
}

int workspace_freeze(struct workspace *workspace, const struct hash *tree, struct err *err)
{
	return workspace->backend->freeze(workspace, tree, err);
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

int workspace_prove(const struct workspace *workspace, bool repair,
	void (*bad)(void *arg, unsigned layer), void *arg, struct err *err)
{
	struct layers layers = {
		.rootfd = workspace->rootfd,
		.store = workspace->store,
		.squashed = workspace->squashed,
		.donor = -1,
	};
	/* A layer that loses its mark must not get it back from a process that measures it. */
	owned_fd int hold = layers_hold(
		workspace->rootfd, repair ? LOCK_EXCLUSIVE : LOCK_SHARED, LAYERS_HOLD_MS, err);

	return hold < 0 ? hold : layerproof_all(&layers, repair, bad, arg, err);
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

bool workspace_discard_whole(int dirfd, const char *name, const struct statx *stx)
{
	struct err ignored = { 0 };

	if (stx->stx_ino != SUBVOLUME_INO)
		return false;
	if (subvolume_delete(dirfd, name, &ignored) == 0)
		return true;
	/* Then it is emptied, which a program inside may have tried to prevent. */
	owned_fd int fd = at_name_open(dirfd, name, O_RDONLY | O_DIRECTORY);
	if (fd >= 0)
		subvolume_allow_writes(fd);
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
