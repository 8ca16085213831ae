#include "query/strata.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "history/ref.h"
#include "tree/treeiter.h"

#define DEFAULT_NAME "strata"
#define DEFAULT_WORKSPACE "main"

struct tree_view {
	struct view view;
	struct store *store;
	struct hash tree;
	int live;
};

static struct tree_view *tree_view(struct view *view)
{
	return (struct tree_view *)view; /* the view is the first member of struct tree_view */
}

static int view_stat(struct view *view, struct str path, struct arena *arena, struct entry *entry,
	struct err *err)
{
	struct tree_view *self = tree_view(view);
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(self->store);
	int r = treeiter_path(iter, &self->tree, path, entry, err);

	if (r > 0) {
		entry->name = arena_str(arena, entry->name);
		entry->target = arena_str(arena, entry->target);
	}
	return r;
}

static int view_list(struct view *view, const struct entry *dir, struct str path, view_visit visit,
	void *arg, struct err *err)
{
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(tree_view(view)->store);
	struct entry entry;
	int r = treeiter_open(iter, dir, err);

	while (r >= 0 && (r = treeiter_next(iter, &entry, err)) > 0) {
		r = visit(arg, &entry, err);
		if (r != 0)
			break;
	}
	return r < 0 ? r : 0;
}

static bool is_stored(struct tree_view *self, const struct entry *file)
{
	enum object_type type = file->content == ENTRY_CHUNKS ? OBJECT_CHUNKS : OBJECT_BLOB;
	struct err ignored = { 0 };

	return store_has(self->store, type, &file->hash, &ignored) == 1;
}

static int view_read(struct view *view, const struct entry *file, struct str path, uint64_t offset,
	uint64_t length, content_sink sink, void *arg, struct err *err)
{
	struct tree_view *self = tree_view(view);

	if (file->type != ENTRY_FILE)
		return err_set(err, ERR_INVALID, "not a regular file");
	/*
	 * A capture into a scratch store hashes changed files without storing their content.  The
	 * content is only in the live directory.
	 */
	if (self->live >= 0 && file->content != ENTRY_EMPTY &&
		(file->content == ENTRY_CHUNKS || !is_stored(self, file))) {
		owned_mem char *name = mem_dup(path.ptr, path.len);
		struct err gone = { 0 };
		owned_fd int fd =
			at_open(self->live, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, &gone);

		if (fd >= 0)
			return content_fd_read(fd, name, offset, length, sink, arg, err);
		/*
		 * The live directory of an overlay does not have the files of lower layers.  These
		 * files are in the store.  So is a file that a checkout has removed.
		 */
		if (gone.code != ERR_NOT_FOUND || !is_stored(self, file)) {
			*err = gone;
			return fd;
		}
	}
	return content_read(self->store, file, offset, length, sink, arg, err);
}

static int view_xattrs(struct view *view, const struct entry *entry, struct str path,
	struct buf *out, struct err *err)
{
	if (hash_is_none(&entry->xattrs))
		return 0;
	return store_get(tree_view(view)->store, OBJECT_XATTRS, &entry->xattrs, out, err);
}

static void view_close(struct view *view)
{
	free(view);
}

static const struct view_ops tree_view_ops = {
	.stat = view_stat,
	.list = view_list,
	.read = view_read,
	.xattrs = view_xattrs,
	.close = view_close,
};

struct view *strata_view(struct store *store, const struct hash *tree, int live)
{
	struct tree_view *self = mem_zalloc(sizeof(*self));

	self->view.ops = &tree_view_ops;
	self->view.identified = true;
	self->view.sums = true;
	self->store = store;
	self->tree = *tree;
	self->live = live;
	return &self->view;
}

/* ----------------------------------------------------------------- provider */

static struct strata_provider *strata_provider(struct provider *provider)
{
	return (struct strata_provider *)provider;
}

int strata_dataset(struct history *history, struct arena *arena, const char **name, struct err *err)
{
	char *text = NULL;
	int r = history_meta(history, "name", arena, &text, err);

	if (r >= 0)
		*name = text && *text ? text : DEFAULT_NAME;
	return r;
}

/* The state of a running listing of snapshots. */
struct listing {
	struct strata_provider *provider;
	provider_snapshot_visit visit;
	void *arg;
};

