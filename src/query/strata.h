/*
 * strata - the provider over strata's own history.
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

/* What the environment is called as a dataset; in arena. */
int strata_dataset(
	struct history *history, struct arena *arena, const char **name, struct err *err);

/*
 * A view of a tree.  live is the live directory when the tree was captured into a
 * scratch store, whose blobs are nowhere else; -1 otherwise.  NULL never.
 */
struct view *strata_view(struct store *store, const struct hash *tree, int live);
