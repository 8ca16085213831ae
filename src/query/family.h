/*
 * family - a kind of snapshots, such as strata's own history, or plain folders.
 *
 * A family has datasets and opens one of them as a provider.  A registry (registry.h) has all
 * families of a process.  The struct of a family begins with a struct family.
 */
#pragma once
#include "query/pool.h"
#include "query/provider.h"

struct family;
struct timed_limit;

struct family_ops {
	const char *name;
	/*
	 * Whether the family can be used here.  If not, the error has the reason.  'probe' is
	 * called at most once, before any other function.  NULL: the family can always be used.
	 */
	int (*probe)(struct family *family, struct err *err);
	/* Visit all datasets.  'visit' may return 1 to stop without an error. */
	int (*datasets)(
		struct family *family, provider_dataset_visit visit, void *arg, struct err *err);
	/*
	 * Open a dataset.  Its name satisfies snapname_is_dataset, or is a name that the family has
	 * reported.  Returns NULL on error.  The error is ERR_NOT_FOUND if there is no such
	 * dataset.
	 */
	struct provider *(*open)(struct family *family, const char *dataset, struct err *err);
	/* Free the family.  NULL: the code that made the family frees it. */
	void (*close)(struct family *family);
	/*
	 * Visit all storage pools.  This pointer and pool_status are NULL if the family has no
	 * pools.
	 */
	int (*pools)(struct family *family, pool_visit visit, void *arg, struct err *err);
	/* Visit the status of one pool, or of all pools if pool is NULL. */
	int (*pool_status)(struct family *family, const char *pool, pool_status_visit visit,
		void *arg, struct err *err);
	/*
	 * The snapshots of all datasets are about to be listed, each dataset once.  The family may
	 * read the lists of all datasets at once.  May be NULL.
	 */
	int (*gather)(struct family *family, struct err *err);
	/*
	 * Called when a method call has ended.  The family closes everything that would keep other
	 * programs waiting, such as a directory of a file system that is to be unmounted.  May be
	 * NULL.
	 */
	void (*rest)(struct family *family);
};

struct family {
	const struct family_ops *ops;
	const struct timed_limit *limit; /* limit of the running call; NULL: no call is running */
	/*
	 * The members "stderr" and "argv" of the last program that failed during the call.  The
	 * registry releases the buffer.
	 */
	struct buf failure;
};
