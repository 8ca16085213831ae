/*
 * Renames can be reported only when all additions and deletions are known.  So the trees are walked
 * twice.  The first walk collects candidates for renames.  The second walk reports the changes; it
 * finds most nodes in the cache of the store.
 */
#include "core/arena.h"
#include "core/own.h"
#include "tree/renames.h"
#include "tree/treediff.h"
#include "tree/treepair.h"

struct walk {
	struct store *store;
	const struct treediff_options *options;
	int (*change)(void *arg, const struct treediff_change *change, struct err *err);
	void *arg;
	struct treediff_counts *counts;
	struct buf path;
	bool collecting;
	struct renames_list gone, come; /* candidates */
	size_t next_gone, next_come;    /* positions in these lists during the second walk */
	struct arena arena;
};

/* ---------------------------------------------------------------- reporting */

static int report_change(struct walk *walk, const struct treediff_change *change, struct err *err)
{
	if (walk->counts) {
		switch (change->op) {
		case '+':
			walk->counts->added++;
			break;
		case '-':
			walk->counts->deleted++;
			break;
		case 'R':
			walk->counts->renamed++;
			break;
		default:
			walk->counts->modified++;
			break;
		}
	}
	return walk->change ? walk->change(walk->arg, change, err) : 0;
}

/*
 * Report an addition, a deletion or a rename.  Candidates were collected in the same order, so the
 * next candidate belongs to this entry.  *inside becomes true if the entries below must be
 * reported, too.
 */
static int report_one_sided(
	struct walk *walk, const struct entry *entry, bool gone, bool *inside, struct err *err)
{
	struct renames_list *list = gone ? &walk->gone : &walk->come;
	size_t *next = gone ? &walk->next_gone : &walk->next_come;
	struct treediff_change change = {
		.op = gone ? '-' : '+',
		.path = { walk->path.data, walk->path.len },
		.a = gone ? entry : NULL,
		.b = gone ? NULL : entry,
	};

	*inside = true;
	if (*next < list->n) {
		struct renames_item *self = &list->list[*next];

		if (self->match >= 0) {
			*inside = false;
			*next = self->end;
			if (gone)
				return 0;
			const struct renames_item *old = &walk->gone.list[self->match];
			change.op = 'R';
			change.new_path = change.path;
			change.path = old->path;
			change.a = &old->entry;
			change.what =
				treediff_compare(&old->entry, entry) & ~(unsigned)TREEDIFF_LINK;
			return report_change(walk, &change, err);
		}
		++*next;
	}
	return report_change(walk, &change, err);
}

static int walk_one_side(struct walk *walk, const struct entry *entry, bool gone, struct err *err);

static int walk_children(struct walk *walk, const struct entry *dir, bool gone, struct err *err)
{
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(walk->store);
	size_t len = walk->path.len;
	struct entry child;
	int r = treeiter_open(iter, dir, err);

	while (r >= 0 && (r = treeiter_next(iter, &child, err)) > 0) {
		buf_add_name(&walk->path, child.name);
		r = walk_one_side(walk, &child, gone, err);
		buf_truncate(&walk->path, len);
	}
	return r < 0 ? r : 0;
}

static int walk_one_side(struct walk *walk, const struct entry *entry, bool gone, struct err *err)
{
	struct renames_list *list = gone ? &walk->gone : &walk->come;
	struct entry dir = { .type = entry->type, .content = entry->content, .hash = entry->hash };
	struct str path = { walk->path.data, walk->path.len };
	bool wanted, inside = true;
	size_t self = SIZE_MAX;
	int r = 0;

	if (!treediff_selects(walk->options, path, &wanted))
		return 0;
	if (wanted && walk->collecting) {
		if (list->n >= RENAMES_MAX)
			/* too many candidates: further changes are reported without renames */
			return 0;
		self = renames_add(
			list, entry, gone ? arena_str(&walk->arena, path) : (struct str){ 0 });
	} else if (wanted) {
		r = report_one_sided(walk, entry, gone, &inside, err);
	}
	if (r >= 0 && inside && dir.type == ENTRY_DIR)
		r = walk_children(walk, &dir, gone, err);
	if (self != SIZE_MAX)
		list->list[self].end = (uint32_t)list->n;
	return r;
}

/* Whether the mtime of a directory may differ because one of its own entries has changed. */
static int is_mtime_explained(
	struct walk *walk, const struct entry *a, const struct entry *b, struct err *err)
{
	owned(treepair_freep) struct treepair *pair = treepair_new(walk->store);
	const struct entry *x, *y;
	int r, found = 0;

