/*
 * scan_adopt - what the history says of a file and the live tree cannot.
 *
 * After a checkout the files on disk are new to the index, yet we know what they hold: we wrote
 * it.  One that is as treeapply left it (applied.h) gets the tree's content hash without being
 * read.  And attributes that this machine would not take, a foreign owner, a device, are in the
 * history only: an override says so, for as long as nobody touches what it is about.
 */
#pragma once
#include "tree/applied.h"
#include "tree/entry.h"
#include "tree/windex.h"

/* A name as it goes into the index. */
struct scan_adopt {
	struct windex_record now;
	struct hash found;             /* attributes on disk */
	struct hash xattrs;            /* attributes as the history has them */
	struct windex_override wanted; /* if override */
	bool override;
};

/*
 * If it is still what treeapply made of the entry: take over what that says.  old is what the
 * index had of the name, or NULL.
 */
bool scan_adopt_entry(struct scan_adopt *it, const struct entry *entry,
	const struct applied *applied, const struct windex_record *old);
/* Keep saying what the history says where nobody has touched what we could not express. */
void scan_adopt_carry(struct scan_adopt *it, const struct windex_item *old);
