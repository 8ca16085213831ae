/*
 * registry - all families of snapshots of one process, and the datasets that are open.
 *
 * A dataset that was found once stays open until the registry is released.  If two families have a
 * dataset of the same name, only the dataset of the family that was added first can be found.
 *
 * Only one thread at a time may use a registry.  A struct of zeros is an empty registry.
 */
#pragma once
#include "query/family.h"

struct registry {
	struct registry_family {
		struct family *family;
		bool probed;
		bool usable;
		struct err why; /* reason why the family cannot be used; set after a failed probe */
	} * families;
	size_t n_families, cap_families;
	struct provider **open;
	size_t n_open, cap_open;
	const char *main; /* name of the main dataset (registry_default); NULL: none */
};

/* Add a family, which is closed with the registry. */
void registry_add(struct registry *registry, struct family *family);
void registry_release(struct registry *registry);
/*
 * Call registry_begin before and registry_end after each method call.  In between, *limit is the
 * time limit of the programs that families run.
 */
void registry_begin(struct registry *registry, const struct timed_limit *limit);
void registry_end(struct registry *registry);
/*
 * Returns a text for json_members: the members "stderr" and "argv", which describe the program that
 * failed in the last call.  Returns an empty text if no program has failed.
 */
struct str registry_failure(const struct registry *registry);

/* Check that a text has the form of a dataset's name. */
int registry_check(const struct registry *registry, struct str dataset, struct err *err);
/*
 * Returns the provider of a dataset, or NULL on error.  The error is ERR_INVALID if dataset cannot
 * be the name of a dataset, and ERR_NOT_FOUND if there is no such dataset.  The registry owns the
 * provider.
 */
struct provider *registry_find(struct registry *registry, struct str dataset, struct err *err);
/*
 * Returns the provider for a snapshot that is named without its dataset, or NULL on error.  This is
 * the provider of the main dataset.  If there is no main dataset, it is the provider of the only
 * dataset of the first family that has datasets.
 */
struct provider *registry_default(struct registry *registry, struct err *err);
/*
 * Visit all datasets that registry_find can find.  'visit' may return 1 to stop without an error.
 * *left_out is set to the number of datasets that were skipped, because their names have another
 * form or belong to earlier datasets.
 */
int registry_datasets(struct registry *registry, provider_dataset_visit visit, void *arg,
	uint64_t *left_out, struct err *err);
/*
 * Probe the family with this index if it was not probed before, and return it.  Returns NULL if
 * there are fewer families.
 */
const struct registry_family *registry_family_at(struct registry *registry, size_t index);
/*
 * Tell the families that the snapshots of all datasets are about to be listed (family_ops.gather).
 */
int registry_gather(struct registry *registry, struct err *err);
/* Returns the first family that has storage pools, or NULL. */
struct family *registry_with_pools(struct registry *registry, struct err *err);