static int visit_node(void *arg, const struct node *node, struct err *err)
{
	struct listing *listing = arg;
	struct provider_snapshot snapshot = {
		.name = node->id,
		.creation = node->time,
		.used = -1,
		.refer = -1,
		.node = node,
	};

	memcpy(listing->provider->visited, node->id, NODE_ID);
	listing->provider->visited_tree = node->tree;
	return listing->visit(listing->arg, &snapshot, err);
}

/* The ids of the ancestors of a node, the newest first. */
struct id_list {
	char (*ids)[NODE_ID];
	size_t n, cap;
};

static int add_id(void *arg, const struct node *node, struct err *err)
{
	struct id_list *list = arg;

	mem_grow(&list->ids, &list->cap, list->n);
	memcpy(list->ids[list->n++], node->id, NODE_ID);
	return 0;
}

/*
 * Visit a node and its ancestors, the oldest first.  The history can be read only from the newest
 * node on, so the ids are listed first.
 */
static int visit_line(struct listing *listing, struct err *err)
{
	struct history *history = listing->provider->history;
	struct id_list list = { 0 };
	int r = history_ancestors(history, listing->provider->from, add_id, &list, err);

	for (size_t i = list.n; r == 0 && i > 0; i--) {
		owned(arena_release) struct arena arena = { 0 };
		struct node node;

		r = history_get(history, list.ids[i - 1], &arena, &node, err);
		/* A node that was deleted meanwhile is left out. */
		if (r > 0)
			r = visit_node(listing, &node, err);
	}
	free(list.ids);
	return r < 0 ? r : 0;
}

static int snapshots(
	struct provider *provider, provider_snapshot_visit visit, void *arg, struct err *err)
{
	struct strata_provider *self = strata_provider(provider);
	struct listing listing = { self, visit, arg };

	return self->from ? visit_line(&listing, err)
			  : history_forward(self->history, visit_node, &listing, err);
}

/*
 * Whether a change of the path 'a' may also be a change of the path 'b'.  This is so if one path
 * contains the other.
 */
static bool touches(struct str a, struct str b)
{
	return !a.len || !b.len || str_within(a, b) || str_within(b, a);
}

/*
 * Whether the node of a snapshot shows that path has not changed since the node 'before'.  Only a
 * node that was made from 'before' and lists all changed paths can show this.  A node lists no
 * paths if the older of the two trees could not be read.
 */
static bool is_unchanged(
	const char *before, const struct provider_snapshot *snapshot, struct str path)
{
	const struct node *node = snapshot->node;
	const struct treediff_counts *counts = &node->counts;
	uint64_t total = counts->added + counts->modified + counts->deleted + counts->renamed;

	if (!total || total != node->n_paths || strcmp(node->made_from, before) != 0)
		return false;
	for (size_t i = 0; i < node->n_paths; i++)
		if (touches(node->paths[i].path, path) ||
			(node->paths[i].op == 'R' && touches(node->paths[i].new_path, path)))
			return false;
	return true;
}

static int node_of(struct strata_provider *self, const char *id, struct arena *arena,
	struct node *node, struct err *err)
{
	int r = history_get(self->history, id, arena, node, err);

	return r == 0 ? err_set(err, ERR_NOT_FOUND, "no node %s", id) : r;
}

static int resolve(struct provider *provider, const char *name, struct arena *arena,
	struct provider_snapshot *snapshot, struct err *err)
{
	struct strata_provider *self = strata_provider(provider);
	struct node *node = arena_alloc(arena, sizeof(*node));
	struct ref ref;
	int r = ref_resolve(self->history, self->workspace, name, &ref, err);

	if (r >= 0 && ref.work)
		return err_set(err, ERR_NOT_FOUND, "the live tree is no snapshot");
	if (r >= 0)
		r = node_of(self, ref.id, arena, node, err);
	if (r < 0)
		return r;
	*snapshot = (struct provider_snapshot){
		.name = node->id,
		.creation = node->time,
		.used = -1,
		.refer = -1,
		.node = node,
	};
	return 0;
}

static struct view *open_snapshot(struct provider *provider, const char *name, struct err *err)
{
	struct strata_provider *self = strata_provider(provider);
	owned(arena_release) struct arena arena = { 0 };
	struct node node;

