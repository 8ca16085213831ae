#include "tree/treegraft.h"

#include "core/own.h"
#include "tree/treebuild.h"
#include "tree/treelinks.h"

struct graft_dir {
	struct store *store;
	bool found;
};

/*
 * Find the entry called 'name' in dir.  Returns 1 with the entry, or 0 if there is none, for
 * instance because dir is NULL or a file.  The strings of the entry are valid until iter is moved.
 */
static int find_child(struct treeiter *iter, const struct entry *dir, struct str name,
	struct entry *entry, struct err *err)
{
	if (!dir || dir->type != ENTRY_DIR)
		return 0;
	return treeiter_find(iter, dir, name, entry, err);
}

/*
 * Build a copy of the directory 'base' in which the entry 'with' replaces the entry called 'name'.
 * If 'with' is NULL, the copy has no entry of that name.  If 'base' is NULL, the copy has no other
 * entries.
 */
static int rebuild(struct store *store, const struct entry *base, struct str name,
	const struct entry *with, struct entry *out, struct err *err)
{
	owned(treebuild_freep) struct treebuild *build = treebuild_new(store);
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(store);
	struct entry entry;
	int r = 0, more = 0;

	if (base)
		r = treeiter_open(iter, base, err);
	while (r >= 0 && base && (more = treeiter_next(iter, &entry, err)) > 0) {
		int order = str_cmp(entry.name, name);

		if (order >= 0 && with) {
			r = treebuild_add(build, with, err);
			with = NULL;
		}
		if (r >= 0 && order != 0)
			r = treebuild_add(build, &entry, err);
	}
	if (r >= 0 && more < 0)
		r = more;
	if (r >= 0 && with)
		r = treebuild_add(build, with, err);
	if (r >= 0)
		r = treebuild_finish(build, out, err);
	return r;
}

/*
 * Build a copy of the directory 'base' in which the entry at 'path' comes from 'source'.  Either of
 * the two directories may be NULL.  *out has the attributes of 'base', or those of 'source' if
 * 'base' is NULL.  *keep is set to true if *out is to be an entry of the result, else to false.
 */
static int graft_dir(struct graft_dir *state, const struct entry *base, const struct entry *source,
	struct str path, struct entry *out, bool *keep, struct err *err)
{
	struct store *store = state->store;
	struct str name = str_take_name(&path);

	if (!name.len) {
		state->found |= base || source;
		*keep = source != NULL;
		if (source)
			*out = *source;
		return 0;
	}
	if (!base && !source) {
		*keep = false;
		return 0;
	}
	owned(treeiter_freep) struct treeiter *base_iter = treeiter_new(store);
	owned(treeiter_freep) struct treeiter *source_iter = treeiter_new(store);
	struct entry in_base, in_source, child = { 0 };
	bool keep_child = false;
	int r = find_child(base_iter, base, name, &in_base, err);
	const struct entry *from_base = r > 0 ? &in_base : NULL;

	if (r >= 0)
		r = find_child(source_iter, source, name, &in_source, err);
	if (r >= 0)
		r = graft_dir(state, from_base, r > 0 ? &in_source : NULL, path, &child,
			&keep_child, err);
	*keep = base || keep_child;
	if (r >= 0 && *keep) {
		/* If 'base' is a file, the directory of 'source' replaces it. */
		bool usable = base && base->type == ENTRY_DIR;

		*out = usable || !source ? *base : *source;
		if (!usable && !keep_child)
			*out = *base; /* 'source' has no entry to put there, so 'base' stays */
		else
			r = rebuild(store, usable ? base : NULL, name, keep_child ? &child : NULL,
				out, err);
	}
	return r;
}

/* ------------------------------------------------------------------- putting */

static int merge_dirs(struct store *store, const struct entry *base, const struct entry *what,
	struct entry *out, struct err *err);

/* Put the entry 'what' in the place of 'base', which is an entry of the same name or NULL. */
static int replace_entry(struct store *store, const struct entry *base, const struct entry *what,
	struct entry *out, struct err *err)
{
	bool was_dir = base && base->type == ENTRY_DIR, is_dir = what->type == ENTRY_DIR;

	if (was_dir && is_dir)
		return merge_dirs(store, base, what, out, err);
	if (base && was_dir != is_dir)
		return err_set(err, ERR_INVALID, "'%.*s' is %s directory, and would become %s",
			(int)what->name.len, what->name.ptr, was_dir ? "a" : "no",
			is_dir ? "one" : "something else");
	*out = *what;
	return 0;
}

