/*
 * family - a kind of snapshots, such as strata's own history, or plain folders.
 *
 * A family has datasets.  It opens a dataset as a provider.  A registry (registry.h) has all
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
	 * Open a dataset.  The caller must pass a name that satisfies snapname_is_dataset, or that
	 * the family has reported.  Returns NULL on error.  The error is ERR_NOT_FOUND if there is
	 * no such dataset.
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
	 * Called before a method lists the snapshots of all datasets, one dataset after another.
	 * The family may read the lists of all datasets in advance.  May be NULL.
	 */
	int (*gather)(struct family *family, struct err *err);
	/*
	 * Called when a method call has ended.  The family must close everything that would keep
	 * other programs waiting, such as a directory of a file system that is to be unmounted.
	 * May be NULL.
	 */
	void (*rest)(struct family *family);
};

struct family {
	const struct family_ops *ops;
	const struct timed_limit *limit; /* limit of the running call; NULL: no call is running */
	/*
	 * JSON members "stderr" and "argv", which describe the last program that failed during the
	 * call.  The registry releases the buffer.
	 */
	struct buf failure;
};