	if (self->visited[0] && !strcmp(name, self->visited))
		return strata_view(self->history->store, &self->visited_tree, -1);
	if (node_of(self, name, &arena, &node, err) < 0)
		return NULL;
	return strata_view(self->history->store, &node.tree, -1);
}

/*
 * treediff ends early only when its visit function returns a negative value.  ENOUGH is such a
 * value.  It is no error code.
 */
#define ENOUGH INT_MIN

struct change_visit {
	provider_change_visit visit;
	void *arg;
};

static int visit_change(void *arg, const struct treediff_change *change, struct err *err)
{
	struct change_visit *to = arg;
	int r = to->visit(to->arg, change, err);

	return r > 0 ? ENOUGH : r;
}

static int diff(struct provider *provider, const char *a, const char *b,
	const struct treediff_options *options, provider_change_visit visit, void *arg,
	struct err *err)
{
	struct strata_provider *self = strata_provider(provider);
	owned(arena_release) struct arena arena = { 0 };
	struct change_visit to = { visit, arg };
	struct node node_a, node_b;
	int r = node_of(self, a, &arena, &node_a, err);

	if (r >= 0)
		r = node_of(self, b, &arena, &node_b, err);
	if (r >= 0)
		r = treediff_run(self->history->store, &node_a.tree, &node_b.tree, options,
			visit_change, &to, NULL, err);
	return r == ENOUGH ? 0 : r;
}

static struct provider *mainline(struct provider *provider, struct arena *arena, struct err *err)
{
	struct strata_provider *self = strata_provider(provider);
	struct strata_provider *line = arena_alloc(arena, sizeof(*line));
	struct history_workspace workspace;
	int r;

	*line = *self;
	if (self->from)
		return &line->provider;
	r = history_workspace(self->history, self->workspace, arena, &workspace, err);
	if (r == 0)
		err_set(err, ERR_NOT_FOUND, "no workspace '%s'", self->workspace);
	if (r <= 0)
		return NULL;
	line->from = arena_strdup(arena, workspace.head);
	return &line->provider;
}

static const struct provider_ops strata_provider_ops = {
	.name = "strata",
	.snapshots = snapshots,
	.resolve = resolve,
	.open = open_snapshot,
	.diff = diff,
	.unchanged = is_unchanged,
	.mainline = mainline,
};

void strata_provider_init(
	struct strata_provider *provider, struct history *history, const char *from)
{
	*provider = (struct strata_provider){
		.provider.ops = &strata_provider_ops,
		.history = history,
		.from = from,
		.workspace = DEFAULT_WORKSPACE,
	};
}

/* ------------------------------------------------------------------- family */

static struct strata_family *strata_family(struct family *family)
{
	/* the family is the first member of struct strata_family */
	return (struct strata_family *)family;
}

static int datasets(struct family *family, provider_dataset_visit visit, void *arg, struct err *err)
{
	struct strata_provider *provider = &strata_family(family)->provider;
	owned(arena_release) struct arena arena = { 0 };
	struct provider_dataset dataset = {
		.name = provider->provider.dataset, .type = "environment", .avail = -1
	};
	struct history_workspace workspace = { 0 };
	struct store_stats stats;
	int r = store_stats(provider->history->store, &stats, err);

	if (r >= 0)
		r = history_workspace(
			provider->history, provider->workspace, &arena, &workspace, err);
	if (r < 0)
		return r;
	dataset.used = (int64_t)stats.bytes;
	dataset.mountpoint = workspace.path;
	r = visit(arg, &dataset, err);
	return r < 0 ? r : 0;
}

static struct provider *open_dataset(struct family *family, const char *dataset, struct err *err)
{
	struct provider *provider = &strata_family(family)->provider.provider;

	if (!strcmp(dataset, provider->dataset))
		return provider;
	err_set(err, ERR_NOT_FOUND, "no dataset '%.80s'", dataset);
	return NULL;
}

static const struct family_ops strata_family_ops = {
	.name = "strata",
	.datasets = datasets,
	.open = open_dataset,
};

void strata_family_init(struct strata_family *family, struct history *history, const char *dataset)
{
	family->family.ops = &strata_family_ops;
	strata_provider_init(&family->provider, history, NULL);
	family->provider.provider.dataset = dataset;
}
