#include "tree/treelinks.h"

#include <stdlib.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "tree/treebuild.h"
#include "tree/treeiter.h"

/* One hard-linked name. */
struct treelinks_member {
	uint64_t group;   /* 0: a single file that may become linked */
	uint64_t path;    /* entry_path_hash */
	struct hash same; /* equal for files that could be one inode */
};

/* A group of base outside the path, or of source inside it. */
struct group {
	uint64_t id; /* of a single file: its path */
	bool single;
	uint64_t sum, count;  /* over the members that stay */
	struct group *joined; /* the group outside that takes this one in */
};

struct groups {
	struct group *list;
	size_t n, cap;
};

/* Where a walk is: on the way to the path (rest is what is left of it), inside it, or elsewhere. */
struct place {
	struct str rest;
	bool on_way, inside;
};

struct settle {
	struct store *store;
	struct place start; /* of the root */
	struct groups outside, inside;
	/* What the walk in hand collects. */
	bool want_inside;
	bool gives_way;                     /* a file on the way to the path is replaced with it */
	const struct treelinks_names *also; /* single files at one of these paths, too */
	struct treelinks_names *found;
};

void treelinks_add(struct treelinks_names *names, uint64_t group, uint64_t path)
{
	mem_grow(&names->list, &names->cap, names->n);
	names->list[names->n++] = (struct treelinks_member){ .group = group, .path = path };
}

void treelinks_release(struct treelinks_names *members)
{
	free(members->list);
	*members = (struct treelinks_names){ 0 };
}

static int by_group(const void *a, const void *b)
{
	const struct treelinks_member *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->path < y->path ? -1 : x->path > y->path;
}

static int by_path(const void *a, const void *b)
{
	const struct treelinks_member *x = a, *y = b;

	return x->path < y->path ? -1 : x->path > y->path;
}

static int by_id(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->single != y->single)
		return x->single ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void members_sort(struct treelinks_names *members, int (*order)(const void *, const void *))
{
	if (members->n)
		qsort(members->list, members->n, sizeof(*members->list), order);
}

static const struct treelinks_member *member_at(
	const struct treelinks_names *members, uint64_t path)
{
	struct treelinks_member key = { .path = path };

	return members->n ? bsearch(&key, members->list, members->n, sizeof(key), by_path) : NULL;
}

static struct group *group_at(const struct groups *groups, uint64_t id, bool single)
{
	struct group key = { .id = id, .single = single };

	return groups->n ? bsearch(&key, groups->list, groups->n, sizeof(key), by_id) : NULL;
}

/* Everything that names of one inode have in common. */
static struct hash same_of(const struct entry *entry)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct entry bare = *entry;
	struct hash hash;

	bare.name = STR("x");
	bare.link = 0;
	entry_encode(&bare, &bytes);
	hash_of(bytes.data, bytes.len, &hash);
	return hash;
}

static struct place start_of(struct str path)
{
	struct str rest = path;
	bool root = !str_take_name(&rest).len;

	return (struct place){ .rest = path, .on_way = !root, .inside = root };
}

static struct place place_of(const struct place *dir, struct str name)
{
	struct place place = { .rest = dir->rest, .inside = dir->inside };

	if (dir->on_way && str_eq(str_take_name(&place.rest), name)) {
		struct str after = place.rest;

		place.inside = !str_take_name(&after).len;
		place.on_way = !place.inside;
	}
	return place;
}

/* -------------------------------------------------------------- collecting */

static void collect_file(struct settle *settle, const struct entry *entry, uint64_t path)
{
	if (!entry->link && !(settle->also && member_at(settle->also, path)))
		return;
	treelinks_add(settle->found, entry->link, path);
	settle->found->list[settle->found->n - 1].same = same_of(entry);
}

static int collect(struct settle *settle, const struct entry *entry, uint64_t path,
	const struct place *place, struct err *err)
{
	if (entry->type != ENTRY_DIR) {
		if ((place->inside || (place->on_way && settle->gives_way)) == settle->want_inside)
			collect_file(settle, entry, path);
		return 0;
	}
	/* Only the way leads from outside to inside, nothing leads back. */
	if (place->inside ? !settle->want_inside : settle->want_inside && !place->on_way)
		return 0;
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(settle->store);
	struct entry child;
	int r, more = 0;

	r = treeiter_open(iter, entry, err);
	while (r >= 0 && (more = treeiter_next(iter, &child, err)) > 0) {
		struct place below = place_of(place, child.name);

		r = collect(settle, &child, entry_path_hash(path, child.name), &below, err);
	}
	return r < 0 ? r : more;
}

static int collect_from(struct settle *settle, const struct entry *root, bool inside,
	bool gives_way, const struct treelinks_names *also, struct treelinks_names *found,
	struct err *err)
{
	settle->want_inside = inside;
	settle->gives_way = gives_way;
	settle->also = also;
	settle->found = found;
	return collect(settle, root, ENTRY_PATH_ROOT, &settle->start, err);
}

/* The groups of members, which this sorts, with the single files for themselves. */
static void group_up(struct treelinks_names *members, struct groups *groups)
{
	members_sort(members, by_group);
	for (size_t i = 0; i < members->n; i++) {
		const struct treelinks_member *member = &members->list[i];
		bool single = !member->group;

		if (single || !i || members->list[i - 1].group != member->group) {
			mem_grow(&groups->list, &groups->cap, groups->n);
			groups->list[groups->n++] = (struct group){
				.id = single ? member->path : member->group,
				.single = single,
			};
		}
		groups->list[groups->n - 1].sum += member->path;
		groups->list[groups->n - 1].count++;
	}
	if (groups->n)
		qsort(groups->list, groups->n, sizeof(*groups->list), by_id);
}

