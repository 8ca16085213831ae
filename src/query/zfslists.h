/*
 * zfslists - the snapshots of all datasets, asked for by one call of zfs.
 *
 * A method that is about all datasets would run zfs for each of them otherwise.  The lists are for
 * that one call: nothing says whether they are still right in the next one.
 */
#pragma once
#include "query/zfslist.h"

struct zfslists {
	struct zfslists_entry {
		char *dataset;
		struct zfslist list;
		bool taken;
	} * entries;
	size_t n, cap;
	bool made;
};

void zfslists_release(struct zfslists *lists);
/*
 * Ask for all snapshots.  If they are more than one list may have (ZFSLIST_SNAPSHOTS_MAX), there
 * are no lists, and each dataset has to be asked about.
 */
int zfslists_make(struct zfslists *lists, struct family *family, struct err *err);
/*
 * Replace list by that of a dataset, and sort it.  Returns false if there are no lists, or if that
 * of the dataset was taken before.
 */
bool zfslists_take(struct zfslists *lists, const char *dataset, struct zfslist *list);
