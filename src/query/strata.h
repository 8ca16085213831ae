/*
 * strata - strata's own history as a family of one dataset, the environment.
 */
#pragma once
#include "history/history.h"
#include "query/family.h"

struct strata_provider {
	struct provider provider;
	struct history *history; /* borrowed */
	const char *from;        /* only this node and its ancestors; NULL: all nodes */
	const char *workspace;   /* name of the workspace whose HEAD is the current snapshot */
	/* The node that was visited last, and its tree.  In most cases this node is opened next. */
	char visited[NODE_ID];
	struct hash visited_tree;
};

/*
 * Initialise a provider.  Its workspace is "main", and it has no dataset name.  The caller may
 * change both.
 */
void strata_provider_init(
	struct strata_provider *provider, struct history *history, const char *from);

struct strata_family {
	struct family family;
	struct strata_provider provider;
};

/* Initialise a family, which the caller owns, and its only provider. */
void strata_family_init(struct strata_family *family, struct history *history, const char *dataset);

/* Get the name that the environment has as a dataset.  *name is in arena. */
int strata_dataset(
	struct history *history, struct arena *arena, const char **name, struct err *err);

/*
 * Open a view of a tree.  Never returns NULL.  If the tree was captured into a scratch store, the
 * caller must pass a descriptor of the live directory as 'live', because only this directory has
 * the contents of changed files.  Otherwise 'live' must be -1.
 */
struct view *strata_view(struct store *store, const struct hash *tree, int live);
