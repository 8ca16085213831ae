#include "query/btrfslines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "query/btrfsplace.h"
#include "query/snapname.h"

#define NONE BTRFSVOLS_NONE

/*
 * A uuid of a subvolume, or a uuid that a subvolume refers to.  Nodes with common ancestors have
 * the same root.
 */
struct node {
	size_t fs;
	const uint8_t *uuid;
	size_t vol; /* the subvolume with this uuid; NONE: there is none */
	size_t up;
	/*
	 * For a root: the number of subvolumes that have this root and are not snapshots, and the
	 * index of one of them.
	 */
	size_t live_count, live;
};

struct finding {
	const struct btrfsvols *vols;
	struct btrfslines *lines;
	struct node *nodes; /* sorted by fs and uuid */
	size_t n_nodes;
	struct found { /* the result for each subvolume */
		bool snapshot;
		bool placed;  /* 'live' comes from the layout of directories */
		bool has_own; /* according to a layout, snapshots belong to this subvolume */
		bool decided, deciding;
		size_t live; /* the subvolume that this is a snapshot of, or NONE */
		const char *path;
		struct btrfsplace place; /* result of btrfsplace_of for path */
	} * found;
};

/* ------------------------------------------------------------- common ancestors */

static int compare_nodes(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->fs != y->fs)
		return x->fs < y->fs ? -1 : 1;
	return memcmp(x->uuid, y->uuid, BTRFSVOLS_UUID);
}

static size_t find_node(const struct finding *finding, size_t fs, const uint8_t *uuid)
{
	struct node key = { .fs = fs, .uuid = uuid };
	const struct node *node = finding->n_nodes ? bsearch(&key, finding->nodes, finding->n_nodes,
							     sizeof(key), compare_nodes)
						   : NULL;

	return node ? (size_t)(node - finding->nodes) : NONE;
}

static size_t root_of(struct finding *finding, size_t node)
{
	while (finding->nodes[node].up != node) {
		finding->nodes[node].up = finding->nodes[finding->nodes[node].up].up;
		node = finding->nodes[node].up;
	}
	return node;
}

static size_t root_of_vol(struct finding *finding, size_t vol)
{
	const struct btrfsvol *of = &finding->vols->list[vol];
	size_t node = find_node(finding, of->fs, of->uuid);

	return node == NONE ? NONE : root_of(finding, node);
}

static void join(struct finding *finding, size_t a, size_t b)
{
	finding->nodes[root_of(finding, a)].up = root_of(finding, b);
}

static void add_node(struct finding *finding, const struct btrfsvol *vol, const uint8_t *uuid)
{
	if (btrfsvols_has(uuid))
		finding->nodes[finding->n_nodes++] = (struct node){ vol->fs, uuid, NONE, 0, 0, 0 };
}

static void find_ancestors(struct finding *finding)
{
	const struct btrfsvols *vols = finding->vols;
	size_t n = 0;

	finding->nodes = mem_alloc((vols->n + 1) * 3 * sizeof(*finding->nodes));
	for (size_t i = 0; i < vols->n; i++) {
		add_node(finding, &vols->list[i], vols->list[i].uuid);
		add_node(finding, &vols->list[i], vols->list[i].parent);
		add_node(finding, &vols->list[i], vols->list[i].received);
	}
	if (finding->n_nodes)
		qsort(finding->nodes, finding->n_nodes, sizeof(*finding->nodes), compare_nodes);
	for (size_t i = 0; i < finding->n_nodes; i++)
		if (!n || compare_nodes(&finding->nodes[n - 1], &finding->nodes[i]) != 0)
			finding->nodes[n++] = finding->nodes[i];
	finding->n_nodes = n;
	for (size_t i = 0; i < n; i++)
		finding->nodes[i].up = i;
	for (size_t i = 0; i < vols->n; i++) {
		const struct btrfsvol *vol = &vols->list[i];
		size_t self = find_node(finding, vol->fs, vol->uuid);

		if (self == NONE)
			continue;
		finding->nodes[self].vol = i;
		if (btrfsvols_has(vol->parent))
			join(finding, self, find_node(finding, vol->fs, vol->parent));
		if (btrfsvols_has(vol->received))
			join(finding, self, find_node(finding, vol->fs, vol->received));
	}
}

/* ------------------------------------------- snapshots and their subvolumes */