/* One of two directories whose entries are read side by side. */
struct side {
	struct treeiter *iter;
	struct entry entry;
	int more;
};

static void side_release(struct side *side)
{
	treeiter_freep(&side->iter);
}

static int open_side(
	struct side *side, struct store *store, const struct entry *dir, struct err *err)
{
	side->iter = treeiter_new(store);
	int r = treeiter_open(side->iter, dir, err);
	side->more = r < 0 ? r : treeiter_next(side->iter, &side->entry, err);
	return side->more;
}

/*
 * Add the entry for the next name that at least one of the two directories has.  Returns a negative
 * error on failure.
 */
static int add_next(struct store *store, struct side *base, struct side *what,
	struct treebuild *build, struct err *err)
{
	int order = !base->more   ? 1
		    : !what->more ? -1
				  : str_cmp(base->entry.name, what->entry.name);
	struct entry child = base->entry;
	int r = 0;

	if (order >= 0)
		r = replace_entry(store, order ? NULL : &base->entry, &what->entry, &child, err);
	if (r >= 0)
		r = treebuild_add(build, &child, err);
	if (r >= 0 && order <= 0)
		r = base->more = treeiter_next(base->iter, &base->entry, err);
	if (r >= 0 && order >= 0)
		r = what->more = treeiter_next(what->iter, &what->entry, err);
	return r;
}

static int merge_dirs(struct store *store, const struct entry *base, const struct entry *what,
	struct entry *out, struct err *err)
{
	owned(treebuild_freep) struct treebuild *build = treebuild_new(store);
	owned(side_release) struct side below, above;
	int r = open_side(&below, store, base, err);
	int r2 = open_side(&above, store, what, err);

	*out = *base;
	if (r >= 0)
		r = r2;
	while (r >= 0 && (below.more || above.more))
		r = add_next(store, &below, &above, build, err);
	return r < 0 ? r : treebuild_finish(build, out, err);
}

static int put_entry(struct store *store, const struct entry *dir, const struct entry *what,
	struct str path, struct entry *out, struct err *err)
{
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(store);
	struct str name = str_take_name(&path), rest = path;
	bool last = !str_take_name(&rest).len;
	struct entry there, child, named = *what;
	int r = find_child(iter, dir, name, &there, err);

	named.name = name;
	*out = *dir;
	if (r >= 0 && last)
		r = replace_entry(store, r > 0 ? &there : NULL, &named, &child, err);
	else if (r == 0 || (r > 0 && there.type != ENTRY_DIR))
		r = err_set(err, ERR_NOT_FOUND, "there is no directory '%.*s' in the tree",
			(int)name.len, name.ptr);
	else if (r > 0)
		r = put_entry(store, &there, what, path, &child, err);
	return r < 0 ? r : rebuild(store, dir, name, &child, out, err);
}

int treegraft_put(struct store *store, const struct hash *base, const struct entry *what,
	struct str path, struct hash *result, struct err *err)
{
	struct entry root, with, out;
	struct str rest = path;
	int r = treeiter_top(store, base, &root, err);

	if (r < 0)
		return r;
	if (str_take_name(&rest).len)
		r = put_entry(store, &root, what, path, &with, err);
	else
		r = replace_entry(store, &root, what, &with, err);
	/*
	 * The link groups in 'what' were computed from the paths of another tree, so they are
	 * corrected.
	 */
	out = with;
	out.name = STR("");
	if (r >= 0)
		r = treelinks_settle(store, &root, &with, path, &out, err);
	return r < 0 ? r : treebuild_root(store, &out, result, err);
}

int treegraft_path(struct store *store, const struct hash *base, const struct hash *source,
	struct str path, struct hash *result, struct err *err)
{
	struct graft_dir state = { .store = store };
	struct entry root_base, root_source, out;
	bool keep;
	int r = treeiter_top(store, base, &root_base, err);

	if (r >= 0)
		r = treeiter_top(store, source, &root_source, err);
	if (r < 0)
		return r;
	r = graft_dir(&state, &root_base, &root_source, path, &out, &keep, err);
	if (r >= 0 && state.found && !entry_same(&out, &root_base))
		r = treelinks_settle(store, &root_base, &root_source, path, &out, err);
	if (r < 0)
		return r;
	if (!state.found)
		return err_set(err, ERR_NOT_FOUND, "no path '%.*s' in either tree", (int)path.len,
			path.ptr);
	return treebuild_root(store, &out, result, err);
}
