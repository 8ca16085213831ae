#include "tree/treemerge.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "tree/treebuild.h"
#include "tree/treeiter.h"
#include "tree/xattrs.h"

struct treemerge_level {
	struct treebuild build;
	uint64_t path; /* hash of the path (entry_path_hash) */
	uint32_t uid, gid;
	struct hash xattrs; /* xattrs of the directory, without the opaque mark */
	bool over;          /* the lower tree has a directory at this path */
	bool touched;       /* an upper entry was added, or no lower directory is merged */
	bool lost;          /* an entry hides hard links of the lower tree */
	struct entry below; /* the directory in the lower tree, without strings */
	struct treeiter iter;
	struct entry next; /* the next entry of the directory 'below' */
	bool have_next;
};

static bool is_whiteout(const struct treemerge *merge, const struct entry *entry)
{
	return merge->over && entry->type == ENTRY_CHAR && !entry->major && !entry->minor;
}

/*
 * Remove the opaque mark from the attributes of a directory.  Returns 1 if there was one, else 0.
 */
static int remove_opaque_mark(struct store *store, struct hash *xattrs, struct err *err)
{
	owned(buf_release) struct buf object = { .max = XATTRS_BYTES_MAX };
	owned(buf_release) struct buf rest = { .max = XATTRS_BYTES_MAX };
	struct xattrs_reader reader;
	struct xattr xattr;
	bool opaque = false;
	size_t kept = 0;

	if (hash_is_none(xattrs))
		return 0;
	int r = store_get(store, OBJECT_XATTRS, xattrs, &object, err);
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
	memset(xattrs, 0, sizeof(*xattrs));
	xattrs_encode(list, kept, &rest);
	if (kept)
		r = store_put(store, OBJECT_XATTRS, rest.data, rest.len, xattrs, err);
	return r < 0 ? r : 1;
}

/* ------------------------------------------------------------------- hiding */

/*
 * Note all hard links in a hidden part of the lower tree: an entry and everything below the entry.
 * Returns 1 if there are any, else 0.
 */
static int note_hidden(
	struct treemerge *merge, const struct entry *entry, uint64_t path, struct err *err)
{
	struct entry child;
	int r, links = entry->link != 0;

	if (entry->link)
		treelinks_add(&merge->lost, entry->link, path);
	if (entry->type != ENTRY_DIR || entry->content != ENTRY_TREE)
		return links;
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(merge->store);
	r = treeiter_open(iter, entry, err);
	while (r >= 0 && (r = treeiter_next(iter, &child, err)) > 0) {
		r = note_hidden(merge, &child, entry_path_hash(path, child.name), err);
		links |= r > 0;
	}
	return r < 0 ? r : links;
}

/*
 * Note the hard links that an upper entry hides.  'below' is the entry of the lower tree with the
 * same name.  Returns 1 if it is certain that the upper entry hides no hard links, else 0.
 */
static int note_entry_hidden(struct treemerge *merge, struct treemerge_level *level,
	const struct entry *below, struct str name, enum treemerge_hides hides, struct err *err)
{
	if (hides == TREEMERGE_NO_LINKS)
		return 1;
	int r = note_hidden(merge, below, entry_path_hash(level->path, name), err);
	level->lost |= r > 0;
	return r < 0 ? r : r == 0;
}

/* ------------------------------------------------------------------- levels */

static struct treemerge_level *push_level(struct treemerge *merge)
{
	if (merge->depth == merge->n_levels) {
		struct treemerge_level *level = mem_zalloc(sizeof(*level));

		treebuild_init(&level->build, merge->store);
		treeiter_init(&level->iter, merge->store);
		mem_grow(&merge->levels, &merge->cap_levels, merge->n_levels);
		merge->levels[merge->n_levels++] = level;
	}
	return merge->levels[merge->depth++];
}

static struct treemerge_level *top_level(struct treemerge *merge)
{
	return merge->levels[merge->depth - 1];
}

static int next_below(struct treemerge_level *level, struct err *err)
{
	int r = treeiter_next(&level->iter, &level->next, err);

	level->have_next = r > 0;
	return r < 0 ? r : 0;
}

/*
 * Copy the entries of the lower directory whose names sort before the given name.  Returns 1 if the
 * lower directory also has an entry of that name, else 0.
 */
