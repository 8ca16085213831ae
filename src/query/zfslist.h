/*
 * zfslist - keeps the list of snapshots of one ZFS dataset for a while.
 *
 * A stamp of the directory .zfs/snapshot shows whether snapshots were made or destroyed.  A list is
 * used again only while the stamp is the same.  Without a stamp, or if the directory changed just
 * before the list was made, the list is used again only for a moment.
 */
#pragma once
#include "query/dirstamp.h"
#include "query/family.h"
#include "query/zfsline.h"

#define ZFSLIST_SNAPSHOTS_MAX 400000
#define ZFSLIST_BYTES_MAX ((size_t)32 << 20) /* maximum size of all names together */

struct zfslist {
	struct buf names; /* the names, each ended by a NUL */
	struct zfslist_row {
		int64_t creation; /* ns */
		int64_t used, referenced;
		size_t name; /* position of the name in names */
	} * rows;            /* the oldest snapshot first */
	size_t n, cap;
	uint64_t left_out; /* number of snapshots whose names have another form */
	struct dirstamp stamp;
	int64_t made;      /* monotonic time; 0: there is no list */
	unsigned visitors; /* number of running visits; meanwhile the rows do not change */
};

/* Called for each snapshot that zfs lists.  Returns 1 to stop without an error. */
typedef int (*zfslist_take)(void *arg, const struct zfsline_snapshot *snapshot, struct err *err);
/*
 * Ask zfs for the snapshots of a dataset, but not of the datasets below it.  If 'dataset' is NULL,
 * ask for the snapshots of all datasets.
 */
int zfslist_ask(
	struct family *family, const char *dataset, zfslist_take take, void *arg, struct err *err);

void zfslist_release(struct zfslist *list);
/* Make the next zfslist_update ask zfs again. */
void zfslist_forget(struct zfslist *list);
/*
 * Ask zfs for the snapshots of a dataset, unless the list is still valid.  'stamp' is the present
 * stamp of the dataset's .zfs/snapshot.
 */
int zfslist_update(struct zfslist *list, struct family *family, const char *dataset,
	const struct dirstamp *stamp, struct err *err);
/*
 * Append a snapshot to a list.  Call zfslist_sort after the last snapshot.  A temporary snapshot is
 * ignored.  A snapshot whose name has another form is counted.
 */
int zfslist_add(struct zfslist *list, const struct zfsline_snapshot *snapshot, struct err *err);
void zfslist_sort(struct zfslist *list);
/* Visit the snapshots.  'visit' may return 1 to stop without an error. */
int zfslist_visit(struct zfslist *list, provider_snapshot_visit visit, void *arg, struct err *err);
/* Fill in the snapshot with this name.  Returns false if the list does not have it. */
bool zfslist_find(const struct zfslist *list, const char *name, struct provider_snapshot *out);