static bool is_made_from(const struct btrfsvol *vol)
{
	return btrfsvols_has(vol->parent) || btrfsvols_has(vol->received);
}

/*
 * If the path of a subvolume has the layout of snapper or timeshift, record this subvolume as a
 * snapshot of the live subvolume that the layout names.  Record nothing unless the kernel shows
 * that the two subvolumes have common ancestors.
 */
static void try_place(struct finding *finding, const struct btrfsvol_path *path)
{
	struct found *found = &finding->found[path->vol];
	size_t root = root_of_vol(finding, path->vol);
	struct btrfsplace place;

	btrfsplace_of(path->path, &finding->lines->arena, &place);
	size_t live = place.live ? btrfsvols_at(finding->vols, place.live) : NONE;
	/* The two subvolumes have the same root only if they have common ancestors. */
	if (found->placed || live == NONE || live == path->vol || root == NONE ||
		root != root_of_vol(finding, live))
		return;
	found->snapshot = found->placed = found->decided = true;
	found->live = live;
	found->path = path->path;
	found->place = place;
	finding->found[live].has_own = true;
}

static size_t made_from(const struct finding *finding, size_t vol)
{
	const struct btrfsvol *of = &finding->vols->list[vol];
	size_t node = btrfsvols_has(of->parent) ? find_node(finding, of->fs, of->parent) : NONE;

	if (node == NONE || finding->nodes[node].vol == NONE)
		node = btrfsvols_has(of->received) ? find_node(finding, of->fs, of->received)
						   : NONE;
	return node == NONE ? NONE : finding->nodes[node].vol;
}

/*
 * Find the live subvolume of a snapshot.  This is the nearest ancestor that is not a snapshot.
 * Returns NONE if there is no such ancestor.
 */
static size_t find_live(struct finding *finding, size_t vol)
{
	size_t live = NONE;
	size_t at = vol;

	while (at != NONE) {
		struct found *found = &finding->found[at];

		if (!found->snapshot || found->decided) {
			live = found->snapshot ? found->live : at;
			break;
		}
		if (found->deciding)
			break;
		found->deciding = true;
		at = made_from(finding, at);
	}
	/* All ancestors that were visited get the same result. */
	for (at = vol; at != NONE && finding->found[at].deciding; at = made_from(finding, at)) {
		finding->found[at].deciding = false;
		finding->found[at].decided = true;
		finding->found[at].live = live;
	}
	return live;
}

static void find_snapshots(struct finding *finding)
{
	const struct btrfsvols *vols = finding->vols;

	for (size_t i = 0; i < vols->n; i++)
		finding->found[i] = (struct found){ .live = NONE, .path = vols->list[i].path };
	for (size_t i = 0; i < vols->n_paths; i++)
		try_place(finding, &vols->paths[i]);
	for (size_t i = 0; i < vols->n; i++) {
		struct found *found = &finding->found[i];

		if (found->placed)
			continue;
		btrfsplace_of(found->path, &finding->lines->arena, &found->place);
		found->snapshot =
			vols->list[i].read_only && is_made_from(&vols->list[i]) && !found->has_own;
	}
	for (size_t i = 0; i < vols->n; i++)
		if (finding->found[i].snapshot && !finding->found[i].decided)
			(void)find_live(finding, i);
}

/*
 * Find live subvolumes for the snapshots that have none.  If exactly one other subvolume that is
 * not a snapshot has common ancestors with such a snapshot, assign the snapshot to this subvolume,
 * which was probably restored from a snapshot.
 */
static void adopt_lost(struct finding *finding)
{
	for (size_t i = 0; i < finding->vols->n; i++) {
		size_t root = root_of_vol(finding, i);

		if (finding->found[i].snapshot || root == NONE)
			continue;
		finding->nodes[root].live_count++;
		finding->nodes[root].live = i;
	}
	for (size_t i = 0; i < finding->vols->n; i++) {
		struct found *found = &finding->found[i];
		size_t root = root_of_vol(finding, i);

		if (found->snapshot && found->live == NONE && root != NONE &&
			finding->nodes[root].live_count == 1)
			found->live = finding->nodes[root].live;
	}
}

/* ------------------------------------------------------- snapshots without a subvolume */

struct lost {
	size_t fs, vol;
	const struct btrfsplace *place;
};

static int compare_lost(const void *a, const void *b)
{
	const struct lost *x = a, *y = b;

	if (x->fs != y->fs)
		return x->fs < y->fs ? -1 : 1;
	int order = str_cmp(x->place->dir, y->place->dir);
	if (!order)
		order = str_cmp(x->place->stem, y->place->stem);
	return order;
}

