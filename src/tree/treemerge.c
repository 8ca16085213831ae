#include "tree/treemerge.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "tree/treebuild.h"
#include "tree/treeiter.h"
#include "tree/treelinks.h"
#include "tree/xattrs.h"

struct merge {
	struct store *store;
	bool squashed;
	struct treelinks_names lost; /* hard-linked names of lower that are hidden */
};

/* A directory as it is merged: both lists, each with the entry in hand. */
struct pair {
	struct treeiter lower, upper;
	struct entry a, b;
	bool have_a, have_b;
	struct treebuild build;
};

static bool is_whiteout(const struct entry *entry)
{
	return entry->type == ENTRY_CHAR && !entry->major && !entry->minor;
}

/* Take the mark out of a directory's attributes; 1 when it was there. */
static int take_opaque(struct merge *merge, struct entry *dir, struct err *err)
{
	owned(buf_release) struct buf object = { .max = XATTRS_BYTES_MAX };
	owned(buf_release) struct buf rest = { .max = XATTRS_BYTES_MAX };
	struct xattrs_reader reader;
	struct xattr xattr;
	bool opaque = false;
	size_t kept = 0;
	int r;

	if (hash_is_none(&dir->xattrs))
		return 0;
	r = store_get(merge->store, OBJECT_XATTRS, &dir->xattrs, &object, err);
	if (r >= 0)
		r = xattrs_open(&reader, object.data, object.len, err);
	if (r < 0)
		return r;
	owned_mem struct xattr *list = mem_alloc(XATTRS_MAX * sizeof(*list));
	while ((r = xattrs_next(&reader, &xattr, err)) > 0) {
		if (str_eq(xattr.name, STR(XATTRS_OPAQUE)))
			opaque = true;
		else
			list[kept++] = xattr;
	}
	if (r < 0 || !opaque)
		return r;
	memset(&dir->xattrs, 0, sizeof(dir->xattrs));
	xattrs_encode(list, kept, &rest);
	if (kept)
		r = store_put(merge->store, OBJECT_XATTRS, rest.data, rest.len, &dir->xattrs, err);
	return r < 0 ? r : 1;
}

/* An entry of lower that is no longer seen, with all below it. */
static int note_hidden(
	struct merge *merge, const struct entry *entry, uint64_t path, struct err *err)
{
	struct entry child;
	int r;

	if (entry->link)
		treelinks_add(&merge->lost, entry->link, path);
	if (entry->type != ENTRY_DIR || entry->content != ENTRY_TREE)
		return 0;
	struct treeiter *iter = mem_alloc(sizeof(*iter));
	treeiter_init(iter, merge->store);
	r = treeiter_open(iter, entry, err);
	while (r >= 0 && (r = treeiter_next(iter, &child, err)) > 0)
		r = note_hidden(merge, &child, entry_path_hash(path, child.name), err);
	treeiter_release(iter);
	free(iter);
	return r;
}

static void set_owner(struct merge *merge, struct entry *entry, const struct entry *lower,
	const struct entry *parent)
{
	const struct entry *from = lower && lower->type == entry->type ? lower : parent;

	if (!merge->squashed)
		return;
	entry->uid = from->uid;
	entry->gid = from->gid;
}

static int merge_dir(struct merge *merge, const struct entry *lower, struct entry *dir,
	uint64_t path, struct err *err);

/* One name of upper, with what lower has there (or NULL); *keep: it is seen. */
static int merge_name(struct merge *merge, const struct entry *parent, const struct entry *lower,
	struct entry *entry, uint64_t path, bool *keep, struct err *err)
{
	bool below = lower && lower->type == ENTRY_DIR && entry->type == ENTRY_DIR;
	int r = 0;

	*keep = !is_whiteout(entry);
	if (lower && !below)
		r = note_hidden(merge, lower, path, err);
	if (r < 0 || !*keep)
		return r;
	set_owner(merge, entry, lower, parent);
	if (entry->type == ENTRY_DIR)
		r = merge_dir(merge, below ? lower : NULL, entry, path, err);
	return r;
}

static int advance(struct treeiter *iter, struct entry *entry, bool *have, struct err *err)
{
	int r = treeiter_next(iter, entry, err);

	*have = r > 0;
	return r < 0 ? r : 0;
}

