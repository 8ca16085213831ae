#include "query/changelist.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "query/keytable.h"
#include "query/samecontent.h"

void changelist_init(struct changelist *list, struct view *a, struct view *b, size_t hold,
	provider_change_visit visit, void *arg)
{
	*list = (struct changelist){ .a = a, .b = b, .hold = hold, .visit = visit, .arg = arg };
}

void changelist_release(struct changelist *list)
{
	free(list->list);
	renames_release(&list->gone);
	renames_release(&list->come);
	arena_release(&list->arena);
	list->list = NULL;
	list->n = list->cap = 0;
}

/* ------------------------------------------------------------- hashes of files */

/* The sizes and fileprints of the files on one side. */
struct traits {
	struct keytable sizes, prints;
};

static void free_traits(struct traits *traits)
{
	keytable_release(&traits->sizes);
	keytable_release(&traits->prints);
}

static bool has_content(const struct entry *entry)
{
	return entry->type == ENTRY_FILE && entry->size;
}

static void note_traits(struct traits *traits, const struct renames_list *side)
{
	bool made;

	for (size_t i = 0; i < side->n; i++) {
		const struct entry *entry = &side->list[i].entry;

		if (!has_content(entry))
			continue;
		(void)keytable_at(&traits->sizes, entry->size, 0, &made);
		(void)keytable_at(&traits->prints, hash_prefix(&entry->hash), 0, &made);
	}
}

/*
 * Set the hashes by which renamed files are found.  If the fileprint of a file also occurs on the
 * other side, the fileprint is the hash of the file.  Otherwise, if the size of the file occurs on
 * the other side, the file is read, and its hash is that of its content.  All other files get no
 * hash, and so have no match.
 */
static int hash_files(
	struct view *view, struct renames_list *side, const struct traits *other, struct err *err)
{
	for (size_t i = 0; i < side->n; i++) {
		struct renames_item *item = &side->list[i];
		const struct entry *entry = &item->entry;
		struct hash hash;
		int r;

		if (!has_content(entry) || keytable_has(&other->prints, hash_prefix(&entry->hash)))
			continue;
		if (!keytable_has(&other->sizes, entry->size)) {
			renames_set_hash(item, NULL);
			continue;
		}
		r = samecontent_hash(view, entry, item->path, UINT64_MAX, &hash, err);
		if (r < 0 && r != -ERR_DENIED)
			return r;
		if (r < 0)
			*err = (struct err){ 0 };
		renames_set_hash(item, r < 0 ? NULL : &hash);
	}
	return 0;
}

static bool is_known(const struct renames_item *item)
{
	return item->end &&
	       (item->key || (item->entry.type == ENTRY_FILE && !item->entry.size) ||
		       (item->entry.type != ENTRY_FILE && item->entry.type != ENTRY_DIR) ||
		       item->entry.content == ENTRY_EMPTY);
}

/*
 * Add the attributes, content and name of an entry to the hash of the directory that contains the
 * entry.  The path of the directory is left out, so that a renamed directory has the same hash.
 */
static void hash_child(struct hash_stream *stream, const struct renames_item *dir,
	const struct renames_item *child)
{
	const struct entry *entry = &child->entry;
	const uint64_t numbers[] = { entry->type, entry->mode, entry->uid, entry->gid,
		(uint64_t)entry->mtime_sec, entry->mtime_nsec, entry->size, entry->major,
		entry->minor, child->path.len - dir->path.len };

	hash_stream_add(stream, numbers, sizeof(numbers));
	hash_stream_add(stream, &entry->hash, sizeof(entry->hash));
	hash_stream_add(stream, child->path.ptr + dir->path.len, child->path.len - dir->path.len);
}

/*
 * Set the hash of a directory from the hashes of its entries.  In the list, the entries of a
 * directory come after the directory.  The caller must go through the list from the end, so that
 * the hashes of the entries are known already.
 */
static void hash_dir(struct renames_list *side, size_t at)
{
	struct renames_item *dir = &side->list[at];
	struct hash_stream *stream = hash_stream_new();
	bool known = dir->end != 0;
	struct hash hash;

	for (size_t i = at + 1; known && i < dir->end; i = side->list[i].end) {
		known = is_known(&side->list[i]);
		if (known)
			hash_child(stream, dir, &side->list[i]);
	}
	hash_stream_finish(stream, &hash);
	dir->entry.content = dir->end == at + 1 ? ENTRY_EMPTY : ENTRY_TREE;
	renames_set_hash(dir, known ? &hash : NULL);
}