/* Join snapshots of one series in one directory, such as home.20240131 and home.20240201. */
static void join_series(struct finding *finding)
{
	struct lost *list = mem_alloc((finding->vols->n + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < finding->vols->n; i++) {
		const struct found *found = &finding->found[i];

		if (found->snapshot && found->live == NONE &&
			(found->place.dated || found->place.numbered))
			list[n++] = (struct lost){ finding->vols->list[i].fs, i, &found->place };
	}
	if (n)
		qsort(list, n, sizeof(*list), compare_lost);
	for (size_t i = 1; i < n; i++) {
		size_t a = root_of_vol(finding, list[i - 1].vol);
		size_t b = root_of_vol(finding, list[i].vol);

		if (!compare_lost(&list[i - 1], &list[i]) && a != NONE && b != NONE)
			join(finding, a, b);
	}
	free(list);
}

/* ------------------------------------------------------------------- names */

/* Copy a name, with '_' for every byte that the form of names does not allow. */
static const char *fit_name(struct arena *arena, struct str name, bool dataset)
{
	char *copy = arena_alloc(arena, name.len + 1);

	for (size_t i = 0; i < name.len; i++) {
		/* At the start and at the end of a name, fewer bytes are allowed than inside it. */
		char probe[] = { i ? 'a' : name.ptr[i], name.ptr[i],
			i + 1 < name.len ? 'a' : name.ptr[i] };
		struct str of = { probe, sizeof(probe) };

		copy[i] = (dataset ? snapname_is_dataset(of) : snapname_is_snapshot(of))
				  ? name.ptr[i]
				  : '_';
	}
	return copy;
}

const char *btrfslines_name(const char *path, struct arena *arena)
{
	struct str name = str_of(path);

	while (name.len && *name.ptr == '/') {
		name.ptr++;
		name.len--;
	}
	return name.len ? fit_name(arena, name, true) : "rootfs";
}

/*
 * Name a line that has no live subvolume.  The newest snapshot of the line determines the name,
 * since the oldest snapshots are removed first.
 */
static void name_lost(struct finding *finding, struct btrfsline *line)
{
	const struct btrfsplace *place = &finding->found[line->points[line->n - 1].vol].place;
	struct arena *arena = &finding->lines->arena;

	line->path = place->dir.len ? arena_str(arena, place->dir).ptr : "/";
	line->name = btrfslines_name(
		!place->stem.len ? line->path
				 : arena_printf(arena, "%.*s/%.*s", (int)place->dir.len,
					   place->dir.ptr, (int)place->stem.len, place->stem.ptr),
		arena);
}

static int compare_point_names(const void *a, const void *b)
{
	const struct btrfspoint *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void rename_point(struct finding *finding, struct btrfspoint *point, unsigned round)
{
	struct arena *arena = &finding->lines->arena;
	const struct found *found = &finding->found[point->vol];
	const char *slash = strrchr(found->path, '/'), *from = slash;

	if (round) {
		point->name = arena_printf(
			arena, "%s:%" PRIu64, point->name, finding->vols->list[point->vol].id);
		return;
	}
	while (from > found->path && from[-1] != '/')
		from--;
	const char *full = arena_printf(arena, "%.*s:%s", (int)(slash - from), from, slash + 1);
	point->name = fit_name(arena, str_of(full), false);
}

/*
 * If several snapshots of a line have the same name, make their names different: first add the
 * names of their directories, and if that is not enough, the numbers of their subvolumes.
 */
static void part_names(struct finding *finding, struct btrfsline *line)
{
	struct btrfspoint **list = mem_alloc((line->n + 1) * sizeof(struct btrfspoint *));

	for (unsigned round = 0; round < 2; round++) {
		for (size_t i = 0; i < line->n; i++)
			list[i] = &line->points[i];
		qsort(list, line->n, sizeof(struct btrfspoint *), compare_point_names);
		for (size_t i = 0, end; i < line->n; i = end) {
			end = i + 1;
			while (end < line->n && !strcmp(list[i]->name, list[end]->name))
				end++;
			for (size_t k = i; end - i > 1 && k < end; k++)
				rename_point(finding, list[k], round);
		}
	}
	free(list);
}

/* ------------------------------------------------------------------- lines */

struct member {
	/*
	 * key of the line: the index of its live subvolume; without a live subvolume, the number of
	 * all subvolumes plus the index of the root (struct node)
	 */
	size_t key;
	int64_t creation;
	uint64_t id;
	size_t vol;
};

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->creation != y->creation)
		return x->creation < y->creation ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int compare_lines(const void *a, const void *b)
{
	const struct btrfsline *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void add_point(struct finding *finding, struct btrfsline *line, size_t vol)
{
	const struct btrfsplace *place = &finding->found[vol].place;

	mem_grow(&line->points, &line->cap, line->n);
	line->points[line->n++] = (struct btrfspoint){
		.vol = vol,
		.name = fit_name(&finding->lines->arena, place->name, false),
		.numbered = place->numbered,
	};
}

static void add_line(struct finding *finding, const struct member *members, size_t n)
{
	struct btrfslines *lines = finding->lines;
	size_t live = finding->found[members->vol].live;

	mem_grow(&lines->list, &lines->cap, lines->n);
	struct btrfsline *line = &lines->list[lines->n++];
	*line = (struct btrfsline){ .live = live };
	for (size_t i = 0; i < n; i++)
		add_point(finding, line, members[i].vol);
	if (live == NONE) {
		name_lost(finding, line);
	} else {
		line->path = finding->vols->list[live].path;
		line->name = btrfslines_name(line->path, &lines->arena);
	}
	part_names(finding, line);
}

static void make_lines(struct finding *finding)
{
	const struct btrfsvols *vols = finding->vols;
	struct member *members = mem_alloc((vols->n + 1) * sizeof(*members));
	size_t n = 0;

	for (size_t i = 0; i < vols->n; i++) {
		const struct found *found = &finding->found[i];
		size_t root = found->snapshot ? root_of_vol(finding, i) : NONE;

		if (root == NONE)
			continue;
		members[n++] = (struct member){
			.key = found->live != NONE ? found->live : vols->n + root,
			.creation = vols->list[i].creation,
			.id = vols->list[i].id,
			.vol = i,
		};
	}
	if (n)
		qsort(members, n, sizeof(*members), compare_members);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && members[end].key == members[i].key;)
			end++;
		add_line(finding, members + i, end - i);
	}
	free(members);
}

