/*
 * strata - the provider of strata's own history.
 */
#pragma once
#include "history/history.h"
#include "query/provider.h"

struct strata_provider {
	struct provider provider;
	struct history *history; /* borrowed */
	const char *from;        /* only ancestors of this node; NULL: all nodes */
	const char *workspace;   /* whose HEAD is current */
};

/* The workspace is "main" until the caller says otherwise. */
void strata_provider_init(
	struct strata_provider *provider, struct history *history, const char *from);

/* The name of the environment as a dataset; in arena. */
int strata_dataset(
	struct history *history, struct arena *arena, const char **name, struct err *err);

/*
 * A view of a tree, never NULL.  live is -1, or the live directory if the tree was captured into a
 * scratch store: the contents of changed files are only there.
 */
struct view *strata_view(struct store *store, const struct hash *tree, int live);
