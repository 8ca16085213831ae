/*
 * querysources - the snapshots that 'strata query' and 'strata agent' search: those of the
 * environment, if there is one, and those of the families that the options name (query/families.h).
 */
#pragma once
#include "ops/op.h"
#include "query/families.h"
#include "query/strata.h"

struct querysources {
	const struct families_options *options;
	const char *root; /* the directory of the environment; NULL: none is known */
	const char *workspace;
	struct report *report;
	struct restoreroots restore; /* the directories in which files may be restored */
	struct env env;
	bool has_env;
	struct strata_family strata;
	struct family closed; /* the family of an environment that cannot be opened */
	struct err why;       /* reason why the environment cannot be opened */
};

/*
 * Prepare the sources of an operation.  This function opens only the directories in which files may
 * be restored.  'ctx' and 'options' are borrowed.  The caller closes the sources, even after an
 * error.
 */
int querysources_init(struct querysources *sources, const struct op_context *ctx,
	const struct families_options *options, struct err *err);
/*
 * Fill in an empty registry, for one call.  Fails if the environment cannot be opened, or if there
 * are no snapshots to search.
 */
int querysources_open(struct querysources *sources, struct registry *registry, struct err *err);
/*
 * Fill in the registry, or bring it up to date with an environment that was made, replaced or
 * removed.  'sources' must be a struct querysources.  If the environment cannot be opened, the
 * other families can still be used.
 */
int querysources_refresh(void *sources, struct registry *registry, struct err *err);
/* Close everything.  The caller must have released the registry. */
void querysources_close(struct querysources *sources);