/* Count a hidden subvolume in the line of the subvolume that contains it. */
static void count_hidden(struct finding *finding, const struct btrfsvol_hidden *hidden)
{
	struct btrfslines *lines = finding->lines;
	const char *path = finding->vols->list[hidden->in].path;
	const char *last = strrchr(path, '/');
	size_t live = hidden->in;

	if (last && !strcmp(last, "/.snapshots")) {
		struct str above = { path, (size_t)(last - path) };

		live = btrfsvols_at(
			finding->vols, above.len ? arena_str(&lines->arena, above).ptr : "/");
	}
	for (size_t i = 0; live != NONE && i < lines->n; i++)
		lines->list[i].hidden += lines->list[i].live == live;
}

void btrfslines_find(struct btrfslines *lines, const struct btrfsvols *vols)
{
	struct finding finding = {
		.vols = vols,
		.lines = lines,
		.found = mem_alloc((vols->n + 1) * sizeof(*finding.found)),
	};

	btrfslines_release(lines);
	find_ancestors(&finding);
	find_snapshots(&finding);
	adopt_lost(&finding);
	join_series(&finding);
	make_lines(&finding);
	for (size_t i = 0; i < vols->n_hidden; i++)
		count_hidden(&finding, &vols->hidden[i]);
	if (lines->n)
		qsort(lines->list, lines->n, sizeof(*lines->list), compare_lines);
	free(finding.found);
	free(finding.nodes);
}

void btrfslines_release(struct btrfslines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		free(lines->list[i].points);
	free(lines->list);
	arena_release(&lines->arena);
	*lines = (struct btrfslines){ 0 };
}

const struct btrfsline *btrfslines_get(const struct btrfslines *lines, const char *name)
{
	struct btrfsline key = { .name = name };

	return lines->n ? bsearch(&key, lines->list, lines->n, sizeof(key), compare_lines) : NULL;
}

const struct btrfspoint *btrfslines_point(const struct btrfsline *line, const char *name)
{
	for (size_t i = 0; i < line->n; i++)
		if (!strcmp(line->points[i].name, name))
			return &line->points[i];
	return NULL;
}
