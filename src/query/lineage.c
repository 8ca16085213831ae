#include "query/lineage.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/textdiff.h"
#include "query/viewdiff.h"

/* ------------------------------------------------------------------ versions */

struct course {
	struct provider *provider;
	struct str path;
	/*
	 * Says whether 'visit' is called for a snapshot.  NULL: 'visit' is called for all
	 * snapshots.
	 */
	lineage_wanted wanted;
	lineage_visit visit;
	void *arg;
	bool all;     /* also visit snapshots in which path did not change */
	bool settled; /* read contents if the attributes do not show whether path has changed */
	char *before; /* name of the previous snapshot; NULL: none */
	bool present; /* the previous snapshot has the path */
	struct entry previous;
	char *previous_snapshot; /* name of the snapshot that the previous entry is from */
	struct arena arenas[2];  /* the texts of the previous and the current entry, in turns */
	int turn;
};

static int note_change(void *arg, const struct treediff_change *change, struct err *err)
{
	*(bool *)arg = true;
	return 1;
}

/*
 * Find out by reading whether the path has changed since the previous snapshot.  If the path is a
 * directory, everything below it is compared.
 */
static int compare_content(struct course *course, const struct provider_snapshot *snapshot,
	bool *changed, struct err *err)
{
	struct treediff_options options = { &course->path, 1, false };

	*changed = false;
	return viewdiff_snapshots(course->provider, course->previous_snapshot, snapshot->name,
		&options, note_change, changed, err);
}

/* Set *changed to whether the path has changed since the previous snapshot. */
static int find_change(struct course *course, const struct provider_snapshot *snapshot,
	bool identified, bool there, const struct entry *entry, bool *changed, struct err *err)
{
	const struct entry *previous = &course->previous;

	/*
	 * A path that appears or disappears has changed.  A path that neither snapshot has is
	 * unchanged.
	 */
	if (!there || !course->present) {
		*changed = there || course->present;
		return 0;
	}
	unsigned what = treediff_compare(previous, entry);
	bool same = !what && entry_same_content(previous, entry);
	*changed = !same;
	if (identified || what & ~(unsigned)TREEDIFF_CONTENT || previous->size != entry->size ||
		!course->settled || (same && entry->type != ENTRY_DIR))
		return 0;
	return compare_content(course, snapshot, changed, err);
}

static int report_version(
	struct course *course, const struct lineage_version *version, struct err *err)
{
	if (!version->changed && !course->all)
		return 0;
	return course->visit(course->arg, version, err);
}

/* Whether the provider knows that the path is the same as in the previous snapshot. */
static bool is_known(const struct course *course, const struct provider_snapshot *snapshot)
{
	const struct provider_ops *ops = course->provider->ops;

	return course->before && ops->unchanged &&
	       ops->unchanged(course->before, snapshot, course->path);
}

static int report_unchanged(
	struct course *course, const struct provider_snapshot *snapshot, struct err *err)
{
	const struct entry *entry = course->present ? &course->previous : NULL;
	struct lineage_version version = {
		.snapshot = snapshot,
		.present = course->present,
		.entry = entry,
		.previous = entry,
	};

	return report_version(course, &version, err);
}

/* The state of the path in a snapshot. */
struct found {
	struct entry entry;
	bool there;
	bool identified;
};

/* Find the path in a snapshot.  Returns 1, 0 if the snapshot was deleted meanwhile, or an error. */
static int find_path(struct course *course, const struct provider_snapshot *snapshot,
	struct found *found, struct err *err)
{
	struct provider *provider = course->provider;
	struct arena *arena = &course->arenas[course->turn];
	struct err gone = { 0 };
	bool known = false;
	int r = 0;

	arena_release(arena);
	found->identified = false;
	if (provider->ops->look)
		r = provider->ops->look(
			provider, snapshot->name, course->path, arena, &found->entry, &known, err);
	if (r >= 0 && !known) {
		owned(view_closep) struct view *view =
			provider->ops->open(provider, snapshot->name, &gone);

		if (!view && gone.code == ERR_NOT_FOUND)
			return 0;
		if (!view) {
			*err = gone;
			return -(int)err->code;
		}
		found->identified = view->identified;
		r = view->ops->stat(view, course->path, arena, &found->entry, err);
	}
	found->there = r > 0;
	return r < 0 ? r : 1;
}

/* Compare the path in a snapshot with the path in the previous snapshot, and report the result. */
static int compare_path(struct course *course, const struct provider_snapshot *snapshot,
	const struct found *found, struct err *err)
{
	const struct entry *entry = &found->entry;
	bool changed;
	int r = find_change(
		course, snapshot, found->identified, found->there, entry, &changed, err);
	if (r < 0)
		return r;
	struct lineage_version version = {
		.snapshot = snapshot,
		.present = found->there,
		.changed = changed,
		.entry = found->there ? entry : NULL,
		.previous = course->present ? &course->previous : NULL,
	};
	r = report_version(course, &version, err);
	if (!version.changed)
		return r;
	free(course->previous_snapshot);
	course->previous_snapshot = mem_strdup(snapshot->name);
	course->present = version.present;
	if (version.present)
		course->previous = *entry;
	course->turn ^= 1;
	return r;
}

static int visit_snapshot(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	struct course *course = arg;
	struct found found;
	int r;

	if (course->wanted && !course->wanted(course->arg, snapshot))
		return 0;
	if (is_known(course, snapshot)) {
		r = report_unchanged(course, snapshot, err);
	} else {
		r = find_path(course, snapshot, &found, err);
		if (r <= 0)
			return r;
		r = compare_path(course, snapshot, &found, err);
	}
	if (course->provider->ops->unchanged) {
		free(course->before);
		course->before = mem_strdup(snapshot->name);
	}
	return r;
}

