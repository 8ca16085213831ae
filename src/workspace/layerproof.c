#include "workspace/layerproof.h"

#include <fcntl.h>

#include "core/at.h"
#include "core/own.h"
#include "tree/treediff.h"
#include "workspace/indexed.h"

static int refuse_all_but_owners(void *arg, const struct treediff_change *change, struct err *err)
{
	return change->op == 'M' && change->what == TREEDIFF_OWNER
		       ? 0
		       : err_set(err, ERR_CORRUPT, "another tree");
}

/*
 * Returns 1 if two trees differ only in owners.  The function is for machines where owners cannot
 * be set, so that the owners on disk have no meaning.
 */
static int differ_in_owners(struct store *store, const struct hash *a, const struct hash *b)
{
	struct treediff_options options = { .renames = false };
	struct err differs = { 0 };

	return treediff_run(store, a, b, &options, refuse_all_but_owners, NULL, NULL, &differs) >=
	       0;
}

/* the store lacks a tree that the proof needs, since the nodes of that tree were deleted */
#define UNPROVABLE 2

/*
 * Compare a layer with its tree.  The layer's mark is neither used nor changed.  Returns 1 if the
 * layer shows the tree, 0 if not, UNPROVABLE, or a negative error.
 */
static int shows_tree(const struct layers *layers, int dirfd, unsigned number,
	const struct hash *below, const struct hash *tree, struct err *err)
{
	owned(report_release) struct report unsaid = REPORT_INIT;
	char name[LAYERLINKS_NAME];
	struct err why = { 0 };
	/* Capture the layer as if it were the upper directory of a scratch workspace. */
	struct workspace_counters counters = { 0 };
	struct workspace ws = {
		.setup = {
			.name = "layer",
			.rootfd = layers->rootfd,
			.store = layers->store,
			.squashed = layers->squashed,
			.scratch = true,
			.report = &unsaid,
		},
		.counters = &counters,
		.live = -1,
		.index = -1,
		.shown = -1,
	};
	struct hash found;

	if (!at_exists(dirfd, layerlinks_name(name, number, "")))
		return 0;
	int r = store_has(layers->store, OBJECT_TREE, below, err);
	if (r <= 0)
		return r < 0 ? r : UNPROVABLE;
	ws.live = at_open(dirfd, name, O_RDONLY | O_DIRECTORY, err);
	if (ws.live < 0)
		return ws.live;
	r = indexed_capture(&ws, &(struct indexed_options){ .lower = below }, &found, &why);
	indexed_close(&ws);
	if (r == -ERR_NOT_FOUND || r == -ERR_CORRUPT)
		return 0;
	if (r < 0) {
		*err = why;
		return err_context(err, "prove layer %u", number);
	}
	if (unsaid.count[REPORT_UNREADABLE])
		return 0;
	if (hash_eq(&found, tree) || !layers->squashed)
		return hash_eq(&found, tree);
	r = store_has(layers->store, OBJECT_TREE, tree, err);
	if (r <= 0)
		return r < 0 ? r : UNPROVABLE;
	return differ_in_owners(layers->store, &found, tree);
}

int layerproof_one(const struct layers *layers, int dirfd, unsigned number,
	const struct hash *below, const struct hash *tree, struct err *err)
{
	struct layerlinks_ok ok = { 0 };
	int r = layerlinks_read_ok(dirfd, number, &ok, err);

	if (r < 0 || (r > 0 && ok.whole))
		return r;
	r = shows_tree(layers, dirfd, number, below, tree, err);
	if (r < 0)
		return r;
	bool proved = r > 0 && r != UNPROVABLE;
	int marked = proved ? layerlinks_mark(dirfd, number, &ok, err)
			    : layerlinks_unmark(dirfd, number, err);
	return marked < 0 ? marked : proved;
}

struct proving {
	const struct layers *layers;
	bool repair;
	void (*bad)(void *arg, unsigned number);
	void *arg;
};

/*
 * Whether a layer claims to show all of its tree: it has a mark of this boot, and the mark has no
 * '~'.  (A layer without a mark is proved before it is used.)
 */
static bool is_marked(int dirfd, unsigned number)
{
	struct err ignored = { 0 };
	struct layerlinks_ok ok;

	return layerlinks_read_ok(dirfd, number, &ok, &ignored) > 0 && ok.whole && !ok.inexact;
}

static int prove_layer(void *arg, int dirfd, const char *name, struct err *err)
{
	const struct proving *proving = arg;
	struct layerlinks_chain chain;
	struct hash below;
	unsigned number;

	if (!layerlinks_is_layer(name, &number) || !is_marked(dirfd, number))
		return 0;
	int r = layerlinks_chain(dirfd, number, 0, &chain, err);
	if (r <= 0)
		return r;
	if (chain.n > 1)
		below = chain.layer[1].tree;
	else
		r = layers_base_tree(proving->layers, chain.base, &below, err);
	if (r > 0)
		r = shows_tree(proving->layers, dirfd, number, &below, &chain.layer[0].tree, err);
	if (r != 0)
		return r < 0 ? r : 0;
	proving->bad(proving->arg, number);
	return proving->repair ? layerlinks_unmark(dirfd, number, err) : 0;
}

int layerproof_all(const struct layers *layers, bool repair,
	void (*bad)(void *arg, unsigned number), void *arg, struct err *err)
{
	struct proving proving = { layers, repair, bad, arg };

	if (!at_exists(layers->rootfd, LAYERLINKS_DIR))
		return 0;
	return at_each_name(layers->rootfd, LAYERLINKS_DIR, prove_layer, &proving, err);
}
