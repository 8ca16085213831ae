#include "query/viewdiff.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "query/changelist.h"
#include "query/samecontent.h"

#define DEPTH_MAX 16384

struct walk {
	struct view *a, *b;
	const struct treediff_options *options;
	struct changelist changes;
	struct buf path;
	unsigned depth;
	int64_t begun;
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
	struct view *view;
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
	listing->view = view;
	view->need = VIEW_BRIEF;
	view->begun = walk->begun;
	int r = view->ops->list(view, dir, here(walk), add_entry, listing, err);

	if (r != -ERR_DENIED)
		return r;
	listing->unread = true;
	view->unread++;
	*err = (struct err){ 0 };
	return 0;
}

/*
 * Get the attributes of the brief entry at the current path.  An entry that was removed meanwhile
 * gets the type 0, like an entry whose attributes cannot be read.
 */
static int complete_entry(
	struct walk *walk, struct listing *listing, struct entry *entry, struct err *err)
{
	struct str name = entry->name;
	struct err why = { 0 };

	if (!entry->brief)
		return 0;
	int r = listing->view->ops->stat(listing->view, here(walk), &listing->arena, entry, &why);
	if (r < 0 && why.code != ERR_DENIED) {
		*err = why;
		return r;
	}
	if (r <= 0)
		*entry = (struct entry){ .target = { "", 0 } };
	entry->name = name;
	return 0;
}

/* Whether two entries are known to be the same, although their attributes were not read. */
static bool are_one_file(const struct entry *a, const struct entry *b)
{
	return a->brief && b->brief && hash_eq(&a->hash, &b->hash);
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
		r = complete_entry(walk, &listing, &listing.list[i], err);
		if (r == 0)
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

/*
 * Compare the entries of two lists at the current path.  'a' or 'b' is NULL if its list does not
 * have the name.
 */
static int walk_pair(struct walk *walk, struct listing *list_a, struct entry *a,
	struct listing *list_b, struct entry *b, struct err *err)
{
	int r = a ? complete_entry(walk, list_a, a, err) : 0;

	if (r == 0 && b)
		r = complete_entry(walk, list_b, b, err);
	if (r < 0)
		return r;
	return a && b ? walk_both(walk, a, b, err) : walk_one_side(walk, a ?: b, a != NULL, err);
}

static int walk_lists(struct walk *walk, struct listing *a, struct listing *b, struct err *err)
{
	size_t len = walk->path.len, i = 0, k = 0;
	int r = 0;

	while (r == 0 && (i < a->n || k < b->n)) {
		int order = i == a->n   ? 1
			    : k == b->n ? -1
					: str_cmp(a->list[i].name, b->list[k].name);
		struct entry *entry_a = order <= 0 ? &a->list[i] : NULL;
		struct entry *entry_b = order >= 0 ? &b->list[k] : NULL;

		if (!entry_a || !entry_b || !are_one_file(entry_a, entry_b)) {
			buf_add_name(&walk->path, (entry_a ?: entry_b)->name);
			r = walk_pair(walk, a, entry_a, b, entry_b, err);
			buf_truncate(&walk->path, len);
		}
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

	if (a->type != b->type)
		return true;
	return a->type != ENTRY_DIR && (what & ~(unsigned)TREEDIFF_CONTENT || a->size != b->size);
}

/* Returns 1 if two lists differ, 0 if not, or a negative error. */
static int lists_differ(struct walk *walk, struct listing *a, struct listing *b, struct err *err)
{
	size_t len = walk->path.len;
	int r = a->n != b->n;

	for (size_t i = 0; r == 0 && i < a->n; i++) {
		struct entry *entry_a = &a->list[i], *entry_b = &b->list[i];

		if (are_one_file(entry_a, entry_b))
			continue;
		buf_add_name(&walk->path, entry_a->name);
		if (!str_eq(entry_a->name, entry_b->name))
			r = 1;
		if (r == 0)
			r = complete_entry(walk, a, entry_a, err);
		if (r == 0)
			r = complete_entry(walk, b, entry_b, err);
		if (r == 0)
			r = entries_differ(entry_a, entry_b);
		buf_truncate(&walk->path, len);
	}
	return r;
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
	 * If only the mtime of a directory differs, report this only if the entries are the same.
	 * Otherwise the entries that differ explain the new mtime, and are reported themselves.
	 */
	else if (what == TREEDIFF_MTIME) {
		r = lists_differ(walk, &list_a, &list_b, err);
		if (r < 0)
			return r;
		what = r ? 0 : what;
	}
	r = 0;
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
	walk.begun = when_coarse();
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