static int find_renames(struct changelist *list, struct err *err)
{
	owned(free_traits) struct traits gone = { 0 };
	owned(free_traits) struct traits come = { 0 };
	int r;

	if (!list->gone.n || !list->come.n)
		return 0;
	note_traits(&gone, &list->gone);
	note_traits(&come, &list->come);
	r = hash_files(list->a, &list->gone, &come, err);
	if (r >= 0)
		r = hash_files(list->b, &list->come, &gone, err);
	if (r < 0)
		return r;
	for (size_t i = list->gone.n; i-- > 0;)
		if (list->gone.list[i].entry.type == ENTRY_DIR)
			hash_dir(&list->gone, i);
	for (size_t i = list->come.n; i-- > 0;)
		if (list->come.list[i].entry.type == ENTRY_DIR)
			hash_dir(&list->come, i);
	renames_match(&list->gone, &list->come);
	return 0;
}

/* ----------------------------------------------------------- reporting changes */

static int report_rename(struct changelist *list, const struct treediff_change *change,
	const struct renames_item *old, const struct renames_item *new, struct err *err)
{
	struct entry b = new->entry;
	struct treediff_change rename = {
		.op = 'R',
		.path = old->path,
		.new_path = change->path,
		.what = treediff_compare(&old->entry, &new->entry),
		.a = &old->entry,
		.b = &b,
	};

	b.name = change->b->name;
	return list->visit(list->arg, &rename, err);
}

static int report_item(struct changelist *list, const struct changelist_item *item, struct err *err)
{
	const struct treediff_change *change = &item->change;

	if (change->op == '+') {
		const struct renames_item *new = &list->come.list[item->side];

		if (new->match >= 0)
			return report_rename(list, change, &list->gone.list[new->match], new, err);
		if (new->below_match)
			return 0;
	}
	if (change->op == '-') {
		const struct renames_item *old = &list->gone.list[item->side];

		if (old->match >= 0 || old->below_match)
			return 0;
	}
	return list->visit(list->arg, change, err);
}

int changelist_finish(struct changelist *list, struct err *err)
{
	int r = find_renames(list, err);

	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = report_item(list, &list->list[i], err);
	changelist_release(list);
	list->hold = 0;
	return r;
}

/* ------------------------------------------------------------- adding changes */

static const struct entry *copy_entry(struct changelist *list, const struct entry *entry)
{
	struct entry *copy = entry ? arena_alloc(&list->arena, sizeof(*copy)) : NULL;

	if (!copy)
		return NULL;
	*copy = *entry;
	copy->name = arena_str(&list->arena, entry->name);
	copy->target = arena_str(&list->arena, entry->target);
	return copy;
}

static struct changelist_item *hold_change(
	struct changelist *list, const struct treediff_change *change)
{
	mem_grow(&list->list, &list->cap, list->n);
	struct changelist_item *item = &list->list[list->n++];

	*item = (struct changelist_item){ .change = *change };
	item->change.path = arena_str(&list->arena, change->path);
	item->change.a = copy_entry(list, change->a);
	item->change.b = copy_entry(list, change->b);
	return item;
}

int changelist_add(struct changelist *list, const struct treediff_change *change, struct err *err)
{
	if (!list->hold)
		return list->visit(list->arg, change, err);
	(void)hold_change(list, change);
	return list->n < list->hold ? 0 : changelist_finish(list, err);
}

int changelist_add_side(struct changelist *list, struct str path, const struct entry *entry,
	bool gone, size_t *self, struct err *err)
{
	struct treediff_change change = {
		.op = gone ? '-' : '+',
		.path = path,
		.a = gone ? entry : NULL,
		.b = gone ? NULL : entry,
	};

	if (!list->hold)
		return list->visit(list->arg, &change, err);
	struct changelist_item *item = hold_change(list, &change);
	struct renames_list *side = gone ? &list->gone : &list->come;
	item->side = *self = renames_add(side, entry, item->change.path);
	/*
	 * The target of a symlink is a part of the hash of the directory that contains the symlink.
	 */
	if (entry->type == ENTRY_LINK)
		hash_of(entry->target.ptr, entry->target.len, &side->list[*self].entry.hash);
	return list->n < list->hold ? 0 : changelist_finish(list, err);
}

void changelist_end(struct changelist *list, size_t self, bool gone)
{
	struct renames_list *side = gone ? &list->gone : &list->come;

	if (self < side->n)
		side->list[self].end = (uint32_t)side->n;
}