/* Take the next name from either list into the new one. */
static int merge_step(struct merge *merge, struct pair *pair, const struct entry *dir,
	uint64_t path, struct err *err)
{
	int order = !pair->have_a ? 1 : !pair->have_b ? -1 : str_cmp(pair->a.name, pair->b.name);
	bool keep;
	int r;

	if (order < 0) {
		r = treebuild_add(&pair->build, &pair->a, err);
		return r < 0 ? r : advance(&pair->lower, &pair->a, &pair->have_a, err);
	}
	r = merge_name(merge, dir, order == 0 ? &pair->a : NULL, &pair->b,
		entry_path_hash(path, pair->b.name), &keep, err);
	if (r >= 0 && keep)
		r = treebuild_add(&pair->build, &pair->b, err);
	if (r >= 0 && order == 0)
		r = advance(&pair->lower, &pair->a, &pair->have_a, err);
	return r < 0 ? r : advance(&pair->upper, &pair->b, &pair->have_b, err);
}

static int merge_lists(struct merge *merge, const struct entry *lower, struct entry *dir,
	uint64_t path, struct err *err)
{
	struct pair *pair = mem_zalloc(sizeof(*pair));
	int r = 0;

	treeiter_init(&pair->lower, merge->store);
	treeiter_init(&pair->upper, merge->store);
	treebuild_init(&pair->build, merge->store);
	if (lower) {
		r = treeiter_open(&pair->lower, lower, err);
		if (r >= 0)
			r = advance(&pair->lower, &pair->a, &pair->have_a, err);
	}
	if (r >= 0)
		r = treeiter_open(&pair->upper, dir, err);
	if (r >= 0)
		r = advance(&pair->upper, &pair->b, &pair->have_b, err);
	while (r >= 0 && (pair->have_a || pair->have_b))
		r = merge_step(merge, pair, dir, path, err);
	if (r >= 0)
		r = treebuild_finish(&pair->build, dir, err);
	treebuild_release(&pair->build);
	treeiter_release(&pair->lower);
	treeiter_release(&pair->upper);
	free(pair);
	return r;
}

/* dir is a directory of upper; it becomes the merged one.  lower: the one below, or NULL. */
static int merge_dir(struct merge *merge, const struct entry *lower, struct entry *dir,
	uint64_t path, struct err *err)
{
	int opaque = take_opaque(merge, dir, err);
	int r = opaque;

	if (opaque > 0 && lower) {
		r = note_hidden(merge, lower, path, err);
		lower = NULL;
	}
	if (r < 0 || dir->content == ENTRY_UNREAD)
		return r;
	/* Copied up for its attributes, or for something that is as before. */
	if (dir->content == ENTRY_EMPTY && lower) {
		dir->content = lower->content;
		dir->hash = lower->hash;
		dir->count = lower->count;
		dir->size = lower->size;
		return 0;
	}
	return merge_lists(merge, lower, dir, path, err);
}

static int merge_roots(struct merge *merge, const struct treemerge_options *options,
	struct hash *merged, struct err *err)
{
	struct treeiter *iter = mem_alloc(sizeof(*iter));
	struct entry lower, upper;
	int r;

	treeiter_init(iter, merge->store);
	r = treeiter_root(iter, options->lower, &lower, err);
	if (r >= 0)
		r = treeiter_root(iter, options->upper, &upper, err);
	treeiter_release(iter);
	free(iter);
	if (r < 0)
		return r;
	lower.name = upper.name = STR("");
	set_owner(merge, &upper, &lower, &lower);
	r = merge_dir(merge, &lower, &upper, ENTRY_PATH_ROOT, err);
	if (r >= 0)
		r = treelinks_settle_lost(merge->store, &merge->lost, &upper, err);
	return r < 0 ? r : treebuild_root(merge->store, &upper, merged, err);
}

int treemerge_run(struct store *store, const struct treemerge_options *options, struct hash *merged,
	struct err *err)
{
	struct merge merge = { .store = store, .squashed = options->squashed };
	int r = merge_roots(&merge, options, merged, err);

	treelinks_release(&merge.lost);
	return r < 0 ? r : 0;
}
