#include "tree/treelinks.h"

#include <stdlib.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "tree/treebuild.h"
#include "tree/treeiter.h"

/* One name of a hard-linked file. */
struct treelinks_member {
	uint64_t group;   /* 0: a file that had one name, and may get further ones */
	uint64_t path;    /* hash of the path (entry_path_hash) */
	struct hash same; /* equal for files that could be one inode */
};

/*
 * A part of a link group of a graft (treelinks.h): either those names of a group in the base tree
 * that are outside the grafted path, or those names of a group in the source tree that are inside
 * it.
 */
struct group {
	uint64_t id; /* number of the group; for a single file: hash of its path */
	bool single;
	/* sum of the path hashes of the names in this part, and number of these names */
	uint64_t sum, count;
	struct group *joined; /* the outside group that this group becomes part of */
};

struct groups {
	struct group *list;
	size_t n, cap;
};

/*
 * A position in a walk over a tree.  'on_way' means that the position is above the grafted path,
 * and 'rest' is then the path relative to the position.  'inside' means that the position is at the
 * grafted path or below it.
 */
struct walk_place {
	struct str rest;
	bool on_way, inside;
};

struct regroup {
	struct store *store;
	struct walk_place start; /* the position of the root */
	struct groups outside, inside;
	/* The following members describe the current walk. */
	bool want_inside;
	/* a file above the grafted path counts as inside, since the graft replaces the file */
	bool gives_way;
	/* paths at which files are collected even if they have only one name */
	const struct treelinks_names *also;
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

static int compare_groups(const void *a, const void *b)
{
	const struct treelinks_member *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->path < y->path ? -1 : x->path > y->path;
}

static int compare_paths(const void *a, const void *b)
{
	const struct treelinks_member *x = a, *y = b;

	return x->path < y->path ? -1 : x->path > y->path;
}

static int compare_ids(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->single != y->single)
		return x->single ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void sort_members(struct treelinks_names *members, int (*order)(const void *, const void *))
{
	if (members->n)
		qsort(members->list, members->n, sizeof(*members->list), order);
}

static const struct treelinks_member *find_member(
	const struct treelinks_names *members, uint64_t path)
{
	struct treelinks_member key = { .path = path };

	return members->n ? bsearch(&key, members->list, members->n, sizeof(key), compare_paths)
			  : NULL;
}

static struct group *find_group(const struct groups *groups, uint64_t id, bool single)
{
	struct group key = { .id = id, .single = single };

	return groups->n ? bsearch(&key, groups->list, groups->n, sizeof(key), compare_ids) : NULL;
}

/* Returns a hash of all attributes that the names of one inode have in common. */
static struct hash hash_without_name(const struct entry *entry)
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

static struct walk_place start_of(struct str path)
{
	struct str rest = path;
	bool root = !str_take_name(&rest).len;

	return (struct walk_place){ .rest = path, .on_way = !root, .inside = root };
}

static struct walk_place place_of(const struct walk_place *dir, struct str name)
{
	struct walk_place place = { .rest = dir->rest, .inside = dir->inside };