	r = treepair_open(pair, a, b, err);
	while (r >= 0 && !found && (r = treepair_next(pair, &x, &y, err)) > 0)
		found = !x || !y || x->type != y->type || x->type != ENTRY_DIR;
	return r < 0 ? r : found;
}

static int report_modified(
	struct walk *walk, const struct entry *a, const struct entry *b, struct err *err)
{
	struct treediff_change change = {
		.op = a->type != b->type ? 'T' : 'M',
		.path = { walk->path.data, walk->path.len },
		.what = treediff_compare(a, b),
		.a = a,
		.b = b,
	};

	if (walk->collecting || !change.what)
		return 0;
	if (a->type == ENTRY_DIR && change.what == TREEDIFF_MTIME) {
		int r = is_mtime_explained(walk, a, b, err);

		if (r != 0)
			return r < 0 ? r : 0;
	}
	return report_change(walk, &change, err);
}

static int walk_both(
	struct walk *walk, const struct entry *a, const struct entry *b, struct err *err);

static int walk_pairs(
	struct walk *walk, const struct entry *a, const struct entry *b, struct err *err)
{
	owned(treepair_freep) struct treepair *pair = treepair_new(walk->store);
	size_t len = walk->path.len;
	const struct entry *x, *y;
	int r = treepair_open(pair, a, b, err);

	while (r >= 0 && (r = treepair_next(pair, &x, &y, err)) > 0) {
		struct str name = x ? x->name : y->name;

		buf_add_name(&walk->path, name);
		if (x && y)
			r = walk_both(walk, x, y, err);
		else
			r = walk_one_side(walk, x ? x : y, x, err);
		buf_truncate(&walk->path, len);
	}
	return r < 0 ? r : 0;
}

static int walk_both(
	struct walk *walk, const struct entry *a, const struct entry *b, struct err *err)
{
	struct entry dir_a = { .type = a->type, .content = a->content, .hash = a->hash };
	struct entry dir_b = { .type = b->type, .content = b->content, .hash = b->hash };
	struct str path = { walk->path.data, walk->path.len };
	bool wanted;
	int r = 0;

	if (!treediff_selects(walk->options, path, &wanted))
		return 0;
	if (wanted)
		r = report_modified(walk, a, b, err);
	if (r < 0)
		return r;
	/*
	 * The entries of an unread directory are unknown, so they count neither as deleted nor as
	 * added.
	 */
	if (dir_a.type == ENTRY_DIR && dir_b.type == ENTRY_DIR &&
		(dir_a.content == ENTRY_UNREAD || dir_b.content == ENTRY_UNREAD))
		return 0;
	if (dir_a.type == ENTRY_DIR && dir_b.type == ENTRY_DIR)
		return walk_pairs(walk, &dir_a, &dir_b, err);
	/* A directory became something else, or something else became a directory. */
	if (dir_a.type == ENTRY_DIR)
		return walk_children(walk, &dir_a, true, err);
	if (dir_b.type == ENTRY_DIR)
		return walk_children(walk, &dir_b, false, err);
	return 0;
}

static int walk_trees(
	struct walk *walk, const struct hash *a, const struct hash *b, struct err *err)
{
	struct entry root_a, root_b;
	int r = treeiter_top(walk->store, a, &root_a, err);

	buf_clear(&walk->path);
	if (r >= 0)
		r = treeiter_top(walk->store, b, &root_b, err);
	return r < 0 ? r : walk_both(walk, &root_a, &root_b, err);
}

int treediff_run(struct store *store, const struct hash *a, const struct hash *b,
	const struct treediff_options *options,
	int (*change)(void *arg, const struct treediff_change *change, struct err *err), void *arg,
	struct treediff_counts *counts, struct err *err)
{
	struct walk walk = {
		.store = store,
		.options = options,
		.change = change,
		.arg = arg,
		.counts = counts,
		.path = BUF_INIT,
	};
	int r = 0;

	if (hash_eq(a, b))
		return 0;
	buf_reserve(&walk.path, 256);
	if (options->renames) {
		walk.collecting = true;
		r = walk_trees(&walk, a, b, err);
		walk.collecting = false;
		renames_match(&walk.gone, &walk.come);
	}
	if (r >= 0)
		r = walk_trees(&walk, a, b, err);
	buf_release(&walk.path);
	renames_release(&walk.gone);
	renames_release(&walk.come);
	arena_release(&walk.arena);
	return r;
}
