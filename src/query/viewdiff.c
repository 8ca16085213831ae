#include "query/viewdiff.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "query/changelist.h"
#include "query/samecontent.h"

#define DEPTH_MAX 16384

struct walk {
	struct view *a, *b;
	const struct treediff_options *options;
	struct changelist changes;
	struct buf path;
	unsigned depth;
};

static struct str here(const struct walk *walk)
{
	return (struct str){ walk->path.data ?: "", walk->path.len };
}

/* ------------------------------------------------------------------- listings */

struct listing {
	struct entry *list;
	size_t n, cap;
	struct arena arena;
	bool unread; /* the directory cannot be read */
};

static void free_listing(struct listing *listing)
{
	free(listing->list);
	arena_release(&listing->arena);
}

static int add_entry(void *arg, const struct entry *entry, struct err *err)
{
	struct listing *listing = arg;

	mem_grow(&listing->list, &listing->cap, listing->n);
	struct entry *copy = &listing->list[listing->n++];
	*copy = *entry;
	copy->name = arena_str(&listing->arena, entry->name);
	copy->target = arena_str(&listing->arena, entry->target);
	return 0;
}

static int list_dir(struct walk *walk, struct view *view, const struct entry *dir,
	struct listing *listing, struct err *err)
{
	int r = view->ops->list(view, dir, here(walk), add_entry, listing, err);

	if (r != -ERR_DENIED)
		return r;
	listing->unread = true;
	view->unread++;
	*err = (struct err){ 0 };
	return 0;
}

/* -------------------------------------------------------- entries of one side */

static int walk_one_side(struct walk *walk, const struct entry *entry, bool gone, struct err *err);

/*
 * Walk the entries of a directory that exists on one side only.  *whole is set to whether the
 * directory could be read.
 */
static int walk_children(
	struct walk *walk, const struct entry *dir, bool gone, bool *whole, struct err *err)
{
	owned(free_listing) struct listing listing = { 0 };
	size_t len = walk->path.len;
	int r = list_dir(walk, gone ? walk->a : walk->b, dir, &listing, err);

	*whole = !listing.unread;
	for (size_t i = 0; r == 0 && i < listing.n; i++) {
		buf_add_name(&walk->path, listing.list[i].name);
		r = walk_one_side(walk, &listing.list[i], gone, err);
		buf_truncate(&walk->path, len);
	}
	return r;
}

static int enter(struct walk *walk, struct err *err)
{
	if (walk->depth == DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "directories nested too deeply");
	walk->depth++;
	return 0;
}

static int walk_one_side(struct walk *walk, const struct entry *entry, bool gone, struct err *err)
{
	bool wanted, whole = true;
	size_t self = SIZE_MAX;
	int r = 0;

	if (!treediff_selects(walk->options, here(walk), &wanted))
		return 0;
	if (wanted)
		r = changelist_add_side(&walk->changes, here(walk), entry, gone, &self, err);
	if (r == 0 && entry->type == ENTRY_DIR) {
		r = enter(walk, err);
		if (r == 0)
			r = walk_children(walk, entry, gone, &whole, err);
		walk->depth--;
	}
	if (r == 0 && whole)
		changelist_end(&walk->changes, self, gone);
	return r;
}

/* ------------------------------------------------------ entries of both sides */

static int walk_both(
	struct walk *walk, const struct entry *a, const struct entry *b, struct err *err);

static int walk_lists(
	struct walk *walk, const struct listing *a, const struct listing *b, struct err *err)
{
	size_t len = walk->path.len, i = 0, k = 0;
	int r = 0;

	while (r == 0 && (i < a->n || k < b->n)) {
		int order = i == a->n   ? 1
			    : k == b->n ? -1
					: str_cmp(a->list[i].name, b->list[k].name);

		buf_add_name(&walk->path, order <= 0 ? a->list[i].name : b->list[k].name);
		if (order == 0)
			r = walk_both(walk, &a->list[i], &b->list[k], err);
		else if (order < 0)
			r = walk_one_side(walk, &a->list[i], true, err);
		else
			r = walk_one_side(walk, &b->list[k], false, err);
		buf_truncate(&walk->path, len);
		i += order <= 0;
		k += order >= 0;
	}
	return r;
}

/*
 * Whether two entries of the same name differ in a way that explains a new mtime of their
 * directory.  No file is read for this.
 */
static bool entries_differ(const struct entry *a, const struct entry *b)
{
	unsigned what = treediff_compare(a, b);

	if (!str_eq(a->name, b->name) || a->type != b->type)
		return true;
	return a->type != ENTRY_DIR && (what & ~(unsigned)TREEDIFF_CONTENT || a->size != b->size);
}