static int visit_snapshots(struct course course, struct err *err)
{
	int r = course.provider->ops->snapshots(course.provider, visit_snapshot, &course, err);

	free(course.before);
	free(course.previous_snapshot);
	arena_release(&course.arenas[0]);
	arena_release(&course.arenas[1]);
	return r;
}

int lineage_run(
	struct provider *provider, struct str path, lineage_visit visit, void *arg, struct err *err)
{
	return visit_snapshots((struct course){ .provider = provider,
				       .path = path,
				       .visit = visit,
				       .arg = arg,
				       .settled = true },
		err);
}

int lineage_each(struct provider *provider, struct str path, lineage_wanted wanted,
	lineage_visit visit, void *arg, struct err *err)
{
	return visit_snapshots((struct course){ .provider = provider,
				       .path = path,
				       .wanted = wanted,
				       .visit = visit,
				       .arg = arg,
				       .all = true },
		err);
}

/* --------------------------------------------------------------------- blame */

struct blamed {
	char *name;
	int64_t creation;
};

struct blame {
	struct provider *provider;
	struct str path;
	struct buf content;
	uint32_t *origins; /* for each line of content: the index of its snapshot in snapshots */
	size_t n_lines;
	struct blamed *snapshots;
	size_t n_snapshots, cap_snapshots;
	bool text;
};

static size_t count_lines(struct str text)
{
	size_t n = text.len && text.ptr[text.len - 1] != '\n';

	for (size_t i = 0; i < text.len; i++)
		n += text.ptr[i] == '\n';
	return n;
}

/*
 * Set the origin of each line of 'now', which is the content of the path in a snapshot.  Lines
 * outside the hunks of the diff keep their origin.  The origin of all other lines is this snapshot.
 */
static void assign_origins(struct blame *blame, struct str now, uint32_t snapshot)
{
	struct str was = { blame->content.data, blame->content.len };
	owned_mem struct textdiff_hunk *hunks = NULL;
	size_t n_hunks = textdiff_hunks(was, now, &hunks);
	size_t n = count_lines(now);
	uint32_t *origins = mem_alloc((n + 1) * sizeof(*origins));
	size_t a = 0, b = 0;

	for (size_t h = 0; h <= n_hunks; h++) {
		size_t until = h < n_hunks ? hunks[h].b : n;

		while (b < until && a < blame->n_lines)
			origins[b++] = blame->origins[a++];
		if (h < n_hunks) {
			for (size_t i = 0; i < hunks[h].b_len; i++)
				origins[b++] = snapshot;
			a = hunks[h].a + hunks[h].a_len;
		}
	}
	while (b < n)
		origins[b++] = snapshot;
	free(blame->origins);
	blame->origins = origins;
	blame->n_lines = n;
}

static int blame_version(void *arg, const struct lineage_version *version, struct err *err)
{
	struct blame *blame = arg;
	struct buf now = { .max = LINEAGE_BLAME_MAX + 1 };
	int r = 0;

	blame->text = version->present && version->entry->type == ENTRY_FILE &&
		      version->entry->size <= LINEAGE_BLAME_MAX &&
		      version->entry->content != ENTRY_UNREAD;
	if (version->present && version->previous &&
		entry_same_content(version->entry, version->previous))
		return 0; /* only attributes changed */
	if (blame->text) {
		owned(view_closep) struct view *view =
			blame->provider->ops->open(blame->provider, version->snapshot->name, err);

		r = !view ? -(int)err->code
			  : view->ops->read(view, version->entry, blame->path, 0, UINT64_MAX,
				    content_append, &now, err);
	}
	if (r < 0) {
		buf_release(&now);
		return r;
	}
	mem_grow(&blame->snapshots, &blame->cap_snapshots, blame->n_snapshots);
	blame->snapshots[blame->n_snapshots++] =
		(struct blamed){ mem_strdup(version->snapshot->name), version->snapshot->creation };
	assign_origins(blame, (struct str){ now.data ? now.data : "", now.len },
		(uint32_t)(blame->n_snapshots - 1));
	buf_release(&blame->content);
	blame->content = now;
	return 0;
}

static int visit_lines(struct blame *blame,
	int (*visit)(void *arg, const struct lineage_line *line, struct err *err), void *arg,
	struct err *err)
{
	const char *p = blame->content.data;
	const char *end = p + blame->content.len;

	for (size_t i = 0; i < blame->n_lines; i++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((newline ? newline : end) - p);
		const struct blamed *from = &blame->snapshots[blame->origins[i]];
		struct lineage_line line = {
			.snapshot = from->name,
			.creation = from->creation,
			.line = i + 1,
			.text = { p, len },
		};
		int r = visit(arg, &line, err);

		if (r != 0)
			return r < 0 ? r : 0;
		p += len + (newline ? 1 : 0);
	}
	return 0;
}

int lineage_blame(struct provider *provider, struct str path,
	int (*visit)(void *arg, const struct lineage_line *line, struct err *err), void *arg,
	struct err *err)
{
	struct blame blame = { .provider = provider, .path = path, .content = BUF_INIT };
	int r = lineage_run(provider, path, blame_version, &blame, err);

	if (r >= 0 && blame.text && blame.content.len &&
		!textdiff_is_binary((struct str){ blame.content.data, blame.content.len }))
		r = visit_lines(&blame, visit, arg, err);
	for (size_t i = 0; i < blame.n_snapshots; i++)
		free(blame.snapshots[i].name);
	free(blame.snapshots);
	free(blame.origins);
	buf_release(&blame.content);
	return r;
}