static int copy_below_until(struct treemerge_level *level, struct str name, struct err *err)
{
	while (level->have_next) {
		int order = str_cmp(level->next.name, name);

		if (order >= 0)
			return order == 0;
		int r = treebuild_add(&level->build, &level->next, err);
		if (r >= 0)
			r = next_below(level, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int open_below(struct treemerge_level *level, const struct entry *below, struct err *err)
{
	level->below = *below;
	level->below.name = level->below.target = STR("");
	level->over = true;
	int r = treeiter_open(&level->iter, &level->below, err);
	return r < 0 ? r : next_below(level, err);
}

/*
 * Enter the directory dir.  'around' is the level of its parent, or NULL for the root.  'below' is
 * the entry that the lower tree has in the place of dir, or NULL.
 */
static int enter_level(struct treemerge *merge, struct treemerge_level *around,
	const struct entry *dir, const struct entry *below, struct err *err)
{
	struct treemerge_level *level = push_level(merge);
	bool is_dir = below && below->type == ENTRY_DIR;

	level->path = around ? entry_path_hash(around->path, dir->name) : ENTRY_PATH_ROOT;
	level->xattrs = dir->xattrs;
	level->uid = dir->uid;
	level->gid = dir->gid;
	if (merge->squashed && (is_dir || around)) {
		level->uid = is_dir ? below->uid : around->uid;
		level->gid = is_dir ? below->gid : around->gid;
	}
	level->over = level->touched = level->lost = level->have_next = false;
	if (!merge->over)
		return 0;
	int opaque = remove_opaque_mark(merge->store, &level->xattrs, err);
	if (opaque < 0)
		return opaque;
	if (is_dir && !opaque)
		return open_below(level, below, err);
	level->touched = true;
	return below && around
		       ? note_entry_hidden(merge, around, below, dir->name, TREEMERGE_UNKNOWN, err)
		       : 0;
}

int treemerge_begin(struct treemerge *merge, const struct entry *dir, struct err *err)
{
	if (!merge->depth)
		return enter_level(merge, NULL, dir, merge->over ? &merge->lower : NULL, err);
	struct treemerge_level *around = top_level(merge);
	int r = copy_below_until(around, dir->name, err);
	if (r >= 0)
		r = enter_level(merge, around, dir, r ? &around->next : NULL, err);
	return r < 0 ? r : 0;
}

int treemerge_end(struct treemerge *merge, struct entry *dir, bool *lost, struct err *err)
{
	struct treemerge_level *level = top_level(merge);
	int r = 0;

	merge->depth--;
	*lost = level->lost;
	dir->uid = level->uid;
	dir->gid = level->gid;
	dir->xattrs = level->xattrs;
	/*
	 * The upper directory has no entries.  It was copied up only for its attributes, or for an
	 * entry that was removed again.
	 */
	if (level->over && !level->touched) {
		dir->content = level->below.content;
		dir->hash = level->below.hash;
		dir->count = level->below.count;
		dir->size = level->below.size;
		treeiter_close(&level->iter);
		return 0;
	}
	while (r >= 0 && level->have_next) {
		r = treebuild_add(&level->build, &level->next, err);
		if (r >= 0)
			r = next_below(level, err);
	}
	treeiter_close(&level->iter);
	return r < 0 ? r : treebuild_finish(&level->build, dir, err);
}

/* ------------------------------------------------------------------ entries */

int treemerge_add(struct treemerge *merge, const struct entry *entry, enum treemerge_hides hides,
	struct err *err)
{
	struct treemerge_level *level = top_level(merge);
	struct entry out = *entry;
	int r, clear = 0;

	if (!merge->over)
		return treebuild_add(&level->build, entry, err);
	level->touched = true;
	int found = copy_below_until(level, entry->name, err);
	if (found < 0)
		return found;
	const struct entry *below = found ? &level->next : NULL;
	int opaque =
		entry->type == ENTRY_DIR ? remove_opaque_mark(merge->store, &out.xattrs, err) : 0;
	if (opaque < 0)
		return opaque;
	if (below && (below->type != ENTRY_DIR || entry->type != ENTRY_DIR || opaque)) {
		clear = note_entry_hidden(merge, level, below, entry->name, hides, err);
		if (clear < 0)
			return clear;
	}
	if (merge->squashed) {
		bool same = below && below->type == entry->type;

		out.uid = same ? below->uid : level->uid;
		out.gid = same ? below->gid : level->gid;
	}
	r = is_whiteout(merge, entry) ? 0 : treebuild_add(&level->build, &out, err);
	if (r >= 0 && found)
		r = next_below(level, err);
	return r < 0 ? r : clear;
}

int treemerge_add_ended(struct treemerge *merge, const struct entry *entry, struct err *err)
{
	struct treemerge_level *level = top_level(merge);
	bool below = merge->over && level->have_next && str_eq(level->next.name, entry->name);
	int r = treebuild_add(&level->build, entry, err);

	level->touched = true;
	return r >= 0 && below ? next_below(level, err) : r;
}

/* -------------------------------------------------------------------- whole */

int treemerge_init(struct treemerge *merge, struct store *store, const struct hash *lower,
	bool squashed, struct err *err)
{
	*merge = (struct treemerge){ .store = store, .over = lower, .squashed = lower && squashed };
	int r = lower ? treeiter_top(store, lower, &merge->lower, err) : 0;
	return r < 0 ? r : 0;
}

void treemerge_release(struct treemerge *merge)
{
	for (size_t i = 0; i < merge->n_levels; i++) {
		treebuild_release(&merge->levels[i]->build);
		treeiter_release(&merge->levels[i]->iter);
		free(merge->levels[i]);
	}
	free(merge->levels);
	treelinks_release(&merge->lost);
}

int treemerge_root(struct treemerge *merge, struct entry *root, struct err *err)
{
	int r = merge->over ? remove_opaque_mark(merge->store, &root->xattrs, err) : 0;

	if (merge->squashed) {
		root->uid = merge->lower.uid;
		root->gid = merge->lower.gid;
	}
	return r < 0 ? r : 0;
}

int treemerge_finish(
	struct treemerge *merge, struct entry *root, struct hash *tree, struct err *err)
{
	int r = merge->lost.n ? treelinks_settle_lost(merge->store, &merge->lost, root, err) : 0;

	return r < 0 ? r : treebuild_root(merge->store, root, tree, err);
}
