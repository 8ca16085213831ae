/*
 * zfslists - the snapshots of all datasets, asked for by one call of zfs.
 *
 * Without these lists, a method that is about all datasets would run zfs for each dataset.  The
 * lists are used for one call of a method, because nothing shows whether they are still correct in
 * the next call.
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
 * Ask for all snapshots.  If there are more snapshots than one list may have
 * (ZFSLIST_SNAPSHOTS_MAX), no lists are made, and zfs has to be run for each dataset.
 */
int zfslists_make(struct zfslists *lists, struct family *family, struct err *err);
/*
 * Set *list to the list of a dataset, and sort it.  Returns false if no lists were made, or if the
 * list of this dataset was taken before.
 */
bool zfslists_take(struct zfslists *lists, const char *dataset, struct zfslist *list);