static bool names_differ(const struct listing *a, const struct listing *b)
{
	if (a->n != b->n)
		return true;
	for (size_t i = 0; i < a->n; i++)
		if (entries_differ(&a->list[i], &b->list[i]))
			return true;
	return false;
}

static int report_both(struct walk *walk, const struct entry *a, const struct entry *b,
	unsigned what, struct err *err)
{
	struct treediff_change change = {
		.op = what & TREEDIFF_TYPE ? 'T' : 'M',
		.path = here(walk),
		.what = what,
		.a = a,
		.b = b,
	};

	return what ? changelist_add(&walk->changes, &change, err) : 0;
}

static int walk_dirs(struct walk *walk, const struct entry *a, const struct entry *b, bool wanted,
	struct err *err)
{
	owned(free_listing) struct listing list_a = { 0 }, list_b = { 0 };
	unsigned what = treediff_compare(a, b);
	int r = list_dir(walk, walk->a, a, &list_a, err);

	if (r >= 0)
		r = list_dir(walk, walk->b, b, &list_b, err);
	if (r < 0)
		return r;
	if (list_a.unread != list_b.unread)
		what |= TREEDIFF_CONTENT;
	/*
	 * If the entries of a directory differ, its mtime differs, too.  So a new mtime alone does
	 * not count as a change here.
	 */
	else if (what == TREEDIFF_MTIME && names_differ(&list_a, &list_b))
		what = 0;
	if (wanted)
		r = report_both(walk, a, b, what, err);
	if (r != 0 || list_a.unread || list_b.unread)
		return r;
	r = enter(walk, err);
	if (r == 0)
		r = walk_lists(walk, &list_a, &list_b, err);
	walk->depth--;
	return r;
}

static int compare_files(struct walk *walk, const struct entry *a, const struct entry *b,
	unsigned *what, struct err *err)
{
	*what = treediff_compare(a, b);
	if (a->type != ENTRY_FILE || b->type != ENTRY_FILE || !(*what & TREEDIFF_CONTENT))
		return 0;
	int same = samecontent_check(walk->a, a, walk->b, b, here(walk), err);
	if (same > 0)
		*what &= ~(unsigned)TREEDIFF_CONTENT;
	return same < 0 ? same : 0;
}

static int walk_both(
	struct walk *walk, const struct entry *a, const struct entry *b, struct err *err)
{
	unsigned what = 0;
	bool wanted, whole;
	int r = 0;

	if (!treediff_selects(walk->options, here(walk), &wanted))
		return 0;
	if (a->type == ENTRY_DIR && b->type == ENTRY_DIR)
		return walk_dirs(walk, a, b, wanted, err);
	if (wanted)
		r = compare_files(walk, a, b, &what, err);
	if (r == 0)
		r = report_both(walk, a, b, what, err);
	/* A directory became something else, or something else became a directory. */
	if (r == 0 && a->type == ENTRY_DIR)
		r = walk_children(walk, a, true, &whole, err);
	if (r == 0 && b->type == ENTRY_DIR)
		r = walk_children(walk, b, false, &whole, err);
	return r;
}

int viewdiff_run(struct view *a, struct view *b, const struct treediff_options *options,
	provider_change_visit visit, void *arg, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct walk walk = { .a = a, .b = b, .options = options, .path = BUF_INIT };
	struct entry root_a, root_b;
	int r = a->ops->stat(a, STR(""), &arena, &root_a, err);

	if (r >= 0)
		r = b->ops->stat(b, STR(""), &arena, &root_b, err);
	if (r < 0)
		return r;
	changelist_init(&walk.changes, a, b, options->renames ? VIEWDIFF_HELD_MAX : 0, visit, arg);
	r = walk_both(&walk, &root_a, &root_b, err);
	if (r == 0)
		r = changelist_finish(&walk.changes, err);
	changelist_release(&walk.changes);
	buf_release(&walk.path);
	return r < 0 ? r : 0;
}

int viewdiff_snapshots(struct provider *provider, const char *a, const char *b,
	const struct treediff_options *options, provider_change_visit visit, void *arg,
	struct err *err)
{
	if (provider->ops->diff)
		return provider->ops->diff(provider, a, b, options, visit, arg, err);
	owned(view_closep) struct view *view_a = provider->ops->open(provider, a, err);
	owned(view_closep) struct view *view_b =
		view_a ? provider->ops->open(provider, b, err) : NULL;
	if (!view_b)
		return -(int)err->code;
	int r = viewdiff_run(view_a, view_b, options, visit, arg, err);
	provider->unread = view_a->unread + view_b->unread;
	return r;
}