static uint64_t id_of(const struct group *group)
{
	if (group->joined)
		group = group->joined;
	if (group->count < 2)
		return 0;
	return group->sum ? group->sum : 1;
}

/* Whether all groups have all their members among those seen. */
static bool all_whole(const struct groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		if (id_of(&groups->list[i]) != groups->list[i].id)
			return false;
	return true;
}

/* ------------------------------------------------------------------ joining */

/*
 * Groups of source that reach across the seam take up with what they were linked to outside, if
 * that is in base, too, and the same.
 */
static void join(struct settle *settle, const struct treelinks_names *in_source,
	const struct treelinks_names *in_base)
{
	for (size_t i = 0; i < in_source->n; i++) {
		const struct treelinks_member *was = &in_source->list[i];
		const struct treelinks_member *is = member_at(in_base, was->path);
		struct group *group = group_at(&settle->inside, was->group, false);

		if (!group || group->joined || !is || !hash_eq(&is->same, &was->same))
			continue;
		group->joined = group_at(
			&settle->outside, is->group ? is->group : is->path, is->group == 0);
	}
	for (size_t i = 0; i < settle->inside.n; i++) {
		struct group *group = &settle->inside.list[i];

		if (!group->joined)
			continue;
		group->joined->sum += group->sum;
		group->joined->count += group->count;
	}
}

/* ---------------------------------------------------------------- rewriting */

static uint64_t link_now(
	const struct settle *settle, const struct entry *entry, uint64_t path, bool inside)
{
	const struct group *group;

	if (inside)
		group = entry->link ? group_at(&settle->inside, entry->link, false) : NULL;
	else
		group = group_at(&settle->outside, entry->link ? entry->link : path, !entry->link);
	return group ? id_of(group) : entry->link;
}

static int rewrite(struct settle *settle, struct entry *entry, uint64_t path,
	const struct place *place, bool *changed, struct err *err)
{
	if (entry->type != ENTRY_DIR) {
		uint64_t link = link_now(settle, entry, path, place->inside);

		*changed = link != entry->link;
		entry->link = link;
		return 0;
	}
	if (entry->content != ENTRY_TREE)
		return 0;
	owned(treebuild_freep) struct treebuild *build = treebuild_new(settle->store);
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(settle->store);
	struct entry child;
	bool rebuilt = false;
	int r, more = 0;

	r = treeiter_open(iter, entry, err);
	while (r >= 0 && (more = treeiter_next(iter, &child, err)) > 0) {
		struct place below = place_of(place, child.name);
		bool other = false;

		r = rewrite(settle, &child, entry_path_hash(path, child.name), &below, &other, err);
		rebuilt |= other;
		if (r >= 0)
			r = treebuild_add(build, &child, err);
	}
	if (r >= 0)
		r = more;
	if (r >= 0 && rebuilt)
		r = treebuild_finish(build, entry, err);
	*changed = rebuilt;
	return r;
}

/* Groups reach across the seam: look at what is outside, join, and give all their new names. */
static int settle_across(struct settle *settle, const struct entry *base,
	const struct entry *source, struct entry *grafted, struct err *err)
{
	owned(treelinks_release) struct treelinks_names in_source = { 0 }, in_base = { 0 };
	bool changed = false;
	int r = collect_from(settle, source, false, false, NULL, &in_source, err);

	if (r < 0)
		return r;
	members_sort(&in_source, by_path);
	r = collect_from(settle, base, false, true, &in_source, &in_base, err);
	if (r < 0)
		return r;
	group_up(&in_base, &settle->outside);
	members_sort(&in_base, by_path);
	join(settle, &in_source, &in_base);
	return rewrite(settle, grafted, ENTRY_PATH_ROOT, &settle->start, &changed, err);
}

int treelinks_settle(struct store *store, const struct entry *base, const struct entry *source,
	struct str path, struct entry *grafted, struct err *err)
{
	owned(treelinks_release) struct treelinks_names given = { 0 }, taken = { 0 };
	struct settle settle = { .store = store, .start = start_of(path) };
	struct groups removed = { 0 };
	int r = collect_from(&settle, source, true, false, NULL, &given, err);

	if (r >= 0)
		r = collect_from(&settle, base, true, true, NULL, &taken, err);
	if (r >= 0) {
		group_up(&given, &settle.inside);
		group_up(&taken, &removed);
		if (!all_whole(&settle.inside) || !all_whole(&removed))
			r = settle_across(&settle, base, source, grafted, err);
	}
	free(settle.inside.list);
	free(settle.outside.list);
	free(removed.list);
	return r < 0 ? r : 0;
}

int treelinks_settle_lost(
	struct store *store, struct treelinks_names *lost, struct entry *root, struct err *err)
{
	owned(treelinks_release) struct treelinks_names left = { 0 };
	struct settle settle = { .store = store }; /* all of it is outside */
	struct groups removed = { 0 };
	bool changed = false;
	int r = 0;

	group_up(lost, &removed);
	if (!all_whole(&removed)) {
		r = collect_from(&settle, root, false, false, NULL, &left, err);
		group_up(&left, &settle.outside);
		if (r >= 0)
			r = rewrite(&settle, root, ENTRY_PATH_ROOT, &settle.start, &changed, err);
	}
	free(settle.outside.list);
	free(removed.list);
	return r < 0 ? r : 0;
}