	if (dir->on_way && str_eq(str_take_name(&place.rest), name)) {
		struct str after = place.rest;

		place.inside = !str_take_name(&after).len;
		place.on_way = !place.inside;
	}
	return place;
}

/* -------------------------------------------------------------- collecting */

static void collect_file(struct regroup *regroup, const struct entry *entry, uint64_t path)
{
	if (!entry->link && !(regroup->also && find_member(regroup->also, path)))
		return;
	treelinks_add(regroup->found, entry->link, path);
	regroup->found->list[regroup->found->n - 1].same = hash_without_name(entry);
}

static int collect_names(struct regroup *regroup, const struct entry *entry, uint64_t path,
	const struct walk_place *place, struct err *err)
{
	if (entry->type != ENTRY_DIR) {
		if ((place->inside || (place->on_way && regroup->gives_way)) ==
			regroup->want_inside)
			collect_file(regroup, entry, path);
		return 0;
	}
	/*
	 * Skip a directory that cannot contain a wanted name.  If names inside the path are wanted,
	 * only directories on the way to the path can lead to them.  If names outside are wanted, a
	 * directory at the path or below it has none.
	 */
	if (place->inside ? !regroup->want_inside : regroup->want_inside && !place->on_way)
		return 0;
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(regroup->store);
	struct entry child;
	int r, more = 0;

	r = treeiter_open(iter, entry, err);
	while (r >= 0 && (more = treeiter_next(iter, &child, err)) > 0) {
		struct walk_place below = place_of(place, child.name);

		r = collect_names(regroup, &child, entry_path_hash(path, child.name), &below, err);
	}
	return r < 0 ? r : more;
}

static int collect_from(struct regroup *regroup, const struct entry *root, bool inside,
	bool gives_way, const struct treelinks_names *also, struct treelinks_names *found,
	struct err *err)
{
	regroup->want_inside = inside;
	regroup->gives_way = gives_way;
	regroup->also = also;
	regroup->found = found;
	return collect_names(regroup, root, ENTRY_PATH_ROOT, &regroup->start, err);
}

/* Sort the members and make groups of them.  Each single file is a group of its own. */
static void make_groups(struct treelinks_names *members, struct groups *groups)
{
	sort_members(members, compare_groups);
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
		qsort(groups->list, groups->n, sizeof(*groups->list), compare_ids);
}

static uint64_t id_of(const struct group *group)
{
	if (group->joined)
		group = group->joined;
	if (group->count < 2)
		return 0;
	return group->sum ? group->sum : 1;
}

/* Whether each group has all its members.  A group with missing members has another number. */
static bool are_complete(const struct groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		if (id_of(&groups->list[i]) != groups->list[i].id)
			return false;
	return true;
}

/* ------------------------------------------------------------------ joining */

/*
 * Join groups across the path.  A group of the source tree may have names both inside and outside
 * the path.  If a name outside is still the same file in the base tree, the names inside join the
 * group that this name has in the base tree.
 */
static void join_groups(struct regroup *regroup, const struct treelinks_names *in_source,
	const struct treelinks_names *in_base)
{
	for (size_t i = 0; i < in_source->n; i++) {
		const struct treelinks_member *was = &in_source->list[i];
		const struct treelinks_member *is = find_member(in_base, was->path);
		struct group *group = find_group(&regroup->inside, was->group, false);

		if (!group || group->joined || !is || !hash_eq(&is->same, &was->same))
			continue;
		group->joined = find_group(
			&regroup->outside, is->group ? is->group : is->path, is->group == 0);
	}
	for (size_t i = 0; i < regroup->inside.n; i++) {
		struct group *group = &regroup->inside.list[i];

		if (!group->joined)
			continue;
		group->joined->sum += group->sum;
		group->joined->count += group->count;
	}
}

/* ---------------------------------------------------------------- rewriting */

static uint64_t new_link(
	const struct regroup *regroup, const struct entry *entry, uint64_t path, bool inside)
{
	const struct group *group;

	if (inside)
		group = entry->link ? find_group(&regroup->inside, entry->link, false) : NULL;
	else
		group = find_group(
			&regroup->outside, entry->link ? entry->link : path, !entry->link);
	return group ? id_of(group) : entry->link;
}

static int rewrite_groups(struct regroup *regroup, struct entry *entry, uint64_t path,
	const struct walk_place *place, bool *changed, struct err *err)
{
	if (entry->type != ENTRY_DIR) {
		uint64_t link = new_link(regroup, entry, path, place->inside);

		*changed = link != entry->link;
		entry->link = link;
		return 0;
	}
	if (entry->content != ENTRY_TREE)
		return 0;
	owned(treebuild_freep) struct treebuild *build = treebuild_new(regroup->store);
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(regroup->store);
	struct entry child;
	bool rebuilt = false;
	int r, more = 0;

	r = treeiter_open(iter, entry, err);
	while (r >= 0 && (more = treeiter_next(iter, &child, err)) > 0) {
		struct walk_place below = place_of(place, child.name);
		bool other = false;

		r = rewrite_groups(
			regroup, &child, entry_path_hash(path, child.name), &below, &other, err);
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

/*
 * Correct the groups when some of them have names both inside and outside the path.  The names
 * outside are collected, the groups are joined, and the names get their new numbers.
 */
static int regroup_across(struct regroup *regroup, const struct entry *base,
	const struct entry *source, struct entry *grafted, struct err *err)
{
	owned(treelinks_release) struct treelinks_names in_source = { 0 }, in_base = { 0 };
	bool changed = false;
	int r = collect_from(regroup, source, false, false, NULL, &in_source, err);

	if (r < 0)
		return r;
	sort_members(&in_source, compare_paths);
	r = collect_from(regroup, base, false, true, &in_source, &in_base, err);
	if (r < 0)
		return r;
	make_groups(&in_base, &regroup->outside);
	sort_members(&in_base, compare_paths);
	join_groups(regroup, &in_source, &in_base);
	return rewrite_groups(regroup, grafted, ENTRY_PATH_ROOT, &regroup->start, &changed, err);
}

int treelinks_settle(struct store *store, const struct entry *base, const struct entry *source,
	struct str path, struct entry *grafted, struct err *err)
{
	owned(treelinks_release) struct treelinks_names given = { 0 }, taken = { 0 };
	struct regroup regroup = { .store = store, .start = start_of(path) };
	struct groups removed = { 0 };
	int r = collect_from(&regroup, source, true, false, NULL, &given, err);

	if (r >= 0)
		r = collect_from(&regroup, base, true, true, NULL, &taken, err);
	if (r >= 0) {
		make_groups(&given, &regroup.inside);
		make_groups(&taken, &removed);
		if (!are_complete(&regroup.inside) || !are_complete(&removed))
			r = regroup_across(&regroup, base, source, grafted, err);
	}
	free(regroup.inside.list);
	free(regroup.outside.list);
	free(removed.list);
	return r < 0 ? r : 0;
}

int treelinks_settle_lost(
	struct store *store, struct treelinks_names *lost, struct entry *root, struct err *err)
{
	owned(treelinks_release) struct treelinks_names left = { 0 };
	struct regroup regroup = { .store = store }; /* the whole tree counts as outside */
	struct groups removed = { 0 };
	bool changed = false;
	int r = 0;

	make_groups(lost, &removed);
	if (!are_complete(&removed)) {
		r = collect_from(&regroup, root, false, false, NULL, &left, err);
		make_groups(&left, &regroup.outside);
		if (r >= 0)
			r = rewrite_groups(
				&regroup, root, ENTRY_PATH_ROOT, &regroup.start, &changed, err);
	}
	free(regroup.outside.list);
	free(removed.list);
	return r < 0 ? r : 0;
}
